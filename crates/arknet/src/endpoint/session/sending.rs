//! What a session sends, until it lies in the send queue.
//!
//! Inside, a refusal is boxed: a `Result` with the error in it is moved through memory at every return, and reading back
//! in one piece what was just written in two stalled the processor for 15 ns a message.

use std::task::Context;

use arknet_proto::buf::{Account, MessageWriter};
use arknet_proto::framing::FramingError;
use arknet_proto::session::Refusal;

use super::{Completion, HIGH_MARK, Payload, SendError, Session, pool};

/// Why a send was refused.
pub(in crate::endpoint) type Refused = Box<SendError>;

impl Session {
    /// Sends a message. It is queued, or refused at once.
    ///
    /// # Errors
    ///
    /// [`SendError::Framing`] if the framing cannot carry it, [`SendError::NotConnected`] if the session is not open,
    /// [`SendError::QueueFull`] if there is no room; then `on_writable` follows when the queue has drained to half.
    #[inline]
    pub fn send<'a>(&mut self, payload: impl Into<Payload<'a>>) -> Result<(), SendError> {
        self.submit(&payload.into(), None).map_err(|error| *error)
    }

    /// Sends a message, and runs `completion` once its last byte has been handed to the transport, with the number of
    /// payload bytes, or with the error that kept it from being so. It runs exactly once, on this lane.
    ///
    /// Handed over is not received: that is for the peer to say. [The crate's documentation](crate#sending) has an
    /// example.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send); then `completion` is dropped without being run.
    pub fn send_with<'a>(
        &mut self,
        payload: impl Into<Payload<'a>>,
        completion: impl FnOnce(&mut Session, Result<usize, SendError>) + Send + 'static,
    ) -> Result<(), SendError> {
        self.submit(&payload.into(), Some(Box::new(completion)))
            .map_err(|error| *error)
    }

    /// Sends a message of exactly `length` bytes that `write` produces straight in the send buffer. The send filter is
    /// not asked.
    ///
    /// ```
    /// use arknet::{SendError, Session};
    ///
    /// fn send_position(session: &mut Session, x: f32, y: f32) -> Result<(), SendError> {
    ///     session.send_in_place(8, |message| {
    ///         message.put(&x.to_le_bytes());
    ///         message.put(&y.to_le_bytes());
    ///     })
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send), and [`SendError::Unfinished`] if `write` leaves some of the bytes out.
    #[inline]
    pub fn send_in_place(
        &mut self,
        length: usize,
        write: impl FnOnce(&mut MessageWriter<'_>),
    ) -> Result<(), SendError> {
        self.submit_in_place(length, write).map_err(|error| *error)
    }

    #[inline]
    pub(in crate::endpoint) fn submit_in_place(
        &mut self,
        length: usize,
        write: impl FnOnce(&mut MessageWriter<'_>),
    ) -> Result<(), Refused> {
        if let Some(prefix) = self.framing.short_prefix(length) {
            self.admit(length)?;
            self.lend();
            let queue = self.engine.queue_mut();
            queue
                .push_short_with(prefix, length, write)
                .map_err(|written| unfinished(length, written))?;
        } else {
            let prefix = self.framing.prefix(length).map_err(broken)?;
            self.admit(length)?;
            self.lend();
            let queue = self.engine.queue_mut();
            queue
                .push_with(prefix.as_slice(), length, Account::Own, write)
                .map_err(|written| unfinished(length, written))?;
        }
        self.keep_below_mark();
        Ok(())
    }

    #[inline]
    pub(in crate::endpoint) fn submit(
        &mut self,
        payload: &Payload<'_>,
        completion: Option<Completion>,
    ) -> Result<(), Refused> {
        if self.filter.is_some() {
            return self.submit_filtered(payload, completion);
        }
        if let (Payload::Borrowed(bytes), None) = (payload, &completion)
            && let Some(prefix) = self.framing.short_prefix(bytes.len())
        {
            self.admit(bytes.len())
                .map_err(|error| with_payload(error, payload))?;
            self.lend();
            self.engine.queue_mut().push_short(prefix, bytes);
            self.keep_below_mark();
            return Ok(());
        }
        self.submit_plain(payload, completion)
    }

    /// Out of line, so that the path of most sends is short.
    #[inline(never)]
    fn submit_plain(
        &mut self,
        payload: &Payload<'_>,
        completion: Option<Completion>,
    ) -> Result<(), Refused> {
        let prefix = self.framing.prefix(payload.len()).map_err(broken)?;
        self.admit(payload.len())
            .map_err(|error| with_payload(error, payload))?;
        self.lend();
        let queue = self.engine.queue_mut();
        match payload.shared() {
            None => queue.push(
                prefix.as_slice(),
                payload.as_slice(),
                Account::Own,
                completion,
            ),
            Some(bytes) => queue.push_bytes(prefix.as_slice(), bytes, Account::Own, completion),
        }
        self.keep_below_mark();
        Ok(())
    }

    #[cold]
    fn submit_filtered(
        &mut self,
        payload: &Payload<'_>,
        completion: Option<Completion>,
    ) -> Result<(), Refused> {
        // The room is asked for before the filter runs, which is to see no message that is refused anyway.
        self.admit(payload.len())
            .map_err(|error| with_payload(error, payload))?;
        match self
            .filter
            .as_ref()
            .and_then(|filter| filter(payload.as_slice()))
        {
            Some(replaced) => self.submit_plain(&Payload::Owned(replaced), completion),
            None => self.submit_plain(payload, completion),
        }
    }

    #[inline]
    fn admit(&mut self, bytes: usize) -> Result<(), Refused> {
        self.engine.admit(bytes).map_err(refused)
    }

    #[inline]
    pub(super) fn lend(&mut self) {
        if !self.engine.queue().has_storage() {
            self.lend_storage();
        }
    }

    #[inline(never)]
    fn lend_storage(&mut self) {
        self.engine.queue_mut().lend(pool::lend_send());
    }

    #[inline]
    pub(super) fn keep_below_mark(&mut self) {
        if self.engine.queue().wire_bytes() >= HIGH_MARK {
            self.flush_now();
        }
    }

    /// Hands over what waits in the middle of a turn.
    #[cold]
    fn flush_now(&mut self) {
        if let Some(waker) = self.waker.clone() {
            self.flush(&mut Context::from_waker(&waker));
        }
    }
}

#[cold]
fn refused(refusal: Refusal) -> Refused {
    Box::new(match refusal {
        Refusal::NotConnected => SendError::NotConnected,
        Refusal::Full(full) => SendError::QueueFull {
            bytes: full.bytes,
            operations: full.operations,
            limits: full.limits,
            message: None,
        },
    })
}

#[cold]
fn broken(error: FramingError) -> Refused {
    Box::new(error.into())
}

#[cold]
fn unfinished(length: usize, written: usize) -> Refused {
    Box::new(SendError::Unfinished { length, written })
}

#[cold]
fn with_payload(mut error: Refused, payload: &Payload<'_>) -> Refused {
    *error = error.with_payload(payload);
    error
}
