//! What endpoints see, told to the case.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use arknet::{CloseReason, Event, SessionHandle, SessionId};
use tokio::sync::watch;

use super::receive;

/// The endpoints' side.
#[derive(Clone)]
pub(crate) struct Probe {
    opened: Sender<SessionHandle>,
    messages: Sender<(SessionId, Vec<u8>)>,
    ended: Sender<(SessionId, CloseReason)>,
    writable: Sender<usize>,
    reads: Arc<watch::Sender<bool>>,
}

/// The case's side.
pub(crate) struct Log {
    opened: Receiver<SessionHandle>,
    messages: Receiver<(SessionId, Vec<u8>)>,
    ended: Receiver<(SessionId, CloseReason)>,
    writable: Receiver<usize>,
}

/// A probe, and what it will have been told.
pub(crate) fn log() -> (Probe, Log) {
    let (opened, all_opened) = channel();
    let (messages, all_messages) = channel();
    let (ended, all_ended) = channel();
    let (writable, all_writable) = channel();
    let probe = Probe {
        opened,
        messages,
        ended,
        writable,
        reads: Arc::new(watch::channel(false).0),
    };
    let log = Log {
        opened: all_opened,
        messages: all_messages,
        ended: all_ended,
        writable: all_writable,
    };
    (probe, log)
}

// A case that is over no longer listens: what is told then is of no use, so results of sends are ignored.
impl Probe {
    pub(super) fn opened(&self, handle: SessionHandle) {
        let _ = self.opened.send(handle);
    }

    pub(super) fn message(&self, id: SessionId, message: &[u8]) {
        let _ = self.messages.send((id, message.to_vec()));
    }

    pub(super) fn writable(&self, queued: usize) {
        let _ = self.writable.send(queued);
    }

    pub(crate) fn event(&self, event: &Event<'_>) {
        if let Event::Ended { session, reason } = event {
            let _ = self.ended.send((*session, (*reason).clone()));
        }
    }

    /// Lets deaf endpoints of both styles read.
    pub(crate) fn read(&self, session: &SessionHandle) {
        // A task may read all and be gone at once, so the post goes first; one that was never read fails its case.
        let _ = session.post(|session| session.pause_reading(false));
        self.reads.send_replace(true);
    }

    pub(super) async fn told_to_read(&self) {
        // An error means that the probe is gone, and with it whoever could tell.
        let _ = self.reads.subscribe().wait_for(|reads| *reads).await;
    }
}

impl Log {
    pub(crate) fn opened(&self) -> SessionHandle {
        receive(&self.opened, "a session opens")
    }

    pub(crate) fn message(&self) -> Vec<u8> {
        receive(&self.messages, "a message arrives").1
    }

    pub(crate) fn has_message(&self) -> Option<Vec<u8>> {
        self.messages.try_recv().ok().map(|(_, message)| message)
    }

    pub(crate) fn ended(&self) -> CloseReason {
        receive(&self.ended, "a session ends").1
    }

    pub(crate) fn ended_of(&self) -> (SessionId, CloseReason) {
        receive(&self.ended, "a session ends")
    }

    pub(crate) fn has_ended(&self) -> Option<CloseReason> {
        self.ended.try_recv().ok().map(|(_, reason)| reason)
    }

    pub(crate) fn writable(&self) -> usize {
        receive(&self.writable, "the queue drains")
    }
}
