//! C12: a panic is contained, and never silent.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};

use arknet::owner::{Budget, Ended, Io, Lost, Owner, PanicPolicy};

use crate::support::{Stage, placements};

fn with_policy(policy: PanicPolicy) -> Stage<u32> {
    Stage::build(|| {
        Owner::builder()
            .io(Io::inline())
            .panics(policy)
            .build()
            .unwrap()
    })
}

#[test]
fn a_panic_in_a_detached_task_is_in_the_report_with_group_label_and_tick() {
    let mut stage = with_policy(PanicPolicy::Report);
    let group = stage.group("player 42").unwrap();
    let _ = stage.update();
    group
        .spawn_named("loads", async |_| panic!("no such row: {}", 7))
        .unwrap();
    group
        .spawn(async |cx| cx.with(|world| *world += 1))
        .unwrap();
    let report = stage.update();
    assert_eq!((report.ran, report.panics.len()), (2, 1));
    let panicked = &report.panics[0];
    assert_eq!(panicked.group, "player 42");
    assert_eq!(panicked.label.name(), Some("loads"));
    assert_eq!(
        (panicked.tick, panicked.message.as_str()),
        (2, "no such row: 7")
    );
    assert_eq!(group.report().panicked, 1);
    assert_eq!(stage.stats().panics, 1);
    assert!(stage.update().panics.is_empty());
    drop(group);
    assert_eq!(stage.end(), 1);
}

#[test]
fn callbacks_of_every_kind_are_contained() {
    let mut stage = with_policy(PanicPolicy::Report);
    let start = stage.now();
    stage.defer(|_| panic_any("deferred")).unwrap();
    stage.poster().post(|_| panic_any("posted")).unwrap();
    stage.at(start, |_| panic_any("timer")).unwrap();
    let service = stage
        .service("service", async |()| Ok::<_, Lost>(()))
        .unwrap();
    service.send((), |_, _| panic_any("result")).unwrap();
    stage
        .blocking_then(|| (), |_, _| panic_any("blocking"))
        .unwrap();
    let inlet = stage
        .inlet("inlet", Default::default(), |world: &mut u32, ()| {
            *world += 1;
            panic_any("event")
        })
        .unwrap();
    inlet.try_send((), 0).unwrap();
    let mut messages = Vec::new();
    let late = std::time::Instant::now() + crate::support::PATIENCE;
    while messages.len() < 6 {
        assert!(std::time::Instant::now() < late, "{messages:?}");
        messages.extend(
            stage
                .update()
                .panics
                .into_iter()
                .map(|panicked| panicked.message),
        );
    }
    messages.sort_unstable();
    assert_eq!(
        messages,
        ["blocking", "deferred", "event", "posted", "result", "timer"]
    );
    inlet.try_send((), 0).unwrap();
    assert_eq!(stage.update().panics.len(), 1, "the handler is still there");
    drop((service, inlet));
    let _ = stage.update();
    assert_eq!(stage.end(), 2);
}

#[test]
fn the_group_ends_where_that_is_the_policy() {
    let mut stage = with_policy(PanicPolicy::CancelGroup);
    let group = stage.group("match").unwrap();
    group
        .spawn(async |_| std::future::pending::<()>().await)
        .unwrap();
    let task = group.spawn(async |_| panic_any("out")).unwrap();
    let _ = stage.update();
    assert!(group.is_cancelled() && task.is_finished());
    drop((task, group));
    stage.end();
}

#[test]
fn an_update_panics_in_turn_where_that_is_the_policy_and_is_whole_afterwards() {
    let mut stage = with_policy(PanicPolicy::Propagate);
    stage.defer(|_| panic_any("on purpose")).unwrap();
    stage.defer(|world| *world += 1).unwrap();
    let payload = catch_unwind(AssertUnwindSafe(|| stage.update())).unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"on purpose"));
    assert_eq!(stage.world, 0);
    assert_eq!(stage.update_by(Budget::default()).ran, 1);
    assert_eq!(stage.end(), 1);
}

#[test]
fn whoever_waits_for_what_panicked_elsewhere_is_told() {
    for io in placements() {
        let mut stage = Stage::<Vec<String>>::new(io);
        let service = stage
            .service("service", async |late: bool| {
                if late {
                    tokio::task::yield_now().await;
                }
                if late {
                    panic_any("in a service")
                } else {
                    Ok::<_, Lost>(())
                }
            })
            .unwrap();
        stage
            .spawn(async move |cx| {
                let lost = service.call(true).await.unwrap_err();
                let also = cx
                    .blocking(|| -> u32 { panic_any("in blocking work") })
                    .await;
                let task = cx.spawn(async |_| panic_any("in a task")).unwrap();
                let ended: Result<(), Ended> = task.await;
                cx.with(|world| world.push(format!("{lost:?} {also:?} {ended:?}")));
            })
            .unwrap();
        stage.until(|world| !world.is_empty());
        assert_eq!(stage.end(), ["Panicked Err(Panicked) Err(Panicked)"]);
    }
}

#[test]
fn a_future_that_panics_when_it_is_dropped_is_contained() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_any("dropped");
        }
    }
    let mut stage = with_policy(PanicPolicy::Report);
    let group = stage.group("bombs").unwrap();
    let bomb = Bomb;
    group
        .spawn(async move |_| {
            let _bomb = bomb;
            std::future::pending::<()>().await;
        })
        .unwrap();
    let _ = stage.update();
    group.cancel();
    assert_eq!(stage.update().panics.len() + stage.update().panics.len(), 0);
    assert_eq!(stage.stats().panics, 1);
    drop(group);
    stage.end();
}
