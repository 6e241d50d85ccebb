//! A connection, as the owner's thread sees it: sends, closes, keeps data.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use arknet_proto::buf::SendLimits;
use arknet_proto::framing::Framing;

use super::line::{CLOSE, COPIED, FINISH, Line, OWNED, Outgoing};
use crate::endpoint::{Payload, SendError};
use crate::io::tokio::PeerAddress;
use crate::owner::corks::{Cork, Corks};

/// An owned payload from this size on is handed over as it is; copying a smaller one is cheaper.
const OWNED_LEAST: usize = 8 << 10;

/// What has been sent goes to the lane before the update ends once it is as large as this: the lane may write meanwhile.
const HIGH_MARK: usize = 64 << 10;

/// Which session of its owner this is, counted from 1 in the order in which they were opened: the same in a replay.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SessionId(pub(super) u64);

impl SessionId {
    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    Open,
    /// Nothing more is sent.
    Closing,
    Closed,
}

/// A connection, on the owner's thread: cheap to clone, to be kept in the world, harmless when the connection is gone.
///
/// A send is admitted or refused at once, and appends to a buffer of the owner's own: no lock, no system call. What an update
/// has sent leaves together when it ends; what is sent outside of updates leaves at once.
#[derive(Clone)]
pub struct Session(Rc<Inner>);

struct Inner {
    id: SessionId,
    line: Arc<Line>,
    framing: Framing,
    limits: SendLimits,
    corks: Rc<Corks>,
    state: Cell<State>,
    outgoing: RefCell<Outgoing>,
    /// It waits to be handed over.
    dirty: Cell<bool>,
    /// Operations and bytes accepted since the beginning, and those of them known to have been handed to the transport.
    accepted: Cell<(u64, u64)>,
    done: Cell<(u64, u64)>,
    local: Option<PeerAddress>,
    peer: Option<PeerAddress>,
    data: RefCell<Option<Box<dyn Any>>>,
}

/// What a session is made of.
pub(super) struct Parts {
    pub(super) id: u64,
    pub(super) line: Arc<Line>,
    pub(super) framing: Framing,
    pub(super) limits: SendLimits,
    pub(super) corks: Rc<Corks>,
    pub(super) local: Option<PeerAddress>,
    pub(super) peer: Option<PeerAddress>,
}

impl Session {
    pub(super) fn new(parts: Parts) -> Self {
        let Parts {
            id,
            line,
            framing,
            limits,
            corks,
            local,
            peer,
        } = parts;
        Self(Rc::new(Inner {
            id: SessionId(id),
            line,
            framing,
            limits,
            corks,
            state: Cell::new(State::Open),
            outgoing: RefCell::default(),
            dirty: Cell::new(false),
            accepted: Cell::new((0, 0)),
            done: Cell::new((0, 0)),
            local,
            peer,
            data: RefCell::default(),
        }))
    }

    /// Which session of its owner this is.
    pub fn id(&self) -> SessionId {
        self.0.id
    }

    /// The address of this end.
    pub fn local_addr(&self) -> Option<&PeerAddress> {
        self.0.local.as_ref()
    }

    /// The address of the other end.
    pub fn peer_addr(&self) -> Option<&PeerAddress> {
        self.0.peer.as_ref()
    }

    /// Whether something can be sent, as far as the owner knows.
    pub fn is_open(&self) -> bool {
        self.0.state.get() == State::Open
    }

    /// Payload bytes that were accepted and, as far as the owner knows, have not been handed to the transport.
    pub fn queued_bytes(&self) -> usize {
        let inner = &*self.0;
        inner.done.set(inner.line.done());
        usize::try_from(inner.outstanding().1).unwrap_or(usize::MAX)
    }

