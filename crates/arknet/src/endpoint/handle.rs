//! A session, from anywhere.

use std::pin::pin;
use std::sync::Arc;

use arknet_proto::buf::{Account, MessageWriter, SendLimits, SendQueue};
use arknet_proto::framing::Framing;
use arknet_proto::session::State;
use bytes::Bytes;
use tokio::sync::oneshot;

use super::attached;
use super::error::SendError;
use super::payload::Payload;
use super::session::{SendFilter, Session};
use super::shared::{Close, Completion, SessionId, Shared};
use crate::io::tokio::PeerAddress;

/// A session, from any thread: cheap to clone, harmless when the session is gone.
///
/// What it sends is admitted or refused at once, on the caller, against an account of its own that all handles of the
/// session share; the limits are the session's. Everything else that it does is done on the session's lane, soon.
#[derive(Clone)]
pub struct SessionHandle {
    shared: Arc<Shared>,
    framing: Framing,
    filter: Option<SendFilter>,
    /// The one connection that it sends on, for a [`Connection`](super::Connection).
    pinned: Option<u64>,
}

impl SessionHandle {
    pub(crate) fn new(shared: Arc<Shared>, framing: Framing, filter: Option<SendFilter>) -> Self {
        Self {
            shared,
            framing,
            filter,
            pinned: None,
        }
    }

    /// The same, for the present connection only or for all to come.
    pub(super) fn with_pin(&self, pinned: Option<u64>) -> Self {
        Self {
            pinned,
            ..self.clone()
        }
    }

    /// Whether it is for a connection that has been replaced by another.
    fn is_stale(&self) -> bool {
        self.pinned
            .is_some_and(|pinned| pinned != self.shared.generation())
    }

    /// Whether a send of `bytes` would be admitted now.
    fn check(&self, bytes: usize) -> Result<(), SendError> {
        if self.is_stale() {
            return Err(SendError::NotConnected);
        }
        self.shared.check(bytes)
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The identity of the session.
    pub fn id(&self) -> SessionId {
        self.shared.id
    }

    /// Which connection of its client this is, from 1; 0 before the first.
    pub fn generation(&self) -> u64 {
        self.shared.generation()
    }

    /// Whether data can be sent. Never blocks.
    pub fn is_open(&self) -> bool {
        self.shared.state() == State::Open && !self.is_stale()
    }

    /// Whether the session has ended. That of a client may connect again.
    pub fn is_closed(&self) -> bool {
        self.shared.state() == State::Closed
    }

    /// The address of this end; the last known one after the end.
    pub fn local_addr(&self) -> Option<PeerAddress> {
        self.shared.addresses().local
    }

    /// The address of the other end; the last known one after the end.
    pub fn peer_addr(&self) -> Option<PeerAddress> {
        self.shared.addresses().peer
    }

    /// Bytes that wait on the session's lane, as of its last turn. Never blocks.
    pub fn queued_bytes(&self) -> usize {
        self.shared.queued_bytes()
    }

    /// Messages received so far, as of the lane's last turn.
    pub fn received_messages(&self) -> u64 {
        self.shared.counters.received_messages()
    }

    /// Sends a message, or refuses it at once.
    ///
    /// # Errors
    ///
    /// [`SendError::Framing`] if the framing cannot carry it, [`SendError::NotConnected`] if the session is not open,
    /// [`SendError::QueueFull`] if there is no room, with the message if it was an owned one.
    pub fn send<'a>(&self, payload: impl Into<Payload<'a>>) -> Result<(), SendError> {
        self.submit(payload.into(), None)
    }

