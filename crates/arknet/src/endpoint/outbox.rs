//! What a function that looks at a message can send with.

use arknet_proto::buf::MessageWriter;

use super::error::SendError;
use super::handle::SessionHandle;
use super::payload::Payload;
use super::session::Session;

/// Sends on the connection whose message is being looked at, by
/// [`Connection::recv_with`](super::Connection::recv_with).
#[derive(Debug)]
pub struct Outbox<'a>(Way<'a>);

#[derive(Debug)]
enum Way<'a> {
    /// The connection's own task.
    Here(&'a mut Session),
    Elsewhere(&'a SessionHandle),
}

impl<'a> Outbox<'a> {
    #[inline]
    pub(super) fn here(session: &'a mut Session) -> Self {
        Self(Way::Here(session))
    }

    pub(super) fn elsewhere(handle: &'a SessionHandle) -> Self {
        Self(Way::Elsewhere(handle))
    }

    /// Payload bytes that wait for the transport: of the session's own sends in the connection's own task, as of the
    /// lane's last turn elsewhere.
    pub fn queued_bytes(&self) -> usize {
        match &self.0 {
            Way::Here(session) => session.queued_bytes(),
            Way::Elsewhere(handle) => handle.queued_bytes(),
        }
    }

    /// Sends a message, or refuses it at once.
    ///
    /// # Errors
    ///
    /// As [`Session::send`].
    #[inline]
    pub fn send<'p>(&mut self, payload: impl Into<Payload<'p>>) -> Result<(), SendError> {
        match &mut self.0 {
            Way::Here(session) => session.send(payload),
            Way::Elsewhere(handle) => handle.send(payload),
        }
    }

    /// Sends a message of exactly `length` bytes that `write` produces straight in the send buffer, or refuses it at
    /// once.
    ///
    /// # Errors
    ///
    /// As [`Session::send_in_place`].
    #[inline]
    pub fn send_in_place(
        &mut self,
        length: usize,
        write: impl FnOnce(&mut MessageWriter<'_>),
    ) -> Result<(), SendError> {
        match &mut self.0 {
            Way::Here(session) => session.send_in_place(length, write),
            Way::Elsewhere(handle) => handle.send_built(length, write),
        }
    }
}
