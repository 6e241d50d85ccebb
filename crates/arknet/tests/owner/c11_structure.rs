//! C11: groups spawn, join, race, fail fast or collect; they nest, have names, and end with their parents.

use std::time::Duration;

use arknet::owner::{Ended, collect, race, try_join};

use crate::support::Stage;

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_join_waits_for_all_below_and_says_how_they_ended() {
    let mut stage = Stage::<Vec<u64>>::inline();
    let start = stage.now();
    let group = stage.group("outer").unwrap();
    let inner = group.group("inner").unwrap();
    group.spawn(async |cx| cx.sleep(MS).await.unwrap()).unwrap();
    group
        .try_spawn(async |_| Err::<(), _>("no such player"))
        .unwrap();
    inner
        .spawn(async |cx| cx.sleep(3 * MS).await.unwrap())
        .unwrap();
    let joined = group.join();
    stage
        .spawn(async move |cx| {
            let report = joined.await;
            assert_eq!(report.failures, ["no such player"]);
            cx.with(|world| world.extend([report.done, report.failed]));
        })
        .unwrap();
    for tick in 0..3 {
        let _ = stage.update_at(start + tick * MS);
        assert!(stage.world.is_empty());
    }
    let _ = stage.update_at(start + 3 * MS);
    let _ = stage.update_at(start + 3 * MS);
    assert_eq!(stage.world, [2, 1]);
    assert_eq!(group.group_name().as_deref(), Some("outer"));
    drop((inner, group));
    stage.end();
}

#[test]
fn a_group_that_fails_fast_ends_with_its_first_failure() {
    let mut stage = Stage::<u32>::inline();
    let group = stage.group_failing_fast("match").unwrap();
    for _ in 0..3 {
        group
            .spawn(async |_| std::future::pending::<()>().await)
            .unwrap();
    }
    let _ = stage.update();
    assert!(!group.is_cancelled());
    group.try_spawn(async |_| Err::<(), _>("over")).unwrap();
    let _ = stage.update();
    assert!(group.is_cancelled());
    assert_eq!(stage.stats().tasks_alive, 0);
    drop(group);
    stage.end();
}

#[test]
fn outputs_are_collected_in_the_order_given() {
    let mut stage = Stage::<Vec<Result<u32, Ended>>>::inline();
    let start = stage.now();
    stage
        .spawn(async |cx| {
            let tasks = [3, 1, 2]
                .map(|n| {
                    cx.spawn(async move |cx| {
                        cx.sleep(n * MS).await.unwrap();
                        n
                    })
                    .unwrap()
                })
                .into();
            let outputs = collect(tasks).await;
            cx.with(|world| *world = outputs);
        })
        .unwrap();
    for tick in 0..6 {
        let _ = stage.update_at(start + tick * MS);
    }
    assert_eq!(stage.end(), [Ok(3), Ok(1), Ok(2)]);
}

#[test]
fn a_race_has_one_winner_and_no_survivors() {
    let mut stage = Stage::<Option<u32>>::inline();
    let start = stage.now();
    stage
        .spawn(async |cx| {
            let tasks = [3, 1, 2]
                .map(|n| {
                    cx.spawn(async move |cx| {
                        cx.sleep(n * MS).await.unwrap();
                        n
                    })
                    .unwrap()
                })
                .into();
            let winner = race(tasks).await;
            cx.with(|world| *world = winner);
        })
        .unwrap();
    for tick in 0..3 {
        let _ = stage.update_at(start + tick * MS);
    }
    let _ = stage.update_at(start + 2 * MS);
    assert_eq!(stage.end(), Some(1));
}

#[test]
fn the_first_error_ends_the_others() {
    #[derive(Debug, PartialEq)]
    enum Error {
        Real(u32),
        Ended,
    }
    impl From<Ended> for Error {
        fn from(_: Ended) -> Self {
            Self::Ended
        }
    }
    let mut stage = Stage::<Vec<Result<Vec<u32>, Error>>>::inline();
    let start = stage.now();
    stage
        .spawn(async |cx| {
            for failing in [2, 9] {
                let tasks = [3, 1, 2]
                    .map(|n| {
                        cx.spawn(async move |cx| {
                            cx.sleep(n * MS).await.unwrap();
                            if n == failing {
                                Err(Error::Real(n))
                            } else {
                                Ok(n)
                            }
                        })
                        .unwrap()
                    })
                    .into();
                let joined = try_join(tasks).await;
                cx.with(|world| world.push(joined));
            }
        })
        .unwrap();
    for tick in 0..20 {
        let _ = stage.update_at(start + tick * MS);
    }
    assert_eq!(stage.end(), [Err(Error::Real(2)), Ok(vec![3, 1, 2])]);
}

#[test]
fn a_task_that_is_cancelled_says_so_to_whoever_waits() {
    let mut stage = Stage::<Option<Ended>>::inline();
    let group = stage.group("short").unwrap();
    let task = group
        .spawn(async |_| std::future::pending::<()>().await)
        .unwrap();
    stage
        .spawn(async move |cx| {
            let ended = task.await.unwrap_err();
            cx.with(|world| *world = Some(ended));
        })
        .unwrap();
    let _ = stage.update();
    drop(group);
    let _ = stage.update();
    assert_eq!(stage.end(), Some(Ended::Cancelled));
}
