//! The engine against a model that is naive enough to be read: lists that are searched.

use proptest::prelude::*;

use super::*;
use crate::pool::{Counts, Refusal};

/// What the outside knows: what it was told, and nothing about how the engine works.
struct Model {
    pool: Pool,
    config: Config,
    connecting: Vec<SlotId>,
    ending: Vec<SlotId>,
    leased: Vec<SlotId>,
    /// In the order in which they came, with deadlines.
    waiting: Vec<(WaiterId, Instant)>,
    /// Woken, and not looked after yet.
    woken: Vec<WaiterId>,
    closed: bool,
    lent: u64,
}

impl Model {
    fn new(config: Config) -> Self {
        let mut model = Self {
            pool: Pool::new(config),
            config,
            connecting: Vec::new(),
            ending: Vec::new(),
            leased: Vec::new(),
            waiting: Vec::new(),
            woken: Vec::new(),
            closed: false,
            lent: 0,
        };
        model.drain();
        model
    }

    fn drain(&mut self) {
        for action in self.pool.actions() {
            match action {
                Action::Connect(slot) => {
                    assert!(!self.closed, "a closed pool connects");
                    self.connecting.push(slot);
                }
                Action::End(slot) => self.ending.push(slot),
                Action::Wake(waiter) => {
                    if !self.woken.contains(&waiter) {
                        self.woken.push(waiter);
                    }
                }
            }
        }
        self.check();
    }

    fn check(&self) {
        let counts = self.pool.engine.counts();
        let Counts {
            connecting,
            leased,
            ending,
            ..
        } = counts;
        assert_eq!(connecting, self.connecting.len());
        assert_eq!(leased, self.leased.len());
        assert_eq!(ending, self.ending.len());
        assert!(counts.total() <= self.config.max);
        assert!(self.pool.engine.waiting() <= self.config.queue + self.config.max);
        assert_eq!(self.pool.engine.totals().lent, self.lent);
        let due = self.pool.engine.next_deadline();
        let at_once = if self.pool.engine.is_failing() {
            1
        } else {
            self.config.connects
        };
        // Nobody waits while something could be done about it, now or at a time that is known.
        if !self.closed && self.pool.engine.waiting() > 0 {
            assert_eq!(counts.idle, 0);
            let busy = counts.total() == self.config.max
                || counts.connecting >= at_once.min(self.pool.engine.waiting());
            assert!(busy || due.is_some(), "{counts:?}");
        }
        for (waiter, deadline) in &self.waiting {
            let pending = !self.woken.contains(waiter);
            assert!(!pending || due.is_some_and(|due| due <= *deadline));
        }
        for slot in &self.leased {
            let same = self
                .leased
                .iter()
                .filter(|other| other.index() == slot.index());
            assert_eq!(same.count(), 1, "one connection is lent twice");
        }
    }

    fn pick<T: Copy>(list: &mut Vec<T>, chance: u8) -> Option<T> {
        (!list.is_empty()).then(|| list.remove(usize::from(chance) % list.len()))
    }

    fn step(&mut self, operation: u8, chance: u8) {
        match operation % 14 {
            0 | 1 => self.try_acquire(),
            2..=4 => self.wait(chance),
            5 | 6 => {
                if let Some(slot) = Self::pick(&mut self.connecting, chance) {
                    self.pool.connected(slot);
                }
            }
            7 => {
                if let Some(slot) = Self::pick(&mut self.connecting, chance) {
                    self.pool.failed(slot);
                }
            }
            8 | 9 => {
                if let Some(slot) = Self::pick(&mut self.leased, chance) {
                    self.pool.release(slot);
                }
            }
            10 => {
                if let Some(slot) = Self::pick(&mut self.leased, chance) {
                    self.pool.step(|engine, now| engine.discard(slot, now));
                    if chance.is_multiple_of(2) {
                        let deadline = self.pool.now + SECOND;
                        let again = self
                            .pool
                            .step(|engine, now| engine.wait_first(now, deadline));
                        if let Ok(waiter) = again {
                            self.waiting.insert(0, (waiter, deadline));
                        }
                    }
                }
            }
            11 => {
                if let Some((waiter, _)) = Self::pick(&mut self.waiting, chance) {
                    self.woken.retain(|woken| *woken != waiter);
                    self.pool.step(|engine, now| engine.cancel(waiter, now));
                }
            }
            12 => match chance % 32 {
                0 => {
                    self.pool.step(|engine, _| engine.close());
                    self.closed = true;
                }
                _ => {
                    if let Some(slot) = Self::pick(&mut self.ending, chance) {
                        self.pool.step(|engine, now| engine.handle_ended(slot, now));
                    }
                }
            },
            _ => self
                .pool
                .advance(Duration::from_millis(u64::from(chance) * 8)),
        }
        self.drain();
        if operation >= 14 {
            self.serve();
            self.drain();
        }
    }

