//! What an application gives an endpoint that calls it back.

use std::sync::Arc;

use super::error::{CloseReason, Error};
use super::session::Session;
use super::timers::TimerKey;

/// The callbacks of one session; its fields are the session's state.
///
/// They run on the session's lane, one at a time, in this order: `on_open`, then messages, timers and the rest in the
/// order in which they happen, then `on_close` exactly once and last. A callback may send, close its own session, spawn
/// tasks, and shut the endpoint down; it should not block, because the other sessions of its lane wait meanwhile.
///
/// A callback that panics ends its session, with an error that says so, and touches no other.
///
/// A closure `FnMut(&mut Session, &[u8])` is a handler of messages only.
///
/// ```
/// use std::time::Duration;
/// use arknet::{CloseReason, Handler, Session, TimerKey};
///
/// /// Closes a session that does not say its name in time.
/// struct Guest {
///     name: Option<String>,
/// }
///
/// impl Handler for Guest {
///     fn on_open(&mut self, session: &mut Session) {
///         session.set_timer("name", Duration::from_secs(10));
///     }
///
///     fn on_message(&mut self, session: &mut Session, message: &[u8]) {
///         session.cancel_timer("name");
///         self.name.get_or_insert_with(|| String::from_utf8_lossy(message).into_owned());
///     }
///
///     fn on_timer(&mut self, session: &mut Session, key: TimerKey) {
///         if key == TimerKey::from("name") {
///             session.close();
///         }
///     }
///
///     fn on_close(&mut self, _: &mut Session, reason: &CloseReason) {
///         println!("{}: {reason}", self.name.as_deref().unwrap_or("somebody"));
///     }
/// }
/// ```
pub trait Handler: Send + 'static {
    /// The session is open: connected, and the handshakes are done.
    fn on_open(&mut self, session: &mut Session) {
        let _ = session;
    }

    /// A message arrived. It is borrowed from the receive buffer.
    fn on_message(&mut self, session: &mut Session, message: &[u8]);

    /// The send queue, which had refused something, has drained to half.
    fn on_writable(&mut self, session: &mut Session) {
        let _ = session;
    }

    /// A timer that was set with `set_timer` or `set_interval` is due.
    fn on_timer(&mut self, session: &mut Session, key: TimerKey) {
        let _ = (session, key);
    }

    /// The peer has ended its stream: no more messages will come. It may still read; a handler that has more to say
    /// overrides this and closes the session later. By default the session is closed after what it has sent.
    fn on_end(&mut self, session: &mut Session) {
        session.finish();
    }

    /// The session has ended. Sends are refused from here on.
    fn on_close(&mut self, session: &mut Session, reason: &CloseReason) {
        let _ = (session, reason);
    }

    /// Of clients: a connection could not be made. If the reconnect policy says so, it is tried again.
    fn on_connect_failed(&mut self, session: &mut Session, error: &Arc<Error>) {
        let _ = (session, error);
    }
}

impl<F: FnMut(&mut Session, &[u8]) + Send + 'static> Handler for F {
    #[inline]
    fn on_message(&mut self, session: &mut Session, message: &[u8]) {
        self(session, message);
    }
}
