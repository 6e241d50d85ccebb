//! C8: a host that is armed is woken once, by the first thing that becomes ready, and by nothing while it is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arknet::owner::{Budget, Io};

use crate::support::{PATIENCE, Stage};

fn counting(stage: &mut Stage<u32>) -> Arc<AtomicUsize> {
    let woken = Arc::new(AtomicUsize::new(0));
    let count = woken.clone();
    stage.on_ready(move || {
        count.fetch_add(1, Ordering::SeqCst);
    });
    woken
}

#[test]
fn once_per_edge_and_only_while_armed() {
    let mut stage = Stage::<u32>::new(Io::threads(1));
    let woken = counting(&mut stage);
    let poster = stage.poster();
    poster.post(|world| *world += 1).unwrap();
    assert_eq!(woken.load(Ordering::SeqCst), 0, "it is not armed");
    assert!(!stage.arm(), "arming looks again");
    let _ = stage.update();
    for round in 1..=3 {
        assert!(stage.arm());
        assert!(stage.arm(), "armed is armed");
        for _ in 0..10 {
            poster.post(|world| *world += 1).unwrap();
        }
        assert_eq!(woken.load(Ordering::SeqCst), round);
        let _ = stage.update();
        poster.post(|world| *world += 1).unwrap();
        assert_eq!(
            woken.load(Ordering::SeqCst),
            round,
            "the update has disarmed it"
        );
        let _ = stage.update();
    }
    assert_eq!(stage.stats().wakes, 3);
    assert_eq!(stage.end(), 34);
}

#[test]
fn an_owner_that_polls_without_pause_is_never_woken() {
    let mut stage = Stage::<u32>::new(Io::threads(1));
    let woken = counting(&mut stage);
    let poster = stage.poster();
    let thread = std::thread::spawn(move || {
        for _ in 0..10_000 {
            poster.post(|world| *world += 1).unwrap();
        }
    });
    stage.until(|world| *world == 10_000);
    thread.join().unwrap();
    assert_eq!(woken.load(Ordering::SeqCst), 0);
    stage.end();
}

#[test]
fn work_on_the_owner_s_own_thread_is_found_by_arming() {
    let mut stage = Stage::<u32>::inline();
    stage.defer(|world| *world += 1).unwrap();
    assert!(!stage.arm());
    let _ = stage.update();
    assert!(stage.arm());
    assert_eq!(stage.end(), 1);
}

#[test]
fn no_wake_is_lost_in_a_hundred_thousand_sleeps() {
    let mut stage = Stage::<u32>::new(Io::threads(1));
    let thread = std::thread::current();
    stage.on_ready(move || thread.unpark());
    let poster = stage.poster();
    let sender = std::thread::spawn(move || {
        for round in 0..100_000_u32 {
            while poster.post(|world| *world += 1).is_err() {
                std::thread::yield_now();
            }
            if round % 64 == 0 {
                std::thread::yield_now();
            }
        }
    });
    let late = Instant::now() + PATIENCE;
    while stage.world < 100_000 {
        if stage.arm() {
            std::thread::park_timeout(PATIENCE);
            assert!(Instant::now() < late, "a wake was lost at {}", stage.world);
        }
        let _ = stage.update();
    }
    sender.join().unwrap();
    stage.end();
}

#[cfg(target_os = "linux")]
#[test]
fn the_descriptor_is_readable_from_the_edge_to_the_update() {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut stage = Stage::<u32>::new(Io::threads(1));
    let descriptor = stage.descriptor().unwrap();
    let readable = || {
        let mut fds = [PollFd::new(&descriptor, PollFlags::IN)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut fds, Some(&now)).unwrap() == 1
    };
    let poster = stage.poster();
    poster.post(|world| *world += 1).unwrap();
    assert!(!readable());
    let _ = stage.update();
    assert!(stage.arm());
    poster.post(|world| *world += 1).unwrap();
    assert!(readable() && readable());
    let _ = stage.update();
    assert!(!readable());
    drop(descriptor);
    assert_eq!(stage.end(), 2);
}

#[test]
fn a_tokio_program_awaits_the_owner() {
    let mut stage = Stage::<u32>::new(Io::threads(1));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let poster = stage.poster();
    let thread = std::thread::spawn(move || {
        for _ in 0..100 {
            poster.post(|world| *world += 1).unwrap();
            std::thread::yield_now();
        }
    });
    runtime.block_on(async {
        while stage.world < 100 {
            tokio::time::timeout(PATIENCE, stage.ready()).await.unwrap();
            let owner = stage.owner.as_mut().unwrap();
            let _ = owner.update(&mut stage.world, Budget::default()).unwrap();
        }
    });
    thread.join().unwrap();
    drop(runtime);
    stage.end();
}

#[test]
fn a_hook_that_panics_does_not_reach_the_thread_that_posts() {
    let mut stage = Stage::<u32>::new(Io::threads(1));
    stage.on_ready(|| std::panic::panic_any("expected"));
    assert!(stage.arm());
    stage.poster().post(|world| *world += 1).unwrap();
    let _ = stage.update();
    assert_eq!(stage.next_deadline(), None::<Instant>);
    stage
        .after(Duration::from_secs(5), |_| ())
        .unwrap()
        .cancel();
    assert_eq!(stage.end(), 1);
}
