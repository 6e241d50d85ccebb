//! Endpoints in either style that do the same and tell the same.

use arknet::{Connection, Handler, Session};

use super::Probe;

/// What an endpoint does with messages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Role {
    /// Sends them back.
    Echo,
    /// Tells them.
    Record,
    /// Does not read before it is told to; then tells them.
    Deaf,
}

/// The callbacks.
pub(super) struct Recorder {
    pub(super) probe: Probe,
    pub(super) role: Role,
}

impl Handler for Recorder {
    fn on_open(&mut self, session: &mut Session) {
        if self.role == Role::Deaf {
            session.pause_reading(true);
        }
        self.probe.opened(session.handle());
    }

    fn on_message(&mut self, session: &mut Session, message: &[u8]) {
        match self.role {
            Role::Echo => session.send(message).expect("room for an echo"),
            Role::Record | Role::Deaf => self.probe.message(session.id(), message),
        }
    }

    fn on_writable(&mut self, session: &mut Session) {
        self.probe.writable(session.queued_bytes());
    }
}

/// The task.
pub(super) async fn run(mut connection: Connection, probe: Probe, role: Role) {
    probe.opened(connection.handle());
    if role == Role::Deaf {
        let handle = connection.handle();
        tokio::select! {
            () = probe.told_to_read() => {}
            () = handle.closed() => {}
        }
    }
    while let Ok(Some(message)) = connection.recv().await {
        match role {
            Role::Echo => {
                if connection.send(message).await.is_err() {
                    return;
                }
            }
            Role::Record | Role::Deaf => probe.message(connection.id(), &message),
        }
    }
}
