//! Stories of the engine, and a long one with each of its steps failing in turn. A naive model of it, with any order of
//! events, is in `tests/fuzz_bodies/pool.rs`.

mod fail_every_step;
mod stories;

use std::time::{Duration, Instant};

use super::{Action, Config, Engine, SlotId, Turn, WaiterId};
use crate::reconnect::Backoff;

const SECOND: Duration = Duration::from_secs(1);

/// Few and plain numbers: no ages, no idle times, pauses without growth.
fn config() -> Config {
    Config {
        min: 0,
        max: 2,
        queue: 4,
        connects: 2,
        max_age: None,
        max_idle: None,
        backoff: Backoff {
            first: SECOND,
            max: SECOND,
            ..Backoff::default()
        },
    }
}

/// An engine with a clock, and with somebody who says that everything adds up after each step.
struct Pool {
    engine: Engine,
    now: Instant,
    actions: Vec<Action>,
}

/// All random bits set: the longest pause, the shortest age.
const RANDOM: u64 = u64::MAX;

impl Pool {
    #[expect(
        clippy::disallowed_methods,
        reason = "an Instant can be had from a clock only"
    )]
    fn new(config: Config) -> Self {
        let now = Instant::now();
        let mut pool = Self {
            engine: Engine::new(config, now).unwrap(),
            now,
            actions: Vec::new(),
        };
        pool.settle();
        pool
    }

    fn settle(&mut self) {
        assert!(self.engine.is_consistent(), "{:?}", self.engine);
        while let Some(action) = self.engine.poll_action() {
            self.actions.push(action);
        }
        assert!(!self.engine.has_actions());
    }

    fn step<T>(&mut self, step: impl FnOnce(&mut Engine, Instant) -> T) -> T {
        let result = step(&mut self.engine, self.now);
        self.settle();
        result
    }

    /// What was to be done since the last time.
    fn actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    /// The connects that were asked for since the last time; nothing else was.
    fn connects(&mut self) -> Vec<SlotId> {
        let connect = |action| match action {
            Action::Connect(slot) => slot,
            other => panic!("{other:?}"),
        };
        self.actions().into_iter().map(connect).collect()
    }

    fn wait(&mut self, within: Duration) -> WaiterId {
        self.step(|engine, now| engine.wait(now, now + within))
            .unwrap()
    }

    fn connected(&mut self, slot: SlotId) {
        self.step(|engine, now| engine.handle_connected(slot, now, RANDOM));
    }

    fn failed(&mut self, slot: SlotId) {
        self.step(|engine, now| engine.handle_connect_failed(slot, now, RANDOM));
    }

    fn take(&mut self, waiter: WaiterId) -> Turn {
        self.step(|engine, _| engine.take(waiter)).unwrap()
    }

    fn lent(&mut self, waiter: WaiterId) -> SlotId {
        match self.take(waiter) {
            Turn::Lent(slot) => slot,
            other => panic!("{other:?}"),
        }
    }

    fn release(&mut self, slot: SlotId) {
        assert!(self.step(|engine, now| engine.release(slot, now)));
    }

    /// Lets time pass, and the engine do what is due whenever it said that it wanted to.
    fn advance(&mut self, by: Duration) {
        let end = self.now + by;
        while let Some(due) = self.engine.next_deadline().filter(|due| *due <= end) {
            self.now = due.max(self.now);
            self.step(Engine::handle_timeout);
            let next = self.engine.next_deadline();
            assert!(
                next.is_none_or(|next| next > self.now),
                "it comes again at once"
            );
        }
        self.now = end;
    }

    /// A pool with so many idle connections.
    fn with_idle(config: Config, count: usize) -> Self {
        let mut pool = Self::new(config);
        let waiters: Vec<_> = (0..count).map(|_| pool.wait(SECOND)).collect();
        let slots = pool.connects();
        assert_eq!(slots.len(), count);
        for slot in slots {
            pool.connected(slot);
        }
        for waiter in waiters {
            let slot = pool.lent(waiter);
            pool.release(slot);
        }
        pool.actions();
        assert_eq!(pool.engine.counts().idle, count);
        pool
    }
}
