//! C9: the clock moves in updates only; timers are ordered and not rounded; missed ticks are skipped and counted.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use arknet::owner::Missed;

use crate::support::Stage;

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_stall_of_fifty_milliseconds_is_one_tick_and_forty_nine_missed() {
    let mut stage = Stage::<Vec<u64>>::inline();
    let start = stage.now();
    let timer = stage
        .every(MS, Missed::Skip, |world, missed| world.push(missed))
        .unwrap();
    let _ = stage.update_at(start + MS);
    assert_eq!(stage.world, [0]);
    let _ = stage.update_at(start + 51 * MS);
    assert_eq!(stage.world, [0, 49]);
    assert_eq!(stage.next_deadline(), Some(start + 52 * MS));
    let _ = stage.update_at(start + 52 * MS);
    assert_eq!(stage.world, [0, 49, 0]);
    assert_eq!(stage.stats().missed_ticks, 49);
    timer.cancel();
    stage.end();
}

#[test]
fn missed_ticks_are_delayed_or_caught_up_with_where_asked_for() {
    let mut stage = Stage::<[u32; 2]>::inline();
    let start = stage.now();
    let delayed = stage
        .every(MS, Missed::Delay, |world, _| world[0] += 1)
        .unwrap();
    let burst = stage
        .every(MS, Missed::Burst(3), |world, _| world[1] += 1)
        .unwrap();
    let now = start + Duration::from_micros(10_500);
    for _ in 0..10 {
        let _ = stage.update_at(now);
    }
    assert_eq!(stage.world, [1, 4]);
    assert_eq!(stage.next_deadline(), Some(start + 11 * MS));
    delayed.cancel();
    burst.cancel();
    stage.end();
}

#[test]
fn timers_fire_by_deadline_then_by_the_order_in_which_they_were_set() {
    let mut stage = Stage::<Vec<&'static str>>::inline();
    let start = stage.now();
    let nano = Duration::from_nanos(1);
    for (at, name) in [(2, "third"), (1, "first"), (2, "fourth"), (1, "second")] {
        stage
            .at(start + at * nano, move |world| world.push(name))
            .unwrap();
    }
    let _ = stage.update_at(start);
    assert!(stage.world.is_empty());
    let _ = stage.update_at(start + nano);
    assert_eq!(stage.world, ["first", "second"], "not rounded to anything");
    let _ = stage.update_at(start + 5 * nano);
    assert_eq!(stage.end(), ["first", "second", "third", "fourth"]);
}

#[test]
fn the_clock_stands_still_within_an_update_and_never_goes_back() {
    let mut stage = Stage::<Vec<std::time::Instant>>::inline();
    for _ in 0..2 {
        stage
            .spawn(async |cx| cx.with(|world| world.push(cx.now())))
            .unwrap();
    }
    let start = stage.now();
    let _ = stage.update_at(start + MS);
    assert_eq!(stage.world, [start + MS, start + MS]);
    let _ = stage.update_at(start);
    assert_eq!(stage.now(), start + MS);
    stage.end();
}

#[test]
fn a_sleep_ends_at_its_moment_and_one_that_is_dropped_is_unset() {
    let mut stage = Stage::<u32>::inline();
    let start = stage.now();
    stage
        .spawn(async |cx| {
            for _ in 0..3 {
                cx.sleep(MS).await.unwrap();
                cx.with(|world| *world += 1);
            }
        })
        .unwrap();
    let _ = stage.update_at(start);
    for tick in 1..=3 {
        let _ = stage.update_at(start + tick * MS - Duration::from_nanos(1));
        assert_eq!(stage.world, tick - 1);
        let _ = stage.update_at(start + tick * MS);
        assert_eq!(stage.world, tick, "in the update of the moment itself");
    }
    let group = stage.group("sleeper").unwrap();
    group
        .spawn(async |cx| cx.sleep(1000 * MS).await.unwrap())
        .unwrap();
    let _ = stage.update_at(start + 4 * MS);
    assert!(stage.next_deadline().is_some());
    group.cancel();
    assert_eq!(stage.next_deadline(), None);
    drop(group);
    stage.end();
}

#[test]
fn a_timer_that_cancels_itself_is_over() {
    let mut stage = Stage::<u32>::inline();
    let start = stage.now();
    let own = Rc::new(RefCell::new(None));
    let handle = own.clone();
    let timer = stage
        .every(MS, Missed::Skip, move |world, _| {
            *world += 1;
            if let Some(timer) = handle.borrow_mut().take() {
                arknet::owner::Timer::cancel(timer);
            }
        })
        .unwrap();
    *own.borrow_mut() = Some(timer);
    for tick in 1..5 {
        let _ = stage.update_at(start + tick * MS);
    }
    assert_eq!(stage.end(), 1);
}

#[test]
fn a_million_timers_that_are_cancelled_leave_no_room_taken() {
    let stage = Stage::<u32>::inline();
    let before = arknet_testkit::alloc::counts().live_bytes;
    for _ in 0..1_000_000 {
        let timer = stage.after(Duration::from_secs(3600), |_| ()).unwrap();
        timer.cancel();
    }
    let held = arknet_testkit::alloc::counts().live_bytes - before;
    assert!(held < 64 << 10, "{held} bytes are held");
    stage.end();
}
