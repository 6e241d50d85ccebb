//! C2: what becomes ready during an update runs in the next, unless re-entry is asked for, and then within a bound.

use arknet::owner::{Budget, Cx, Reentry};

use crate::support::Stage;

fn again(cx: Cx<u32>) {
    let next = cx.clone();
    cx.defer(move |world| {
        *world += 1;
        again(next);
    })
    .unwrap();
}

#[test]
fn a_callback_that_resubmits_for_ever_runs_once_an_update() {
    let mut stage = Stage::<u32>::inline();
    let group = stage.group("loop").unwrap();
    again(group.cx());
    for round in 1..=5 {
        let report = stage.update();
        assert_eq!((report.ran, report.left), (1, 1));
        assert_eq!(stage.world, round);
    }
    drop(group);
    assert_eq!(stage.update().left, 0);
    assert_eq!(stage.end(), 5);
}

#[test]
fn re_entry_is_bounded_in_rounds_and_by_the_budget() {
    let mut stage = Stage::<u32>::inline();
    let group = stage.group("loop").unwrap();
    again(group.cx());
    let report = stage.update_by(Budget::unlimited().reentry(Reentry::Same(3)));
    assert_eq!(report.ran, 4);
    let report = stage.update_by(Budget::operations(2).reentry(Reentry::Same(1_000_000)));
    assert_eq!(report.ran, 2);
    drop(group);
    let _ = stage.update();
    stage.end();
}

#[test]
fn a_task_woken_by_another_runs_in_the_next_update() {
    let mut stage = Stage::<Vec<&'static str>>::inline();
    let (sender, receiver) = tokio::sync::oneshot::channel();
    stage
        .spawn(async |cx| {
            receiver.await.unwrap();
            cx.with(|world| world.push("woken"));
        })
        .unwrap();
    let _ = stage.update();
    stage
        .spawn(async |cx| {
            sender.send(()).unwrap();
            cx.with(|world| world.push("waker"));
        })
        .unwrap();
    assert_eq!(stage.update().ran, 1);
    assert_eq!(stage.world, ["waker"]);
    let _ = stage.update();
    assert_eq!(stage.end(), ["waker", "woken"]);
}

#[test]
fn what_a_task_spawns_and_defers_comes_next_time() {
    let mut stage = Stage::<Vec<u32>>::inline();
    stage
        .spawn(async |cx| {
            cx.defer(|world| world.push(2)).unwrap();
            cx.spawn(async |cx| cx.with(|world| world.push(3))).unwrap();
            cx.with(|world| world.push(1));
        })
        .unwrap();
    assert_eq!(stage.update().ran, 1);
    assert_eq!(stage.world, [1]);
    assert_eq!(stage.update().ran, 2);
    let mut world = stage.end();
    world.sort_unstable();
    assert_eq!(world, [1, 2, 3]);
}
