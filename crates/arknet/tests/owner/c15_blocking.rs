//! C15: blocking work runs on a bounded pool, its result is an ordinary delivery, and one that hangs holds up no drain.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use arknet::owner::{Deadline, Io, Limits, Lost, Owner};

use crate::support::Stage;

#[test]
fn the_result_comes_to_a_callback_and_to_a_task() {
    let mut stage = Stage::<Vec<u32>>::new(Io::threads(1));
    let owner = std::thread::current().id();
    stage
        .blocking_then(
            move || (std::thread::current().id() != owner).then_some(1),
            |world, result| world.extend(result.unwrap()),
        )
        .unwrap();
    stage
        .spawn(async |cx| {
            let result = cx.blocking(|| 2).await;
            cx.with(|world| world.extend(result));
        })
        .unwrap();
    stage.until(|world| world.len() == 2);
    let mut world = stage.end();
    world.sort_unstable();
    assert_eq!(world, [1, 2]);
}

#[test]
fn no_more_than_so_many_run_and_wait() {
    let mut limits = Limits::default();
    limits.blocking_threads = 2;
    limits.blocking = 5;
    let mut stage: Stage<u32> = Stage::build(|| {
        Owner::builder()
            .io(Io::inline())
            .limits(limits)
            .build()
            .unwrap()
    });
    let (go, gate) = mpsc::channel::<()>();
    let gate = Arc::new(Mutex::new(gate));
    let running = Arc::new(Mutex::new((0_u32, 0_u32)));
    let work = || {
        let (gate, running) = (gate.clone(), running.clone());
        move || {
            {
                let mut running = running.lock().unwrap();
                running.0 += 1;
                running.1 = running.1.max(running.0);
            }
            let _ = gate.lock().unwrap().recv();
            running.lock().unwrap().0 -= 1;
        }
    };
    for _ in 0..5 {
        stage.blocking_then(work(), |world, _| *world += 1).unwrap();
    }
    let rejected = stage.blocking_then(work(), |_, _| ()).unwrap_err();
    assert!(rejected.is_full());
    drop(rejected);
    for _ in 0..5 {
        go.send(()).unwrap();
    }
    stage.until(|world| *world == 5);
    assert!(running.lock().unwrap().1 <= 2);
    stage.end();
}

#[test]
fn work_that_hangs_is_waited_for_and_then_counted() {
    let mut stage = Stage::<u32>::new(Io::threads(1));
    let (go, gate) = mpsc::channel::<()>();
    stage
        .blocking_then(move || gate.recv().is_ok(), |world, _| *world += 1)
        .unwrap();
    stage.blocking_then(|| (), |world, _| *world += 10).unwrap();
    let owner = stage.owner.as_mut().unwrap();
    let report = owner
        .drain(&mut stage.world, Deadline::in_(Duration::from_millis(200)))
        .unwrap();
    assert!(!report.finished);
    assert_eq!(report.abandoned_count, 1);
    assert_eq!(report.abandoned[0].source, "blocking work");
    assert_eq!(stage.world, 10);
    // Only so that the test leaves no thread behind.
    drop(go);
    stage.end();
}

#[test]
fn a_call_after_the_end_is_refused() {
    let stage = Stage::<u32>::new(Io::threads(1));
    let cx = stage.cx();
    stage.end();
    let lanes = arknet::Lanes::manual().unwrap();
    let lost = lanes.block_on(cx.blocking(|| 1)).unwrap();
    assert_eq!(lost, Err(Lost::Refused));
    assert!(cx.blocking_then(|| 1, |_, _| ()).is_err());
}