    /// Sends a message, or refuses it at once. The limits are those of the endpoint's send queue.
    ///
    /// ```
    /// use arknet::owner::net::Session;
    ///
    /// fn tell_score(session: &Session, score: u32) {
    ///     match session.send(&score.to_le_bytes()) {
    ///         // Gone, or so far behind that the next score will do.
    ///         Err(error) if error.is_closed() || error.is_full() => {}
    ///         Err(_) => session.close(),
    ///         Ok(()) => {}
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`SendError::Framing`] if the framing cannot carry it, [`SendError::NotConnected`] if the session is not open,
    /// [`SendError::QueueFull`] if there is no room, with the message if it was an owned one; then `on_writable` follows
    /// when the queue has drained to half.
    pub fn send<'a>(&self, payload: impl Into<Payload<'a>>) -> Result<(), SendError> {
        let payload = payload.into();
        let inner = &self.0;
        inner.framing.prefix(payload.len())?;
        if inner.state.get() != State::Open {
            return Err(SendError::NotConnected);
        }
        if let Err(full) = inner.admit(payload.len()) {
            return Err(full.with_payload(&payload));
        }
        inner.push(payload);
        inner.touch();
        Ok(())
    }

    /// Sends a last message, however full the queue is, and closes. A message that the framing cannot carry is left out.
    pub fn kick<'a>(&self, farewell: impl Into<Payload<'a>>) {
        let payload = farewell.into();
        let inner = &self.0;
        if inner.state.get() == State::Open && inner.framing.prefix(payload.len()).is_ok() {
            inner.count(payload.len());
            inner.push(payload);
        }
        self.close();
    }

    /// Closes gracefully: what was accepted is sent, then both directions are ended, within the close timeout. Messages
    /// that have arrived and not been delivered are discarded; the end is told all the same.
    pub fn close(&self) {
        self.end_with(CLOSE);
    }

    /// Answers the end of the peer's stream: sends what was accepted, then ends this direction too.
    pub fn finish(&self) {
        self.end_with(FINISH);
    }

    fn end_with(&self, kind: u8) {
        let inner = &self.0;
        if inner.state.get() != State::Open {
            return;
        }
        inner.state.set(State::Closing);
        inner.outgoing.borrow_mut().packed.push(kind, &[]);
        inner.touch();
    }

    /// Cuts the connection. What waits is given up, and the peer sees a reset.
    pub fn abort(&self) {
        let inner = &self.0;
        if inner.state.get() == State::Closed {
            return;
        }
        inner.state.set(State::Closing);
        inner.outgoing.borrow_mut().clear();
        if let Some(handle) = &inner.line.handle {
            handle.abort();
        }
    }

    /// The endpoint ends: what was sent goes, and nothing more is taken.
    pub(super) fn stop(&self) {
        let inner = &self.0;
        if inner.state.get() == State::Open {
            inner.state.set(State::Closing);
        }
        inner.flush();
    }

    /// Keeps a value with the session; it replaces the last one. It is dropped with the last clone of the session.
    pub fn set_data<T: 'static>(&self, value: T) {
        let old = self.0.data.borrow_mut().replace(Box::new(value));
        drop(old);
    }

    /// Lends the value that the session keeps, if it is of this type and not lent already.
    pub fn with_data<T: 'static, R>(&self, with: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut data = self.0.data.try_borrow_mut().ok()?;
        data.as_mut()?.downcast_mut().map(with)
    }

    /// Takes the value that the session keeps, if it is of this type.
    pub fn take_data<T: 'static>(&self) -> Option<T> {
        let mut data = self.0.data.try_borrow_mut().ok()?;
        match data.take()?.downcast() {
            Ok(value) => Some(*value),
            Err(other) => {
                *data = Some(other);
                None
            }
        }
    }

    pub(super) fn state(&self) -> State {
        self.0.state.get()
    }

    pub(super) fn set_state(&self, state: State) {
        self.0.state.set(state);
    }

    /// Whether there is room for a message of this size; otherwise the owner is told when there is.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.0.has_room(bytes)
    }

    /// Whether it could ever be sent.
    pub(super) fn may_fit(&self, bytes: usize) -> bool {
        bytes <= self.0.limits.bytes
    }
}

impl Inner {
    fn outstanding(&self) -> (u64, u64) {
        let (accepted, done) = (self.accepted.get(), self.done.get());
        (
            accepted.0.saturating_sub(done.0),
            accepted.1.saturating_sub(done.1),
        )
    }

    #[inline]
    fn fits(&self, bytes: usize) -> bool {
        let (operations, waiting) = self.outstanding();
        operations < self.limits.operations as u64
            && waiting.saturating_add(bytes as u64) <= self.limits.bytes as u64
    }

    #[inline]
    fn has_room(&self, bytes: usize) -> bool {
        self.fits(bytes) || self.has_room_now(bytes)
    }

    #[cold]
    fn has_room_now(&self, bytes: usize) -> bool {
        self.done.set(self.line.done());
        if self.fits(bytes) {
            return true;
        }
        self.line.want();
        // Whatever was done before the lane saw that is seen here; what is done later is told.
        self.done.set(self.line.done());
        let fits = self.fits(bytes);
        if fits {
            self.line.want_no_more();
        }
        fits
    }

    #[inline]
    fn admit(&self, bytes: usize) -> Result<(), SendError> {
        if !self.has_room(bytes) {
            return Err(self.full());
        }
        self.count(bytes);
        Ok(())
    }

    #[inline]
    fn count(&self, bytes: usize) {
        let (operations, total) = self.accepted.get();
        self.accepted.set((operations + 1, total + bytes as u64));
    }

    #[cold]
    fn full(&self) -> SendError {
        let (operations, bytes) = self.outstanding();
        SendError::QueueFull {
            bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
            operations: usize::try_from(operations).unwrap_or(usize::MAX),
            limits: self.limits,
            message: None,
        }
    }

    #[inline]
    fn push(&self, payload: Payload<'_>) {
        let mut outgoing = self.outgoing.borrow_mut();
        if outgoing.packed.is_bare() {
            outgoing.packed.lend(self.line.common.buffers.lend());
        }
        match payload {
            Payload::Owned(bytes) if bytes.len() >= OWNED_LEAST => {
                outgoing.packed.push(OWNED, &[]);
                outgoing.owned.push_back(bytes);
            }
            payload => outgoing.packed.push(COPIED, payload.as_slice()),
        }
    }

    /// Something waits to be handed over.
    #[inline]
    fn touch(self: &Rc<Self>) {
        if !self.dirty.replace(true) {
            self.corks.add(self.clone());
        } else if self.outgoing.borrow().packed.size() >= HIGH_MARK {
            self.flush();
        }
    }

    fn flush(&self) {
        let mut outgoing = self.outgoing.borrow_mut();
        if outgoing.packed.is_empty() {
            return;
        }
        if self.line.handle.is_none() {
            // Replayed: nobody is there to be sent to.
            outgoing.clear();
            self.done.set(self.accepted.get());
        } else {
            self.line.hand_over(&mut outgoing);
        }
        // An exchange of buffers leaves an empty one here.
        if let Some(storage) = outgoing.packed.reclaim() {
            self.line.common.buffers.give_back(storage);
        }
    }
}

impl Cork for Inner {
    fn hand_over(&self) {
        self.dirty.set(false);
        self.flush();
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.0.id.0)
            .field("state", &self.0.state.get())
            .finish_non_exhaustive()
    }
}
