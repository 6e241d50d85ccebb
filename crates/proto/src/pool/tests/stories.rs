//! What a pool does, as its users see it.

use super::*;
use crate::pool::{ConfigError, Refusal};

#[test]
fn a_connection_is_made_for_who_waits_and_lent_again() {
    let mut pool = Pool::new(config());
    assert_eq!(pool.actions(), []);
    assert_eq!(
        pool.step(|engine, now| engine.try_acquire(now)),
        Err(Refusal::NoneIdle)
    );
    let waiter = pool.wait(SECOND);
    let [slot] = pool.connects()[..] else {
        panic!()
    };
    assert_eq!(pool.take(waiter), Turn::Waiting);
    pool.connected(slot);
    assert_eq!(pool.actions(), [Action::Wake(waiter)]);
    assert_eq!(pool.take(waiter), Turn::Lent(slot));
    assert_eq!(pool.engine.counts().leased, 1);
    pool.release(slot);
    assert_eq!(pool.engine.counts().idle, 1);
    assert_eq!(pool.step(|engine, now| engine.try_acquire(now)), Ok(slot));
    assert_eq!(pool.engine.totals().lent, 2);
    assert_eq!(pool.actions(), []);
}

#[test]
fn what_was_returned_last_is_lent_first() {
    let mut pool = Pool::with_idle(config(), 2);
    let first = pool.step(|engine, now| engine.try_acquire(now)).unwrap();
    let second = pool.step(|engine, now| engine.try_acquire(now)).unwrap();
    pool.release(second);
    pool.release(first);
    assert_eq!(pool.step(|engine, now| engine.try_acquire(now)), Ok(first));
}

#[test]
fn who_waits_longest_is_served_first() {
    let mut pool = Pool::with_idle(Config { max: 1, ..config() }, 1);
    let slot = pool.step(|engine, now| engine.try_acquire(now)).unwrap();
    let waiters: Vec<_> = (0..4).map(|_| pool.wait(SECOND)).collect();
    for waiter in waiters {
        pool.release(slot);
        assert_eq!(pool.actions(), [Action::Wake(waiter)]);
        assert_eq!(pool.take(waiter), Turn::Lent(slot));
    }
}

#[test]
fn a_full_queue_refuses_at_once() {
    let mut pool = Pool::new(config());
    for _ in 0..4 {
        pool.wait(SECOND);
    }
    let refused = pool.step(|engine, now| engine.wait(now, now + SECOND));
    assert_eq!(refused, Err(Refusal::QueueFull));
    assert_eq!(pool.engine.waiting(), 4);
    assert_eq!(pool.engine.totals().queue_full, 1);
}

#[test]
fn a_failed_connect_ends_nobodys_waiting() {
    let mut pool = Pool::new(config());
    let (first, second) = (pool.wait(10 * SECOND), pool.wait(10 * SECOND));
    for slot in pool.connects() {
        pool.failed(slot);
    }
    assert!(pool.engine.is_failing());
    assert_eq!(pool.actions(), []);
    assert_eq!(pool.take(first), Turn::Waiting);
    // One at a time, after a pause.
    pool.advance(SECOND);
    let [probe] = pool.connects()[..] else {
        panic!()
    };
    pool.failed(probe);
    pool.advance(SECOND);
    let [probe] = pool.connects()[..] else {
        panic!()
    };
    pool.connected(probe);
    // One has been made, so the other may be.
    let [Action::Wake(woken), Action::Connect(slot)] = pool.actions()[..] else {
        panic!()
    };
    assert_eq!(woken, first);
    pool.connected(slot);
    assert_eq!(pool.lent(first), probe);
    assert_eq!(pool.lent(second), slot);
    assert!(!pool.engine.is_failing());
}