    /// Sends a message, and runs `completion` on the session's lane once it has been handed to the transport, or the
    /// connection that it was accepted on is lost: exactly once.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send); then `completion` is dropped without being run.
    pub fn send_with<'a>(
        &self,
        payload: impl Into<Payload<'a>>,
        completion: impl FnOnce(&mut Session, Result<usize, SendError>) + Send + 'static,
    ) -> Result<(), SendError> {
        self.submit(payload.into(), Some(Box::new(completion)))
    }

    fn submit(
        &self,
        payload: Payload<'_>,
        completion: Option<Completion>,
    ) -> Result<(), SendError> {
        self.framing.prefix(payload.len())?;
        let payload = match self.filtered(&payload)? {
            Some(replaced) => replaced,
            None => payload.into_bytes(),
        };
        self.shared.send(payload, completion, self.pinned)
    }

    fn filtered(&self, payload: &Payload<'_>) -> Result<Option<Bytes>, SendError> {
        let Some(filter) = &self.filter else {
            return Ok(None);
        };
        self.check(payload.len())?;
        let Some(replaced) = filter(payload.as_slice()) else {
            return Ok(None);
        };
        self.framing.prefix(replaced.len())?;
        Ok(Some(replaced))
    }

    /// Sends a message that `write` produces.
    pub(super) fn send_built(
        &self,
        length: usize,
        write: impl FnOnce(&mut MessageWriter<'_>),
    ) -> Result<(), SendError> {
        self.check(length)?;
        let mut queue = SendQueue::<()>::new(SendLimits::default());
        queue
            .push_with(&[], length, Account::Own, write)
            .map_err(|written| SendError::Unfinished { length, written })?;
        let payload = Bytes::copy_from_slice(queue.front());
        self.framing.prefix(length)?;
        self.shared.send(payload, None, self.pinned)
    }

    /// Sends a message: waits until there is room.
    ///
    /// Dropping this future before it is ready sends nothing; afterwards the message stands.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send); [`SendError::QueueFull`] only if the message is larger than the whole queue.
    pub async fn send_when_possible<'a>(
        &self,
        payload: impl Into<Payload<'a>>,
    ) -> Result<(), SendError> {
        let mut payload = payload.into();
        let length = payload.len();
        loop {
            let room = self.shared.account.room.notified();
            let mut room = pin!(room);
            // Registered before the attempt, so that room which is made in between is not missed.
            room.as_mut().enable();
            match self.submit(payload.clone(), None) {
                Err(SendError::QueueFull {
                    limits, message, ..
                }) if length <= limits.bytes => {
                    if let Some(message) = message {
                        payload = Payload::Owned(message);
                    }
                }
                result => return result,
            }
            room.await;
        }
    }

    /// Waits until there is room for a message, however small.
    pub(super) async fn room(&self) -> Result<(), SendError> {
        loop {
            let mut room = pin!(self.shared.account.room.notified());
            room.as_mut().enable();
            match self.check(0) {
                Err(error) if error.is_full() => room.await,
                checked => return checked,
            }
        }
    }

    /// Waits until everything that was sent before, by whomever, has been handed to the transport.
    ///
    /// Dropping this future changes nothing about what was sent.
    ///
    /// # Errors
    ///
    /// [`SendError::ConnectionLost`] or [`SendError::NotConnected`] if the connection ended before.
    pub async fn flush(&self) -> Result<(), SendError> {
        if self.is_stale() {
            return Err(SendError::NotConnected);
        }
        let (done, flushed) = oneshot::channel();
        self.shared.post(Box::new(move |session| {
            session.when_flushed(Box::new(move |_, result| {
                // The one who waits may have gone.
                let _ = done.send(result);
            }));
        }))?;
        match flushed.await {
            Ok(result) => result.map(drop),
            Err(_) => Err(SendError::NotConnected),
        }
    }

    /// Runs a function on the session, on its lane, soon.
    ///
    /// ```
    /// use arknet::{SendError, Session, SessionHandle};
    ///
    /// /// Looks something up where that may block, and answers on the session's lane.
    /// fn look_up(session: &Session, key: String) {
    ///     let handle: SessionHandle = session.handle();
    ///     std::thread::spawn(move || {
    ///         let value = std::fs::read(&key).unwrap_or_default();
    ///         let posted = handle.post(move |session| {
    ///             if session.send(value).is_err() {
    ///                 session.close();
    ///             }
    ///         });
    ///         if let Err(SendError::NotConnected) = posted {
    ///             // It has gone in the meantime: nobody wants the answer.
    ///         }
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`SendError::NotConnected`] if the session is gone, [`SendError::TooManyPosts`] if too many functions wait. A
    /// function that was accepted is dropped if the session ends before it runs.
    pub fn post(
        &self,
        function: impl FnOnce(&mut Session) + Send + 'static,
    ) -> Result<(), SendError> {
        self.shared.post(Box::new(function))
    }

    /// Runs a function on the session: at once where the caller is the session's own task, otherwise as
    /// [`post`](Self::post).
    ///
    /// # Errors
    ///
    /// As [`post`](Self::post).
    pub fn dispatch(
        &self,
        function: impl FnOnce(&mut Session) + Send + 'static,
    ) -> Result<(), SendError> {
        let mut function = Some(function);
        attached::with(self.shared(), self.generation(), |attached| {
            if let Some(function) = function.take() {
                function(&mut attached.core.session);
            }
        });
        match function {
            Some(function) => self.post(function),
            None => Ok(()),
        }
    }

    /// Closes the session gracefully. That of a client does not connect again.
    pub fn close(&self) {
        self.shared.close(Close::Graceful);
    }

    /// Cuts the session. That of a client does not connect again.
    pub fn abort(&self) {
        self.shared.close(Close::Abort);
    }

    /// Waits until the session has ended. A client that will connect again has not; in the task of a client's connection,
    /// the end of that connection is waited for.
    ///
    /// Dropping this future changes nothing.
    pub async fn closed(&self) {
        self.wait_for(State::Closed).await;
    }

    /// Waits until the session is open, or has ended: then it is `false`.
    ///
    /// Dropping this future changes nothing.
    pub async fn connected(&self) -> bool {
        self.wait_for(State::Open).await == State::Open
    }

    async fn wait_for(&self, wanted: State) -> State {
        loop {
            let mut changed = pin!(self.shared.changed.notified());
            changed.as_mut().enable();
            if self.has_ended() {
                return State::Closed;
            }
            if wanted != State::Closed && self.shared.state() == wanted {
                return wanted;
            }
            changed.await;
        }
    }

    /// Whether no connection will follow. The task of a client's connection is told when its own has ended: the client
    /// waits for that task before anything follows.
    fn has_ended(&self) -> bool {
        let own_ended =
            || attached::with(&self.shared, self.generation(), |own| own.ended().is_some());
        self.shared.is_over()
            || (self.shared.state() == State::Closed
                && (!self.shared.reconnects() || own_ended() == Some(true)))
    }
}

impl std::fmt::Debug for SessionHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.shared.fmt(f)
    }
}
