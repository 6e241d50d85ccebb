//! C19: what an owner has done can be seen.

use std::time::Duration;

use arknet::owner::{Budget, Lost};

use crate::support::Stage;

#[test]
fn operations_are_counted_by_source() {
    let mut stage = Stage::<u32>::inline();
    let service = stage.service("s", async |()| Ok::<_, Lost>(())).unwrap();
    service.send((), |_, _| ()).unwrap();
    let inlet = stage
        .inlet("i", Default::default(), |world: &mut u32, ()| *world += 1)
        .unwrap();
    for _ in 0..2 {
        inlet.try_send((), 1).unwrap();
    }
    for _ in 0..3 {
        stage.spawn(async |_| ()).unwrap();
    }
    let now = stage.now();
    for _ in 0..4 {
        stage.at(now, |_| ()).unwrap();
    }
    for _ in 0..5 {
        stage.defer(|_| ()).unwrap();
    }
    drop(inlet);
    let _ = stage.update();
    stage.until(|_| true);
    while service.in_flight() > 0 {
        let _ = stage.update();
    }
    let stats = stage.stats();
    let counts = [
        stats.network,
        stats.databases,
        stats.timers,
        stats.tasks,
        stats.posts,
    ];
    assert_eq!(counts, [2, 1, 4, 3, 5]);
    assert!(stats.busy_updates >= 1 && stats.updates >= stats.busy_updates);
    assert_eq!(stats.update_time.count, stats.busy_updates);
    assert_eq!(stats.wait.count, 15);
    drop(service);
    stage.end();
}

#[test]
fn limits_that_ended_updates_and_waits_are_counted() {
    let mut stage = Stage::<u32>::inline();
    let start = stage.now();
    for _ in 0..40 {
        stage.defer(|world| *world += 1).unwrap();
    }
    let owner = stage.owner.as_mut().unwrap();
    let mut world = 0;
    let second = Duration::from_secs(1);
    let _ = owner
        .update_at(start + second, &mut world, Budget::operations(1))
        .unwrap();
    let zero = Budget::unlimited().time(Duration::ZERO);
    let _ = owner
        .update_at(start + 2 * second, &mut world, zero)
        .unwrap();
    let one = Budget::unlimited().per_source(1);
    let _ = owner
        .update_at(start + 3 * second, &mut world, one)
        .unwrap();
    let stats = owner.stats();
    assert_eq!(
        (
            stats.ended_by_operations,
            stats.ended_by_time,
            stats.ended_by_source
        ),
        (1, 1, 1)
    );
    assert_eq!(stats.depth, 40 - world as usize);
    let _ = owner
        .update_at(start + 4 * second, &mut world, Budget::unlimited())
        .unwrap();
    assert_eq!(owner.stats().wait.most, 3 * second);
    stage.end();
}
