//! Whether the other end is still there, for a connection on which nothing may happen for long.

use std::time::{Duration, Instant};

/// Counts the silence of a connection that only listens: after so long without a word it asks, and if that is not
/// answered in time, the other end is gone, whatever the system says.
#[derive(Clone, Copy, Debug)]
pub struct Heartbeat {
    interval: Duration,
    patience: Duration,
    heard: Instant,
    asked: Option<Instant>,
}

/// What a [`Heartbeat`] wants.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Beat {
    /// To be asked again then.
    Wait(Instant),
    /// To ask the other end something. Ask this again afterwards.
    Ask,
    /// Nothing any more: the other end is gone.
    Gone,
}

impl Heartbeat {
    /// Asks after `interval` of silence, and waits for as long as `patience` for the answer.
    pub fn new(interval: Duration, patience: Duration, now: Instant) -> Self {
        Self {
            interval,
            patience,
            heard: now,
            asked: None,
        }
    }

    /// Something was heard.
    pub fn handle_heard(&mut self, now: Instant) {
        self.heard = now;
        self.asked = None;
    }

    /// Something was asked of the other end, by somebody else too.
    pub fn handle_asked(&mut self, now: Instant) {
        self.asked.get_or_insert(now);
    }

    /// What is to be done now.
    pub fn poll(&self, now: Instant) -> Beat {
        let (deadline, then) = match self.asked {
            Some(asked) => (asked + self.patience, Beat::Gone),
            None => (self.heard + self.interval, Beat::Ask),
        };
        if now >= deadline {
            then
        } else {
            Beat::Wait(deadline)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(10);
    const PATIENCE: Duration = Duration::from_secs(3);

    fn start() -> (Heartbeat, Instant) {
        // The tests' only instant; all others are counted from it.
        #[allow(clippy::disallowed_methods, reason = "an origin to count from")]
        let now = Instant::now();
        (Heartbeat::new(INTERVAL, PATIENCE, now), now)
    }

    #[test]
    fn silence_is_asked_about_and_an_answer_is_enough() {
        let (mut heart, now) = start();
        assert_eq!(heart.poll(now), Beat::Wait(now + INTERVAL));
        let asked = now + INTERVAL;
        assert_eq!(heart.poll(asked), Beat::Ask);
        heart.handle_asked(asked);
        assert_eq!(heart.poll(asked), Beat::Wait(asked + PATIENCE));
        let heard = asked + Duration::from_secs(1);
        heart.handle_heard(heard);
        assert_eq!(heart.poll(heard), Beat::Wait(heard + INTERVAL));
    }

    #[test]
    fn silence_after_the_question_is_the_end() {
        let (mut heart, now) = start();
        heart.handle_asked(now);
        heart.handle_asked(now + Duration::from_secs(2));
        assert_eq!(heart.poll(now + PATIENCE), Beat::Gone);
    }
}
