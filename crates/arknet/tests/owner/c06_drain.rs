//! C6: a drain lets accepted work be done, runs finalisers, and lists what it had to give up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use arknet::owner::{Budget, Deadline, Io, Lost, Missed, OwnerError};

use crate::support::{PATIENCE, Stage, placements};

#[test]
fn every_accepted_write_is_done_and_delivered() {
    for io in placements() {
        let mut stage = Stage::<u32>::new(io);
        let written = Arc::new(AtomicU32::new(0));
        let count = written.clone();
        let store = stage
            .service("store", move |yields: u32| {
                let count = count.clone();
                async move {
                    for _ in 0..yields {
                        tokio::task::yield_now().await;
                    }
                    count.fetch_add(1, Ordering::SeqCst);
                    Ok::<_, Lost>(())
                }
            })
            .unwrap();
        for number in 0..100 {
            store
                .ordered(number % 7)
                .send(number % 10, |world: &mut u32, result| {
                    result.unwrap();
                    *world += 1;
                })
                .unwrap();
        }
        let by_task = store.clone();
        stage
            .spawn(async move |cx| {
                for _ in 0..10 {
                    by_task.call(3).await.unwrap();
                }
                cx.with(|world| *world += 1000);
            })
            .unwrap();
        let last = store.clone();
        stage.on_drain("goodbye", async move |cx| {
            last.call(1).await.unwrap();
            cx.with(|world| *world += 10_000);
        });
        let owner = stage.owner.as_mut().unwrap();
        let report = owner
            .drain(&mut stage.world, Deadline::in_(PATIENCE))
            .unwrap();
        assert!(report.finished);
        assert_eq!(
            (report.abandoned_count, report.forced, report.finalised),
            (0, 0, 1)
        );
        assert!(report.done >= 111);
        assert_eq!(stage.world, 11_100);
        assert_eq!(written.load(Ordering::SeqCst), 111);
        let again = owner
            .drain(&mut stage.world, Deadline::in_(PATIENCE))
            .unwrap();
        assert_eq!(again, report);
        assert!(store.send(1, |_, _| ()).is_err());
        drop(store);
        stage.end();
    }
}

#[test]
fn a_store_that_dies_in_the_middle_is_in_the_report_by_label_and_all_adds_up() {
    for io in placements() {
        let mut stage = Stage::<u32>::new(io);
        let written = Arc::new(AtomicU32::new(0));
        let count = written.clone();
        let store = stage
            .service("store", move |()| {
                let count = count.clone();
                async move {
                    if count.fetch_add(1, Ordering::SeqCst) >= 40 {
                        count.fetch_sub(1, Ordering::SeqCst);
                        std::future::pending::<()>().await;
                    }
                    Ok::<_, Lost>(())
                }
            })
            .unwrap();
        for _ in 0..100 {
            store.send((), |world: &mut u32, _| *world += 1).unwrap();
        }
        let owner = stage.owner.as_mut().unwrap();
        let report = owner
            .drain(&mut stage.world, Deadline::in_(Duration::from_millis(300)))
            .unwrap();
        assert!(!report.finished);
        assert_eq!(stage.world, 40);
        assert_eq!(
            report.abandoned_count, 60,
            "what is not in the store is in the report"
        );
        assert_eq!(report.abandoned.len(), 1);
        let abandoned = &report.abandoned[0];
        assert_eq!((abandoned.source.as_str(), abandoned.count), ("store", 60));
        assert!(
            abandoned
                .label
                .unwrap()
                .to_string()
                .contains("c06_drain.rs")
        );
        assert!(report.took < Duration::from_secs(10));
        drop(store);
        stage.end();
    }
}

#[test]
fn loops_are_told_background_tasks_and_timers_end_and_nobody_else_gets_in() {
    let mut stage = Stage::<Vec<&'static str>>::new(Io::threads(1));
    stage
        .spawn(async |cx| {
            cx.drained().await;
            cx.with(|world| world.push("told"));
        })
        .unwrap();
    stage
        .spawn_background(async |cx| {
            loop {
                cx.sleep(Duration::from_secs(1)).await.unwrap();
            }
        })
        .unwrap();
    stage
        .every(Duration::from_millis(1), Missed::Skip, |_, _| ())
        .unwrap();
    let poster = stage.poster();
    poster.post(|world| world.push("posted")).unwrap();
    let owner = stage.owner.as_mut().unwrap();
    let _ = owner.update(&mut stage.world, Budget::default()).unwrap();
    let report = owner
        .drain(&mut stage.world, Deadline::in_(PATIENCE))
        .unwrap();
    assert!(report.finished);
    assert_eq!(report.cancelled, 2);
    assert_eq!(stage.world, ["posted", "told"]);
    assert!(!poster.post(|_| ()).unwrap_err().is_full());
    stage.defer(|_| ()).unwrap_err();
    stage.end();
}

#[test]
fn a_task_that_does_not_end_is_listed_and_dropped() {
    let mut stage = Stage::<u32>::inline();
    stage
        .spawn_named("waits for ever", async |_| {
            std::future::pending::<()>().await;
        })
        .unwrap();
    let owner = stage.owner.as_mut().unwrap();
    let report = owner
        .drain(&mut stage.world, Deadline::in_(Duration::from_millis(20)))
        .unwrap();
    assert!(!report.finished);
    assert_eq!(report.abandoned_count, 1);
    let label = report.abandoned[0].label.unwrap();
    assert_eq!(label.name(), Some("waits for ever"));
    assert_eq!(stage.stats().abandoned, 1);
    stage.end();
}

#[test]
fn a_drained_owner_says_so() {
    let mut stage = Stage::<u32>::inline();
    let owner = stage.owner.as_mut().unwrap();
    owner
        .drain(&mut stage.world, Deadline::in_(PATIENCE))
        .unwrap();
    assert!(matches!(
        owner.update(&mut stage.world, Budget::default()),
        Err(OwnerError::Drained)
    ));
    stage.end();
}

#[test]
fn finalisers_run_one_after_the_other_the_last_first() {
    let mut stage = Stage::<Vec<u32>>::inline();
    static RUNNING: AtomicBool = AtomicBool::new(false);
    for number in 0..3 {
        stage.on_drain("in order", async move |cx| {
            assert!(!RUNNING.swap(true, Ordering::SeqCst));
            cx.sleep(Duration::from_millis(1)).await.unwrap();
            cx.with(|world| world.push(number));
            RUNNING.store(false, Ordering::SeqCst);
        });
    }
    let owner = stage.owner.as_mut().unwrap();
    let report = owner
        .drain(&mut stage.world, Deadline::in_(PATIENCE))
        .unwrap();
    assert_eq!((report.finalised, report.finished), (3, true));
    assert_eq!(stage.end(), [2, 1, 0]);
}