#[test]
fn connects_that_fail_together_are_one_failure() {
    let growing = Config {
        backoff: Backoff {
            first: SECOND,
            max: 8 * SECOND,
            ..Backoff::default()
        },
        ..config()
    };
    let mut pool = Pool::new(growing);
    pool.wait(60 * SECOND);
    pool.wait(60 * SECOND);
    for slot in pool.connects() {
        pool.failed(slot);
    }
    pool.advance(SECOND);
    assert_eq!(pool.connects().len(), 1);
}

#[test]
fn a_deadline_refuses_its_waiter_and_no_other() {
    let mut pool = Pool::new(config());
    let long = pool.wait(3 * SECOND);
    let short = pool.wait(SECOND);
    pool.connects();
    pool.advance(SECOND);
    assert_eq!(pool.actions(), [Action::Wake(short)]);
    assert_eq!(pool.take(short), Turn::Refused(Refusal::TimedOut));
    assert_eq!(pool.take(long), Turn::Waiting);
    assert_eq!(pool.step(|engine, _| engine.take(short)), None);
    assert_eq!(pool.engine.totals().timed_out, 1);
}

#[test]
fn a_cancelled_waiter_passes_its_turn_on() {
    let mut pool = Pool::with_idle(config(), 1);
    let slot = pool.step(|engine, now| engine.try_acquire(now)).unwrap();
    let waiters: Vec<_> = (0..3).map(|_| pool.wait(SECOND)).collect();
    pool.connects();
    // From the middle of the queue, ...
    pool.step(|engine, now| engine.cancel(waiters[1], now));
    pool.release(slot);
    assert_eq!(pool.actions(), [Action::Wake(waiters[0])]);
    // ... and after the connection had been granted.
    pool.step(|engine, now| engine.cancel(waiters[0], now));
    assert_eq!(pool.actions(), [Action::Wake(waiters[2])]);
    assert_eq!(pool.take(waiters[2]), Turn::Lent(slot));
    assert_eq!(pool.engine.totals().cancelled, 2);
}

#[test]
fn who_does_not_take_what_was_granted_holds_it_until_the_deadline_only() {
    let mut pool = Pool::with_idle(config(), 1);
    let slot = pool.step(|engine, now| engine.try_acquire(now)).unwrap();
    let asleep = pool.wait(SECOND);
    let awake = pool.wait(3 * SECOND);
    pool.connects();
    pool.release(slot);
    assert_eq!(pool.actions(), [Action::Wake(asleep)]);
    pool.advance(SECOND);
    assert_eq!(pool.actions(), [Action::Wake(asleep), Action::Wake(awake)]);
    assert_eq!(pool.take(awake), Turn::Lent(slot));
    assert_eq!(pool.take(asleep), Turn::Refused(Refusal::TimedOut));
}

#[test]
fn who_got_a_dead_connection_keeps_the_turn() {
    let mut pool = Pool::with_idle(
        Config {
            max: 1,
            queue: 1,
            ..config()
        },
        1,
    );
    let slot = pool.step(|engine, now| engine.try_acquire(now)).unwrap();
    let patient = pool.wait(5 * SECOND);
    pool.step(|engine, now| engine.discard(slot, now));
    let again = pool
        .step(|engine, now| engine.wait_first(now, now + SECOND))
        .unwrap();
    let [slot] = pool.connects()[..] else {
        panic!()
    };
    pool.connected(slot);
    assert_eq!(pool.actions(), [Action::Wake(again)]);
    assert_eq!(pool.lent(again), slot);
    assert_eq!(pool.take(patient), Turn::Waiting);
    assert_eq!(pool.engine.totals().discarded, 1);
}

#[test]
fn the_least_number_is_kept_without_anybody_asking() {
    let mut pool = Pool::new(Config { min: 2, ..config() });
    let slots = pool.connects();
    assert_eq!(slots.len(), 2);
    pool.connected(slots[0]);
    pool.failed(slots[1]);
    pool.advance(SECOND);
    let [slot] = pool.connects()[..] else {
        panic!()
    };
    pool.connected(slot);
    assert_eq!(pool.engine.counts().idle, 2);
    // A connection that is lost is made again.
    let slot = pool.step(|engine, now| engine.try_acquire(now)).unwrap();
    pool.step(|engine, now| engine.discard(slot, now));
    assert_eq!(pool.connects().len(), 1);
}

