//! One long story, told again and again, with another of its steps failing each time.

use super::*;
use crate::pool::Refusal;

/// Six callers, one after the other in the queue, two connections, and a life with everything in it.
struct Story {
    pool: Pool,
    /// Steps that can fail so far.
    steps: usize,
    /// Which one does.
    fails: usize,
    waiting: Vec<WaiterId>,
    leased: Vec<SlotId>,
    ending: Vec<SlotId>,
    connecting: Vec<SlotId>,
    served: usize,
    refused: usize,
    cancelled: usize,
}

impl Story {
    fn new(fails: usize) -> Self {
        let config = Config {
            min: 1,
            queue: 6,
            max_age: Some(20 * SECOND),
            max_idle: Some(5 * SECOND),
            ..config()
        };
        Self {
            pool: Pool::new(config),
            steps: 0,
            fails,
            waiting: Vec::new(),
            leased: Vec::new(),
            ending: Vec::new(),
            connecting: Vec::new(),
            served: 0,
            refused: 0,
            cancelled: 0,
        }
    }

    /// Whether this step fails.
    fn fails(&mut self) -> bool {
        self.steps += 1;
        self.steps - 1 == self.fails
    }

    fn arrive(&mut self) {
        let waiter = self.pool.wait(10 * SECOND);
        if self.fails() {
            self.pool.step(|engine, now| engine.cancel(waiter, now));
            self.cancelled += 1;
        } else {
            self.waiting.push(waiter);
        }
    }

    /// Does all there is to do.
    fn turn(&mut self) {
        for action in self.pool.actions() {
            match action {
                Action::Connect(slot) => self.connecting.push(slot),
                Action::End(slot) => self.ending.push(slot),
                Action::Wake(waiter) => self.woken(waiter),
            }
        }
        for slot in std::mem::take(&mut self.connecting) {
            match self.fails() {
                true => self.pool.failed(slot),
                false => self.pool.connected(slot),
            }
        }
        for slot in std::mem::take(&mut self.ending) {
            // One that does not say when it is gone is still there in the end.
            match self.fails() {
                true => self.ending.push(slot),
                false => self.pool.step(|engine, now| engine.handle_ended(slot, now)),
            }
        }
    }

    fn woken(&mut self, waiter: WaiterId) {
        if !self.waiting.contains(&waiter) {
            return;
        }
        self.waiting.retain(|other| *other != waiter);
        if self.fails() {
            // It goes away in the moment in which its turn has come.
            self.pool.step(|engine, now| engine.cancel(waiter, now));
            self.cancelled += 1;
            return;
        }
        match self.pool.take(waiter) {
            Turn::Waiting => panic!("woken for nothing"),
            Turn::Refused(refusal) => {
                assert_eq!(refusal, Refusal::TimedOut);
                self.refused += 1;
            }
            Turn::Lent(slot) if self.fails() => {
                // The connection is dead, and the turn is kept.
                self.pool.step(|engine, now| engine.discard(slot, now));
                let again = self
                    .pool
                    .step(|engine, now| engine.wait_first(now, now + 10 * SECOND));
                self.waiting.push(again.unwrap());
            }
            Turn::Lent(slot) => {
                self.served += 1;
                self.leased.push(slot);
            }
        }
    }

    fn give_back(&mut self) {
        for slot in std::mem::take(&mut self.leased) {
            match self.fails() {
                true => self.pool.step(|engine, now| engine.discard(slot, now)),
                false => self.pool.release(slot),
            }
        }
    }

    /// Tells the story; returns how many steps could have failed.
    fn tell(mut self) -> usize {
        for _ in 0..6 {
            self.arrive();
            self.turn();
        }
        for _ in 0..40 {
            self.turn();
            self.give_back();
            self.pool.advance(SECOND);
        }
        assert_eq!(self.waiting, []);
        assert_eq!(self.served + self.refused + self.cancelled, 6);
        assert_eq!(self.refused, 0, "one failure costs nobody a lease");
        let counts = self.pool.engine.counts();
        assert!(
            counts.open() + counts.connecting >= 1,
            "the least number is kept"
        );
        self.pool.step(|engine, _| engine.close());
        self.fails = usize::MAX;
        for _ in 0..2 {
            self.turn();
        }
        assert!(
            self.pool.engine.is_drained(),
            "{:?}",
            self.pool.engine.counts()
        );
        self.steps
    }
}

#[test]
fn whichever_step_fails_everybody_is_served_and_nothing_is_left() {
    let steps = Story::new(usize::MAX).tell();
    assert!(steps > 20, "{steps} steps are no story");
    for step in 0..steps {
        Story::new(step).tell();
    }
}
