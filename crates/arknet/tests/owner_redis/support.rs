//! What the tests have in common.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use arknet::Lanes;
use arknet::owner::{Budget, Database, Deadline, DrainReport, Io, Owner};
use arknet::pool::PoolConfig;
use arknet::redis::{Backoff, Config, Pool, cmd};
use arknet_testkit::leak::Snapshot;

/// Longer than anything takes on a machine that is busy with others.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// What this thread keeps for good when it has done IO itself: buffers, 32 of 64 KiB at most.
pub(crate) const SLACK: arknet_testkit::leak::Slack = arknet_testkit::leak::Slack {
    heap: 3 << 20,
    resident: 32 << 20,
};

/// A placement by name, and how to make it.
type Placement = (&'static str, fn() -> Io);

/// All placements of IO.
pub(crate) const PLACEMENTS: [Placement; 4] = [
    ("threads(1)", || Io::threads(1)),
    ("threads(2)", || Io::threads(2)),
    ("lanes", || Io::lanes(&Lanes::shared(2).unwrap())),
    ("inline", Io::inline),
];

pub(crate) type Redis<W> = Database<W, Pool>;

/// An owner with its world and its database.
pub(crate) struct Stage<W: 'static> {
    pub(crate) owner: Owner<W>,
    pub(crate) redis: Redis<W>,
    pub(crate) world: W,
}

impl<W: Default + 'static> Stage<W> {
    pub(crate) fn new(io: Io, address: SocketAddr, connections: usize) -> Self {
        let owner = Owner::builder().io(io).build().unwrap();
        Self::of(owner, address, connections)
    }

    pub(crate) fn of(owner: Owner<W>, address: SocketAddr, connections: usize) -> Self {
        let redis = owner.redis(config(address), pool(connections)).unwrap();
        Self {
            owner,
            redis,
            world: W::default(),
        }
    }

    pub(crate) fn update(&mut self) {
        let report = self
            .owner
            .update(&mut self.world, Budget::unlimited())
            .unwrap();
        assert!(report.panics.is_empty(), "{:?}", report.panics);
    }

    /// Updates until the world is as it should be.
    pub(crate) fn until(&mut self, what: &str, enough: impl Fn(&W) -> bool) {
        let late = Instant::now() + PATIENCE;
        while !enough(&self.world) {
            assert!(Instant::now() < late, "waited in vain: {what}");
            self.update();
            std::thread::yield_now();
        }
    }

    /// Drains, with nothing left over.
    pub(crate) fn end(mut self) -> W {
        let report = self.drain(PATIENCE);
        assert!(report.finished, "{report:?}");
        assert_eq!(report.pools.len(), 1, "{report:?}");
        assert!(report.pools[0].report.finished, "{report:?}");
        self.world
    }

    pub(crate) fn drain(&mut self, within: Duration) -> DrainReport {
        self.owner
            .drain(&mut self.world, Deadline::in_(within))
            .unwrap()
    }
}

/// A configuration that is patient with requests.
pub(crate) fn config(address: SocketAddr) -> Config {
    Config::new(address)
        .unwrap()
        .request_timeout(Some(PATIENCE))
}

/// A pool that is quick to connect again.
pub(crate) fn pool(connections: usize) -> PoolConfig {
    PoolConfig::new()
        .max_connections(connections)
        .acquire_timeout(PATIENCE)
        .backoff(Backoff {
            first: Duration::from_millis(1),
            max: Duration::from_millis(20),
            ..Backoff::default()
        })
}

/// What the process holds, once it holds what it keeps for good.
pub(crate) fn snapshot(address: SocketAddr) -> Snapshot {
    // The tables of a backtrace are megabytes, and stay.
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
    for (_, io) in PLACEMENTS {
        let mut stage = Stage::<u32>::new(io(), address, 2);
        stage
            .redis
            .send(cmd::<String>("ECHO").arg("warm"), |world, echo| {
                assert_eq!(echo.unwrap(), "warm");
                *world += 1;
            })
            .unwrap();
        stage.until("the first echo", |world| *world == 1);
        let _ = stage.end();
    }
    Snapshot::take()
}

/// Numbers that look random and are the same in every run (SplitMix64).
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

    pub(crate) fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }
}