#[test]
fn who_only_tries_has_a_connection_made() {
    let mut pool = Pool::new(config());
    pool.step(Engine::ask);
    pool.step(Engine::ask);
    let [slot] = pool.connects()[..] else {
        panic!()
    };
    pool.connected(slot);
    assert_eq!(pool.step(|engine, now| engine.try_acquire(now)), Ok(slot));
}

#[test]
fn idle_connections_end_down_to_the_least_number() {
    let idle = Config {
        min: 1,
        max: 3,
        connects: 3,
        max_idle: Some(10 * SECOND),
        ..config()
    };
    let mut pool = Pool::new(idle);
    let [kept] = pool.connects()[..] else {
        panic!()
    };
    pool.connected(kept);
    let mut leased = vec![pool.step(|engine, now| engine.try_acquire(now)).unwrap()];
    for _ in 0..2 {
        let waiter = pool.wait(SECOND);
        let [slot] = pool.connects()[..] else {
            panic!()
        };
        pool.connected(slot);
        leased.push(pool.lent(waiter));
        pool.actions();
    }
    for slot in &leased {
        pool.release(*slot);
        pool.advance(SECOND);
    }
    // The first was returned 3 s ago.
    pool.advance(7 * SECOND - Duration::from_nanos(1));
    assert_eq!(pool.actions(), []);
    pool.advance(Duration::from_nanos(1));
    assert_eq!(pool.actions(), [Action::End(leased[0])]);
    pool.advance(SECOND);
    assert_eq!(pool.actions(), [Action::End(leased[1])]);
    pool.advance(3600 * SECOND);
    assert_eq!(pool.actions(), []);
    let counts = pool.engine.counts();
    assert_eq!((counts.idle, counts.ending), (1, 2));
    assert_eq!(pool.engine.totals().idled_out, 2);
    assert_eq!(pool.engine.next_deadline(), None);
}

#[test]
fn old_connections_end_when_they_are_idle() {
    let aged = Config {
        min: 1,
        max: 1,
        max_age: Some(100 * SECOND),
        ..config()
    };
    let mut pool = Pool::new(aged);
    let [idle] = pool.connects()[..] else {
        panic!()
    };
    pool.connected(idle);
    // A tenth of the age is left to chance, and all its bits are set here.
    pool.advance(90 * SECOND);
    assert_eq!(pool.actions(), []);
    pool.advance(Duration::from_micros(1));
    assert_eq!(pool.actions(), [Action::End(idle)]);
    pool.step(|engine, now| engine.handle_ended(idle, now));
    let [lent] = pool.connects()[..] else {
        panic!()
    };
    pool.connected(lent);
    assert_eq!(pool.step(|engine, now| engine.try_acquire(now)), Ok(lent));
    pool.advance(200 * SECOND);
    assert_eq!(pool.actions(), []);
    pool.release(lent);
    assert_eq!(pool.actions(), [Action::End(lent)]);
    assert_eq!(pool.engine.totals().expired, 2);
}

#[test]
fn a_connection_that_became_old_unnoticed_is_not_lent() {
    let aged = Config {
        max_age: Some(SECOND),
        ..config()
    };
    let mut pool = Pool::with_idle(aged, 1);
    // Nobody tells the engine what time it is.
    pool.now += 2 * SECOND;
    assert_eq!(
        pool.step(|engine, now| engine.try_acquire(now)),
        Err(Refusal::NoneIdle)
    );
    assert!(matches!(pool.actions()[..], [Action::End(_)]));
}

