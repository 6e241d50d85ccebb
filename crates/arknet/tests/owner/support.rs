//! What the contracts' tests have in common.

use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

use arknet::owner::{Budget, Io, Lost, Owner, UpdateReport};
use arknet_testkit::leak::{Slack, Snapshot};

/// Longer than anything takes on a machine that is busy with others.
pub(crate) const PATIENCE: Duration = Duration::from_secs(50);

/// An owner with its world, that leaves nothing behind.
pub(crate) struct Stage<W: 'static> {
    pub(crate) owner: Option<Owner<W>>,
    pub(crate) world: W,
    before: Snapshot,
}

impl<W: Default + 'static> Stage<W> {
    pub(crate) fn new(io: Io) -> Self {
        Self::build(|| Owner::builder().io(io).build().unwrap())
    }

    pub(crate) fn inline() -> Self {
        Self::new(Io::inline())
    }

    pub(crate) fn build(build: impl FnOnce() -> Owner<W>) -> Self {
        let before = snapshot();
        Self {
            owner: Some(build()),
            world: W::default(),
            before,
        }
    }
}

impl<W: 'static> Stage<W> {
    pub(crate) fn update(&mut self) -> UpdateReport {
        self.update_by(Budget::unlimited())
    }

    pub(crate) fn update_by(&mut self, budget: Budget) -> UpdateReport {
        let owner = self.owner.as_mut().unwrap();
        owner.update(&mut self.world, budget).unwrap()
    }

    pub(crate) fn update_at(&mut self, now: Instant) -> UpdateReport {
        let owner = self.owner.as_mut().unwrap();
        owner
            .update_at(now, &mut self.world, Budget::unlimited())
            .unwrap()
    }

    /// Updates until the world is as it should be.
    pub(crate) fn until(&mut self, enough: impl Fn(&W) -> bool) {
        let late = Instant::now() + PATIENCE;
        while !enough(&self.world) {
            assert!(
                Instant::now() < late,
                "it did not come to it in {PATIENCE:?}"
            );
            let _ = self.update();
            std::thread::yield_now();
        }
    }

    /// Drops the owner, and looks whether anything is left: of what it counts itself, and of threads, descriptors and heap.
    pub(crate) fn end(self) -> W {
        self.end_with_slack(Slack::default().heap)
    }

    /// As [`end`](Self::end), with so much heap more.
    pub(crate) fn end_with_slack(mut self, heap: u64) -> W {
        let owner = self.owner.take().unwrap();
        let stats = owner.stats();
        assert_eq!(stats.tasks_alive, 0, "tasks are left");
        assert_eq!(stats.timers_set, 0, "timers are left");
        assert_eq!(stats.groups, 0, "groups are left");
        assert_eq!(stats.depth, 0, "operations are left");
        drop(owner);
        let slack = Slack {
            heap,
            ..Slack::default()
        };
        self.before.assert_no_leaks_beyond(PATIENCE, slack);
        self.world
    }

    /// As [`end_with_work_left`](Self::end_with_work_left), with so much heap more.
    #[cfg(feature = "tcp")]
    pub(crate) fn check(mut self, heap: u64) {
        drop(self.owner.take());
        let slack = Slack {
            heap,
            ..Slack::default()
        };
        self.before.assert_no_leaks_beyond(PATIENCE, slack);
    }

    /// As [`end`](Self::end), for a test that leaves tasks and the like for the owner to drop.
    pub(crate) fn end_with_work_left(mut self) -> W {
        drop(self.owner.take());
        self.before.assert_no_leaks(PATIENCE);
        self.world
    }
}

impl<W: 'static> Deref for Stage<W> {
    type Target = Owner<W>;

    fn deref(&self) -> &Owner<W> {
        self.owner.as_ref().unwrap()
    }
}

impl<W: 'static> DerefMut for Stage<W> {
    fn deref_mut(&mut self) -> &mut Owner<W> {
        self.owner.as_mut().unwrap()
    }
}

/// What the process holds, once it holds what it keeps for good: tokio's own descriptors, and what each thread keeps.
pub(crate) fn snapshot() -> Snapshot {
    // The tables of a backtrace are megabytes, and stay.
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    for io in placements() {
        let mut owner = Owner::<()>::builder().io(io).build().unwrap();
        let service = owner.service("warm", async |()| Ok::<_, Lost>(())).unwrap();
        owner.blocking_then(|| (), |(), _| ()).unwrap();
        service.send((), |(), _| ()).unwrap();
        while owner.stats().posts + owner.stats().databases < 2 {
            let _ = owner.update(&mut (), Budget::unlimited()).unwrap();
            std::thread::yield_now();
        }
    }
    Snapshot::take()
}

/// Both placements of IO.
pub(crate) fn placements() -> [Io; 2] {
    [Io::threads(2), Io::inline()]
}

/// Numbers that look random and are the same in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        usize::try_from(z % (end.max(1) as u64)).unwrap()
    }
}

/// Says when it is dropped, and on which thread.
pub(crate) struct Probe(std::sync::mpsc::Sender<std::thread::ThreadId>);

impl Probe {
    pub(crate) fn new() -> (Self, std::sync::mpsc::Receiver<std::thread::ThreadId>) {
        let (sender, receiver) = std::sync::mpsc::channel();
        (Self(sender), receiver)
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let _ = self.0.send(std::thread::current().id());
    }
}
