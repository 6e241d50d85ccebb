//! A connection that belongs to a task of the owner.

use std::future::poll_fn;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use super::session::Session;
use super::stream::{Event, Stream};
use crate::endpoint::{CloseReason, Error, Message, Payload, SendError};

/// A connection, for the task that it belongs to. It is a [`Session`], too, whose clones may go anywhere on the owner's
/// thread.
///
/// Dropping it closes the connection, after what was sent, so that a task which ends or is cancelled leaves none open.
pub struct Connection<W: 'static> {
    stream: Rc<Stream<W>>,
    session: Session,
    /// There will be no more messages.
    done: bool,
}

impl<W> Connection<W> {
    pub(super) fn new(stream: Rc<Stream<W>>) -> Self {
        Self {
            session: stream.session.clone(),
            stream,
            done: false,
        }
    }

    /// Waits for the next message; `None` when the peer has ended its stream, the connection is closed, or the owner drains
    /// and everything that had arrived was received.
    ///
    /// A task receives one message in each operation of the owner, so that it has its turn like everything else. Dropping
    /// this future loses nothing.
    ///
    /// # Errors
    ///
    /// What ended the connection, once; then `None`.
    pub async fn recv(&mut self) -> Result<Option<Message>, Arc<Error>> {
        self.recv_with(Message::of).await
    }

    /// As [`recv`](Self::recv), for a function that looks at the message where it lies.
    ///
    /// # Errors
    ///
    /// As [`recv`](Self::recv).
    pub async fn recv_with<T>(
        &mut self,
        look: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, Arc<Error>> {
        if self.done {
            return Ok(None);
        }
        let mut look = Some(look);
        let stream = &self.stream;
        let event = poll_fn(|cx| {
            let event =
                stream.poll_next(cx.waker(), |message| look.take().map(|look| look(message)));
            event.map_or(Poll::Pending, Poll::Ready)
        })
        .await;
        match event {
            Event::Message(taken) => Ok(taken),
            Event::Ended | Event::Over => {
                self.done = true;
                Ok(None)
            }
            Event::Closed(reason) => {
                self.done = true;
                match reason {
                    CloseReason::Error(error) => Err(error),
                    _ => Ok(None),
                }
            }
        }
    }

    /// Sends a message: waits until there is room.
    ///
    /// Dropping this future before it is ready sends nothing; afterwards the message stands.
    ///
    /// # Errors
    ///
    /// As [`Session::send`]; [`SendError::QueueFull`] only if the message is larger than the whole queue.
    pub async fn send_when_possible<'a>(
        &self,
        payload: impl Into<Payload<'a>>,
    ) -> Result<(), SendError> {
        let payload = payload.into();
        let length = payload.len();
        poll_fn(|cx| {
            let session = &self.session;
            if !session.is_open() || !session.may_fit(length) || session.has_room(length) {
                return Poll::Ready(());
            }
            self.stream.wait_for_room(cx.waker());
            Poll::Pending
        })
        .await;
        self.session.send(payload)
    }

    /// The session, to be kept elsewhere.
    pub fn session(&self) -> &Session {
        &self.session
    }
}

impl<W> Deref for Connection<W> {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl<W> Drop for Connection<W> {
    fn drop(&mut self) {
        self.stream.abandon();
    }
}

impl<W> std::fmt::Debug for Connection<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Connection").field(&self.session).finish()
    }
}