#[test]
fn a_connection_that_says_goodbye_counts_until_it_is_gone() {
    let aged = Config {
        max: 1,
        max_age: Some(SECOND),
        ..config()
    };
    let mut pool = Pool::with_idle(aged, 1);
    pool.advance(SECOND);
    let [Action::End(slot)] = pool.actions()[..] else {
        panic!()
    };
    let waiter = pool.wait(SECOND);
    assert_eq!(pool.actions(), []);
    pool.step(|engine, now| engine.handle_ended(slot, now));
    let [next] = pool.connects()[..] else {
        panic!()
    };
    assert_ne!(slot, next);
    assert_eq!(slot.index(), next.index());
    pool.connected(next);
    assert_eq!(pool.lent(waiter), next);
}

#[test]
fn a_closed_pool_lends_nothing_and_waits_for_what_is_lent() {
    let mut pool = Pool::with_idle(config(), 2);
    let lent = pool.step(|engine, now| engine.try_acquire(now)).unwrap();
    let granted = {
        let other = pool.step(|engine, now| engine.try_acquire(now)).unwrap();
        let granted = pool.wait(SECOND);
        pool.release(other);
        granted
    };
    let waiting = pool.wait(SECOND);
    pool.actions();
    pool.step(|engine, _| engine.close());
    let Action::End(ended) = pool.actions().into_iter().next_back().unwrap() else {
        panic!()
    };
    for waiter in [granted, waiting] {
        assert_eq!(pool.take(waiter), Turn::Refused(Refusal::Closed));
    }
    for refused in [
        pool.step(|engine, now| engine.try_acquire(now)).map(|_| ()),
        pool.step(|engine, now| engine.wait(now, now)).map(|_| ()),
        pool.step(|engine, now| engine.wait_first(now, now))
            .map(|_| ()),
    ] {
        assert_eq!(refused, Err(Refusal::Closed));
    }
    pool.step(|engine, now| engine.handle_ended(ended, now));
    assert!(!pool.engine.is_drained());
    pool.release(lent);
    assert_eq!(pool.actions(), [Action::End(lent)]);
    pool.step(|engine, now| engine.handle_ended(lent, now));
    assert!(pool.engine.is_drained());
}

#[test]
fn a_connection_that_comes_after_the_close_ends() {
    let mut pool = Pool::new(config());
    pool.wait(SECOND);
    let [slot] = pool.connects()[..] else {
        panic!()
    };
    pool.step(|engine, _| engine.close());
    pool.actions();
    pool.connected(slot);
    assert_eq!(pool.actions(), [Action::End(slot)]);
}

#[test]
fn ids_that_are_out_of_date_change_nothing() {
    let mut pool = Pool::with_idle(config(), 1);
    let slot = pool.step(|engine, now| engine.try_acquire(now)).unwrap();
    pool.release(slot);
    let before = (pool.engine.counts(), *pool.engine.totals());
    assert!(!pool.step(|engine, now| engine.release(slot, now)));
    pool.step(|engine, now| engine.discard(slot, now));
    pool.connected(slot);
    pool.failed(slot);
    pool.step(|engine, now| engine.handle_ended(slot, now));
    assert_eq!(before, (pool.engine.counts(), *pool.engine.totals()));
}

#[test]
fn a_configuration_that_cannot_work_is_refused() {
    let refuse = |config: Config| Engine::new(config, Pool::new(super::config()).now).unwrap_err();
    assert!(matches!(
        refuse(Config { max: 0, ..config() }),
        ConfigError::Connections { asked: 0, .. }
    ));
    assert!(matches!(
        refuse(Config { min: 3, ..config() }),
        ConfigError::MinAboveMax { min: 3, max: 2 }
    ));
    assert!(matches!(
        refuse(Config {
            queue: usize::MAX,
            ..config()
        }),
        ConfigError::Queue { .. }
    ));
    assert_eq!(
        refuse(Config {
            connects: 0,
            ..config()
        }),
        ConfigError::NoConnects
    );
}
