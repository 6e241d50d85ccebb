//! What an application gives an endpoint of an owner that calls it back.

use std::sync::Arc;

use super::session::Session;
use crate::endpoint::{CloseReason, Error};

/// The callbacks of one session, with the world; its fields are the session's state.
///
/// They run in updates of the owner, one at a time, in this order: `on_open`, then messages in the order in which they
/// arrived, then `on_close` exactly once and last. Whatever a callback does to its own session, it may do: send, close,
/// cancel the group that it belongs to.
///
/// A callback that panics ends its session, and touches no other; what becomes of the panic the owner's
/// [policy](crate::owner::PanicPolicy) says.
///
/// A closure `FnMut(&mut W, &Session, &[u8])` is a handler of messages only.
pub trait Handler<W>: 'static {
    /// The session is open: connected, and the handshakes are done.
    fn on_open(&mut self, world: &mut W, session: &Session) {
        let _ = (world, session);
    }

    /// A message arrived. It lies in the buffer that it was received into.
    fn on_message(&mut self, world: &mut W, session: &Session, message: &[u8]);

    /// The send queue, which had refused something, has drained to half.
    fn on_writable(&mut self, world: &mut W, session: &Session) {
        let _ = (world, session);
    }

    /// The peer has ended its stream: no more messages will come. It may still read; a handler that has more to say
    /// overrides this and closes the session later. By default the session is closed after what it has sent.
    fn on_end(&mut self, world: &mut W, session: &Session) {
        let _ = world;
        session.finish();
    }

    /// The session has ended. Sends are refused from here on.
    fn on_close(&mut self, world: &mut W, session: &Session, reason: &CloseReason) {
        let _ = (world, session, reason);
    }

    /// Of clients: a connection could not be made. If the reconnect policy says so, it is tried again.
    fn on_connect_failed(&mut self, world: &mut W, error: &Arc<Error>) {
        let _ = (world, error);
    }
}

impl<W, F: FnMut(&mut W, &Session, &[u8]) + 'static> Handler<W> for F {
    #[inline]
    fn on_message(&mut self, world: &mut W, session: &Session, message: &[u8]) {
        self(world, session, message);
    }
}
