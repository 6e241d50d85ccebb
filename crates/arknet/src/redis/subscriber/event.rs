//! What a subscriber hears.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use arknet_proto::redis::ServerError;
use arknet_proto::redis::exchange::SubscriptionKind;
use bytes::Bytes;

use crate::redis::backlog::{Backlog, Pushed};

/// What an event costs beside its bytes.
const OVERHEAD: usize = 128;

/// What a [`Subscriber`](super::Subscriber) hears.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SubscriberEvent {
    /// A message.
    Message {
        /// Where it was published.
        channel: Bytes,
        /// The pattern that it came by, if it came by one.
        pattern: Option<Bytes>,
        /// What was published.
        payload: Bytes,
    },
    /// Messages may be missing before this; none is between this and what comes next.
    Gap(GapReason),
    /// The server has taken a subscription away, and does not give it back. It may be subscribed to again.
    Withdrawn {
        /// What the name is.
        kind: SubscriptionKind,
        /// The channel or the pattern.
        name: Bytes,
        /// What the server said.
        error: ServerError,
    },
}

/// Why messages may be missing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum GapReason {
    /// The connection was lost. Everything is subscribed to again.
    Disconnected {
        /// When the server was last heard: messages since then may be missing.
        since: Instant,
    },
    /// The consumer was too slow.
    Overflowed {
        /// How many events were dropped.
        messages: u64,
    },
    /// The server had taken this name away, and has given it back.
    Moved {
        /// What the name is.
        kind: SubscriptionKind,
        /// The channel or the pattern.
        name: Bytes,
    },
}

impl fmt::Display for GapReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disconnected { .. } => f.write_str("the connection was lost"),
            Self::Overflowed { messages } => {
                write!(f, "{messages} events were dropped, for the queue was full")
            }
            Self::Moved { .. } => f.write_str("the server had taken a subscription away"),
        }
    }
}

impl SubscriberEvent {
    fn size(&self) -> usize {
        let bytes = match self {
            Self::Message {
                channel,
                pattern,
                payload,
            } => channel.len() + pattern.as_ref().map_or(0, Bytes::len) + payload.len(),
            Self::Gap(_) => 0,
            Self::Withdrawn { name, .. } => name.len(),
        };
        bytes + OVERHEAD
    }
}

/// Who gets the events.
pub(super) enum Sink {
    Queue(Backlog<SubscriberEvent>),
    Function(Box<dyn FnMut(SubscriberEvent) + Send>),
}

impl Sink {
    /// Hands an event over.
    pub(super) fn give(&mut self, event: SubscriberEvent) -> Pushed {
        match self {
            Self::Queue(backlog) => {
                let size = event.size();
                backlog.push(event, size)
            }
            Self::Function(function) => {
                if catch_unwind(AssertUnwindSafe(|| function(event))).is_err() {
                    tracing::error!("a callback of a redis subscriber panicked");
                }
                Pushed {
                    going_on: true,
                    dropped: 0,
                }
            }
        }
    }

    /// Nothing will come any more.
    pub(super) fn end(&self) {
        if let Self::Queue(backlog) = self {
            backlog.end();
        }
    }
}