    fn try_acquire(&mut self) {
        let idle = self.pool.engine.counts().idle;
        match self.pool.step(|engine, now| engine.try_acquire(now)) {
            Ok(slot) => self.lend(slot),
            Err(Refusal::Closed) => assert!(self.closed),
            Err(refusal) => {
                assert_eq!(refusal, Refusal::NoneIdle);
                assert!(idle == 0 || self.config.max_age.is_some());
                self.pool.step(Engine::ask);
            }
        }
    }

    fn wait(&mut self, chance: u8) {
        let deadline = self.pool.now + Duration::from_millis(u64::from(chance) * 16);
        let waiting = self.pool.engine.waiting();
        match self.pool.step(|engine, now| engine.wait(now, deadline)) {
            Ok(waiter) => self.waiting.push((waiter, deadline)),
            Err(Refusal::Closed) => assert!(self.closed),
            Err(refusal) => {
                assert_eq!(refusal, Refusal::QueueFull);
                assert!(waiting >= self.config.queue);
            }
        }
    }

    /// Looks after all who were woken.
    fn serve(&mut self) {
        for waiter in std::mem::take(&mut self.woken) {
            let place = self.waiting.iter().position(|(other, _)| *other == waiter);
            let (_, deadline) = self.waiting.remove(place.unwrap());
            match self.pool.take(waiter) {
                Turn::Lent(slot) => self.lend(slot),
                Turn::Refused(Refusal::TimedOut) => assert!(deadline <= self.pool.now),
                Turn::Refused(Refusal::Closed) => assert!(self.closed),
                other => panic!("woken for {other:?}"),
            }
        }
    }

    fn lend(&mut self, slot: SlotId) {
        assert!(!self.closed);
        self.lent += 1;
        self.leased.push(slot);
    }

    /// In the end all is given back, everybody has an answer, and nothing is left.
    fn end(mut self) {
        self.pool.advance(4096 * SECOND);
        self.drain();
        self.serve();
        self.drain();
        assert_eq!(self.waiting, [], "somebody waits beyond the deadline");
        self.pool.step(|engine, _| engine.close());
        self.closed = true;
        self.drain();
        while !(self.leased.is_empty() && self.connecting.is_empty() && self.ending.is_empty()) {
            for operation in [8, 7] {
                self.step(operation, 1);
            }
            self.step(12, 1);
        }
        assert!(self.pool.engine.is_drained());
        assert_eq!(self.pool.engine.counts(), Counts::default());
        let totals = *self.pool.engine.totals();
        let gone = totals.discarded + totals.expired + totals.idled_out;
        assert!(totals.connected >= gone);
    }
}

prop_compose! {
    fn configs()(
        max in 1..5_usize,
        keep in 0..5_usize,
        queue in 0..6_usize,
        connects in 1..4_usize,
        age in prop::option::of(1..5_u32),
        idle in prop::option::of(1..5_u32),
    ) -> Config {
        Config {
            min: keep.min(max),
            max,
            queue,
            connects,
            max_age: age.map(|age| age * SECOND),
            max_idle: idle.map(|idle| idle * SECOND),
            ..config()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_engine_does_what_a_model_does(
        config in configs(),
        steps in prop::collection::vec((0..28_u8, any::<u8>()), 0..200),
    ) {
        let mut model = Model::new(config);
        for (operation, chance) in steps {
            model.step(operation, chance);
        }
        model.end();
    }
}
