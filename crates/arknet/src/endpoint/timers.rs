//! The timers of a session or an endpoint: keyed, replaceable, cancelled with their owner.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use arknet_proto::time;

use super::session::Session;

/// The name of a timer: a number, or a text. Setting a timer replaces the one with the same key.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum TimerKey {
    /// A number.
    Number(u64),
    /// A text.
    Text(Cow<'static, str>),
}

impl From<u64> for TimerKey {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<&'static str> for TimerKey {
    fn from(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for TimerKey {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

/// What a timer does when it is due.
pub(super) enum Action {
    /// `Handler::on_timer`.
    Tell,
    /// A function of its own.
    Run(Box<dyn FnMut(&mut Session) + Send>),
}

struct Timer {
    action: Action,
    every: Option<Duration>,
}

/// Timers of one session.
#[derive(Default)]
pub(super) struct Timers {
    due: time::Timers<TimerKey>,
    set: BTreeMap<TimerKey, Timer>,
}

impl Timers {
    pub(super) fn set(
        &mut self,
        key: TimerKey,
        at: Instant,
        every: Option<Duration>,
        action: Action,
    ) {
        self.due.set(key.clone(), at);
        self.set.insert(key, Timer { action, every });
    }

    pub(super) fn cancel(&mut self, key: &TimerKey) -> bool {
        self.due.cancel(key);
        self.set.remove(key).is_some()
    }

    pub(super) fn contains(&self, key: &TimerKey) -> bool {
        self.set.contains_key(key)
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.due.next_deadline()
    }

    /// The next timer that is due. A repeating one that ran is given back with [`keep`](Self::keep).
    pub(super) fn poll(&mut self, now: Instant) -> Option<(TimerKey, Action, Option<Duration>)> {
        let key = self.due.poll(now)?;
        let timer = self.set.remove(&key)?;
        if let Some(every) = timer.every {
            // Armed before it runs, so that it can cancel or replace itself. Missed times are skipped.
            self.due.set_after(key.clone(), now, every);
            self.set.insert(
                key.clone(),
                Timer {
                    action: Action::Tell,
                    every: Some(every),
                },
            );
        }
        Some((key, timer.action, timer.every))
    }

    /// Gives the function of a repeating timer back, unless it was cancelled or replaced while it ran.
    pub(super) fn keep(&mut self, key: &TimerKey, action: Action) {
        if let Some(timer) = self.set.get_mut(key)
            && timer.every.is_some()
            && matches!(timer.action, Action::Tell)
        {
            timer.action = action;
        }
    }
}
