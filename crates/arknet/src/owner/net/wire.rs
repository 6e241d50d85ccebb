//! A connection on its lane: it puts what arrives into its line, and stops reading when that is full.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use super::line::{Common, Line, Verdict};
use super::packed::Packed;
use crate::endpoint::style::Bridge;
use crate::endpoint::{CloseReason, Error, Handler, Session};
use crate::io::tokio::PeerAddress;
use crate::owner::mailbox::Mailbox;
use crate::owner::signal::SourceId;

/// Attempts to connect that failed and that the owner has not been told of. More say nothing new.
const FAILURES: usize = 16;

/// What an endpoint tells the owner beside what its connections do.
pub(super) enum Arrival {
    Opened {
        line: Arc<Line>,
        local: Option<PeerAddress>,
        peer: Option<PeerAddress>,
    },
    ConnectFailed(Arc<Error>),
}

/// The way from the lanes to the owner.
pub(super) struct Gate {
    pub(super) arrivals: Mailbox<Arrival>,
    pub(super) common: Arc<Common>,
    /// Connections of a client follow one another: the next begins when the owner knows the end of the last.
    pub(super) in_turn: bool,
    /// Where the owner knows the endpoint.
    pub(super) place: SourceId,
    /// A client is over: nothing more comes.
    pub(super) over: AtomicBool,
}

pub(super) struct Wire {
    gate: Arc<Gate>,
    line: Option<Arc<Line>>,
    /// What has arrived in this turn.
    staged: Packed,
    ended: bool,
    paused: bool,
    /// What waited for the owner when the line was last looked at.
    waiting: (usize, usize),
}

impl Wire {
    pub(super) fn new(gate: Arc<Gate>) -> Self {
        Self {
            gate,
            line: None,
            staged: Packed::default(),
            ended: false,
            paused: false,
            waiting: (0, 0),
        }
    }

    fn publish(&mut self, session: &mut Session) {
        let Some(line) = &self.line else {
            return self.staged.clear();
        };
        let verdict = line.publish(&mut self.staged, std::mem::take(&mut self.ended));
        // An exchange of buffers leaves an empty one here.
        if let Some(storage) = self.staged.reclaim() {
            self.gate.common.buffers.give_back(storage);
        }
        match verdict {
            Verdict::Room(count, bytes) => {
                self.waiting = (count, bytes);
                if std::mem::take(&mut self.paused) {
                    session.pause_reading(false);
                }
            }
            Verdict::Full => self.pause(session),
            Verdict::Gone => self.staged.clear(),
        }
    }

    fn pause(&mut self, session: &mut Session) {
        self.paused = true;
        session.pause_reading(true);
    }
}

impl Handler for Wire {
    fn on_open(&mut self, session: &mut Session) {
        self.paused = false;
        self.ended = false;
        self.waiting = (0, 0);
        let line = Line::new(self.gate.common.clone(), Some(session.handle()));
        let arrival = Arrival::Opened {
            line: line.clone(),
            local: session.local_addr(),
            peer: session.peer_addr(),
        };
        if self.gate.arrivals.post(arrival, 0).is_err() {
            // The owner is that far behind, drains, or has ended.
            return session.abort();
        }
        self.line = Some(line);
    }

    #[inline]
    fn on_message(&mut self, session: &mut Session, message: &[u8]) {
        if self.staged.is_bare() {
            self.staged.lend(self.gate.common.buffers.lend());
        }
        self.paused = false;
        self.staged.push(0, message);
        let common = &self.gate.common;
        if self.waiting.0 + self.staged.len() >= common.most_events
            || self.waiting.1.saturating_add(self.staged.size()) >= common.most_bytes
            || common.in_all.load(Ordering::Relaxed) >= common.most_in_all
        {
            self.pause(session);
        }
    }

    fn on_end(&mut self, _: &mut Session) {
        self.ended = true;
    }

    fn on_close(&mut self, session: &mut Session, reason: &CloseReason) {
        self.publish(session);
        if let Some(line) = &self.line {
            line.close(reason.clone());
        }
    }

    fn on_connect_failed(&mut self, _: &mut Session, error: &Arc<Error>) {
        let arrivals = &self.gate.arrivals;
        if arrivals.count() < FAILURES {
            // Refused, the owner has ended.
            let _ = arrivals.post(Arrival::ConnectFailed(error.clone()), 0);
        }
    }
}

impl Bridge for Wire {
    #[inline]
    fn turned(&mut self, session: &mut Session) {
        if !self.staged.is_empty() || self.ended {
            self.publish(session);
        }
        if let Some(line) = &self.line {
            line.settle_sends(session);
        }
    }

    fn poll_told(&mut self, cx: &Context<'_>) -> Poll<()> {
        match &self.line {
            Some(line) if self.gate.in_turn => line.poll_told(cx),
            _ => Poll::Ready(()),
        }
    }
}

/// A lane that ends drops its connections in the middle of their lives: the owner hears of that, too.
impl Drop for Wire {
    fn drop(&mut self) {
        if let Some(line) = &self.line {
            line.close(CloseReason::Aborted);
        }
        if self.gate.in_turn {
            self.gate.arrivals.close();
            self.gate.over.store(true, Ordering::Release);
            self.gate.common.signal.notify(self.gate.place);
        }
    }
}
