//! C1: an update stops at the first limit that it reaches, and says which; at least one ready operation runs.

use std::time::Duration;

use arknet::owner::{Budget, EndedBy, Lost};

use crate::support::Stage;

#[test]
fn a_task_that_wakes_itself_for_ever_ends_no_update_late() {
    let mut stage = Stage::<u64>::inline();
    let task = stage
        .spawn(async |cx| {
            loop {
                cx.with(|polls| *polls += 1);
                cx.yield_now().await;
            }
        })
        .unwrap();
    for _ in 0..10 {
        assert_eq!(stage.update().ran, 1);
    }
    assert!(task.cancel());
    assert_eq!(stage.end(), 10);
}

#[test]
fn a_task_that_wakes_itself_for_ever_once_it_has_its_result_ends_no_update_late() {
    let mut stage = Stage::<u64>::inline();
    let service = stage
        .service("echo", async |n: u32| Ok::<_, Lost>(n))
        .unwrap();
    let task = stage
        .spawn(async move |cx| {
            service.call(1).await.unwrap();
            loop {
                cx.with(|polls| *polls += 1);
                cx.yield_now().await;
            }
        })
        .unwrap();
    stage.until(|polls| *polls > 0);
    for polls in stage.world + 1..10 {
        assert_eq!(stage.update().ran, 1);
        assert_eq!(stage.world, polls);
    }
    assert!(task.cancel());
    drop(task);
    let _ = stage.update();
    stage.end();
}

#[test]
fn so_many_operations_run_and_the_rest_is_left_for_the_next() {
    let mut stage = Stage::<Vec<u32>>::inline();
    for number in 0..10 {
        stage.defer(move |world| world.push(number)).unwrap();
    }
    let report = stage.update_by(Budget::operations(4));
    assert_eq!((report.ran, report.left), (4, 6));
    assert_eq!(report.ended_by, EndedBy::Operations);
    let report = stage.update_by(Budget::operations(100));
    assert_eq!((report.ran, report.left), (6, 0));
    assert_eq!(report.ended_by, EndedBy::Empty);
    assert_eq!(stage.end(), Vec::from_iter(0..10));
}

#[test]
fn a_budget_of_no_time_lets_sixteen_operations_through_and_says_so() {
    let mut stage = Stage::<u32>::inline();
    for _ in 0..100 {
        stage.defer(|world| *world += 1).unwrap();
    }
    let report = stage.update_by(Budget::unlimited().time(Duration::ZERO));
    assert_eq!((report.ran, report.ended_by), (16, EndedBy::Time));
    let _ = stage.update();
    assert_eq!(stage.end(), 100);
}

#[test]
fn a_source_has_its_own_limit_and_the_others_go_on() {
    let mut stage = Stage::<(u32, u32)>::inline();
    for _ in 0..100 {
        stage.defer(|world| world.0 += 1).unwrap();
    }
    for _ in 0..20 {
        stage
            .spawn(async |cx| cx.with(|world| world.1 += 1))
            .unwrap();
    }
    let report = stage.update_by(Budget::unlimited().per_source(30));
    assert_eq!((report.ran, report.left), (50, 70));
    assert_eq!(report.ended_by, EndedBy::PerSource);
    let _ = stage.update();
    assert_eq!(stage.end(), (100, 20));
}

#[test]
fn what_is_left_says_how_long_it_has_been_waiting() {
    let mut stage = Stage::<u32>::inline();
    for _ in 0..3 {
        stage.defer(|world| *world += 1).unwrap();
    }
    let start = stage.now() + Duration::from_secs(1);
    let owner = stage.owner.as_mut().unwrap();
    let mut world = 0;
    let one = Budget::operations(1);
    let report = owner.update_at(start, &mut world, one).unwrap();
    assert_eq!(report.oldest_wait, Duration::ZERO);
    let later = start + Duration::from_millis(7);
    let report = owner.update_at(later, &mut world, one).unwrap();
    assert_eq!(
        (report.left, report.oldest_wait),
        (1, Duration::from_millis(7))
    );
    let report = owner.update_at(later, &mut world, one).unwrap();
    assert_eq!((report.left, report.oldest_wait), (0, Duration::ZERO));
    stage.end();
}

#[test]
fn a_budget_of_nothing_runs_one() {
    let mut stage = Stage::<u32>::inline();
    stage.defer(|world| *world += 1).unwrap();
    stage.defer(|world| *world += 1).unwrap();
    assert_eq!(stage.update_by(Budget::operations(0)).ran, 1);
    assert_eq!(stage.update_by(Budget::unlimited().per_source(0)).ran, 1);
    assert_eq!(stage.end(), 2);
}
