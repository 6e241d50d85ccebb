//! What a server says unasked, for whoever wants to hear it.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, ready};

use arknet_proto::redis::{DecodeError, FromReply, Reply};
use bytes::Bytes;
use futures_core::Stream;

use crate::lanes::lock;
use crate::redis::backlog::{Backlog, Bounds, Next, Overflow};
use crate::redis::error::Error;

/// Receivers of one client at once.
const RECEIVERS: usize = 64;

/// Bytes of pushes that wait for one receiver.
const BYTES: usize = 4 * 1024 * 1024;

/// A message of the server that answers no request, such as the invalidation of a cached key. RESP3 only.
#[derive(Clone, Debug)]
pub struct Push {
    frame: Bytes,
}

impl Push {
    /// What kind it is, such as `invalidate`; empty if the server did not say.
    pub fn kind(&self) -> &[u8] {
        match self.elements().and_then(|mut elements| elements.next()) {
            Some(Reply::Bulk(kind) | Reply::Simple(kind)) => kind,
            _ => &[],
        }
    }

    /// All of it, the kind first.
    ///
    /// # Errors
    ///
    /// If it is not what the type needs.
    pub fn decode<T: FromReply>(&self) -> Result<T, DecodeError> {
        Reply::parse(&self.frame)?.decode()
    }

    fn elements(&self) -> Option<arknet_proto::redis::Elements<'_>> {
        match Reply::parse(&self.frame) {
            Ok(Reply::Push(elements)) => Some(elements),
            _ => None,
        }
    }
}

/// What [`Pushes`] give.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum PushEvent {
    /// A message.
    Push(Push),
    /// So many messages were dropped at this place, because there was no room for them.
    Missed(u64),
}

/// The pushes of a client, by [`Client::pushes`](super::Client::pushes). Also a [`Stream`].
///
/// It ends with the client, or, with [`Overflow::Disconnect`], when there is no room. Dropping it is how not to listen any
/// more.
#[derive(Debug)]
pub struct Pushes {
    backlog: Backlog<Push>,
}

impl Pushes {
    /// The next one; `None` after the last one. Dropping this future loses nothing.
    pub async fn recv(&mut self) -> Option<PushEvent> {
        poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<PushEvent>> {
        Poll::Ready(ready!(self.backlog.poll_next(cx)).map(|next| match next {
            Next::Item(push) => PushEvent::Push(push),
            Next::Missed(count) => PushEvent::Missed(count),
        }))
    }
}

impl Stream for Pushes {
    type Item = PushEvent;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<PushEvent>> {
        self.poll(cx)
    }
}

impl Drop for Pushes {
    fn drop(&mut self) {
        self.backlog.abandon();
    }
}

/// Who listens.
pub(super) struct Receivers {
    /// None once the client has ended.
    all: Mutex<Option<Vec<Backlog<Push>>>>,
}

impl Default for Receivers {
    fn default() -> Self {
        Self {
            all: Mutex::new(Some(Vec::new())),
        }
    }
}

impl Receivers {
    /// One more, if there are not too many.
    pub(super) fn add(&self, items: usize, overflow: Overflow) -> Result<Pushes, Error> {
        let mut all = lock(&self.all);
        let all = all.as_mut().ok_or(Error::Closed)?;
        all.retain(|one| !one.has_ended());
        if all.len() >= RECEIVERS {
            return Err(Error::Full {
                what: "receivers of pushes",
                limit: RECEIVERS,
            });
        }
        let backlog = Backlog::new(Bounds {
            items: items.max(1),
            bytes: BYTES,
            overflow,
        });
        all.push(backlog.clone());
        Ok(Pushes { backlog })
    }

    /// Gives a push to everyone. If nobody listens it costs nothing. Says how many were dropped for want of room.
    pub(super) fn push(&self, frame: &[u8]) -> usize {
        let mut all = lock(&self.all);
        let Some(all) = all.as_mut().filter(|all| !all.is_empty()) else {
            return 0;
        };
        let push = Push {
            frame: Bytes::copy_from_slice(frame),
        };
        let mut dropped = 0;
        all.retain(|one| {
            let pushed = one.push(push.clone(), frame.len());
            dropped += pushed.dropped;
            pushed.going_on
        });
        dropped
    }

    /// Nothing will come any more.
    pub(super) fn end(&self) {
        let all = lock(&self.all).take();
        for one in all.into_iter().flatten() {
            one.end();
        }
    }
}
