//! What happened at both ends, in order, and waiting until it has.

use std::sync::{Arc, Mutex, PoisonError};

use arknet::tls;
use arknet::{CloseReason, Error, ErrorKind, Event};
use tokio::sync::Notify;

/// Which end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum At {
    Server,
    Client,
}

/// Something that happened at one end.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    pub(crate) at: At,
    pub(crate) what: What,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    Opened {
        generation: u64,
        tls: Option<Box<tls::Info>>,
    },
    Message(Vec<u8>),
    PeerEnded,
    /// A handler heard of the end: `on_close`.
    Closed(CloseReason),
    /// A handler heard that no connection could be made.
    ConnectFailed(Arc<Error>),
    /// The endpoint reported the end of a session, or of an attempt to connect.
    Ended(CloseReason),
    HandshakeFailed {
        kind: ErrorKind,
        tls: Option<Box<tls::Error>>,
        text: String,
    },
    AcceptFailed(String),
    Refused,
    /// A completion ran: with bytes, or with what the error says.
    Completed(Result<usize, arknet::SendError>),
}

/// The facts so far; clones share them.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Inner>);

#[derive(Default)]
struct Inner {
    facts: Mutex<Vec<Fact>>,
    changed: Notify,
}

impl Log {
    pub(crate) fn add(&self, at: At, what: What) {
        self.0
            .facts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Fact { at, what });
        self.0.changed.notify_waiters();
    }

    pub(crate) fn event(&self, at: At, event: &Event<'_>) {
        let what = match event {
            Event::AcceptFailed { error } => What::AcceptFailed(error.to_string()),
            Event::Refused { .. } => What::Refused,
            Event::HandshakeFailed { error, .. } => What::HandshakeFailed {
                kind: error.kind(),
                tls: match error {
                    Error::Tls { source, .. } => Some(Box::new(source.clone())),
                    _ => None,
                },
                text: error.to_string(),
            },
            Event::Ended { reason, .. } => What::Ended((*reason).clone()),
            _ => return,
        };
        self.add(at, what);
    }

    /// Looks at everything so far.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&[Fact]) -> T) -> T {
        look(&self.0.facts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until `find` finds something.
    pub(crate) async fn wait<T>(&self, mut find: impl FnMut(&[Fact]) -> Option<T>) -> T {
        loop {
            let mut changed = std::pin::pin!(self.0.changed.notified());
            changed.as_mut().enable();
            if let Some(found) = self.look(&mut find) {
                return found;
            }
            changed.await;
        }
    }

    pub(crate) fn clear(&self) {
        self.0
            .facts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// The messages that arrived at one end.
    pub(crate) fn messages(&self, at: At) -> Vec<Vec<u8>> {
        self.look(|facts| {
            facts
                .iter()
                .filter(|fact| fact.at == at)
                .filter_map(|fact| match &fact.what {
                    What::Message(bytes) => Some(bytes.clone()),
                    _ => None,
                })
                .collect()
        })
    }
}
