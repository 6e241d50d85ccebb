//! A connection on its lane: the session, what has arrived, and the timer. Both styles drive it.

use std::ops::Range;
use std::task::{Context, Poll};

use arknet_proto::buf::Inbound;
use arknet_proto::framing::{Decoder, FramingError};
use arknet_proto::session::State;

use super::error::Error;
use super::message::{COPIED_MAX, Message};
use super::session::Session;
use crate::drive::stream;
use crate::io::now;
use crate::io::tokio::Deadline;
use crate::link::TransportError;

/// A connection on its lane.
pub(crate) struct Core {
    pub(super) session: Session,
    pub(super) inbound: Inbound,
    deadline: Deadline,
    /// Messages delivered since the counters were last published.
    delivered: u64,
}

/// What a read brought.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Read {
    /// Bytes.
    Some,
    /// The end of the peer's stream.
    End,
    /// An error; the session keeps it.
    Fault,
}

impl Core {
    pub(super) fn new(session: Session, decoder: Decoder) -> Self {
        Self {
            session,
            inbound: Inbound::new(decoder),
            deadline: Deadline::default(),
            delivered: 0,
        }
    }

    /// Begins anew for another connection of the same client.
    pub(super) fn renew(&mut self, config: arknet_proto::session::Config) {
        self.session.renew(config);
        self.inbound.reset();
    }

    pub(super) fn state(&self) -> State {
        self.session.engine().state()
    }

    /// Begins a turn: remembers the task, and takes the mail if there is any.
    #[inline]
    pub(super) fn begin(&mut self, cx: &Context<'_>) {
        crate::lanes::worked();
        self.session.remember_waker(cx);
        if self.session.shared().has_mail() {
            self.session.read_mail();
        }
    }

    /// Whether the socket is to be read: data is wanted, or its end is waited for.
    #[inline]
    pub(super) fn is_reading(&self) -> bool {
        let engine = self.session.engine();
        match engine.state() {
            State::Open => !engine.peer_has_ended() && !self.session.is_reading_paused(),
            State::Draining => !engine.peer_has_ended(),
            State::Connecting | State::Closed => false,
        }
    }

    /// Reads once. The end of the stream and errors are told to the engine.
    #[inline]
    pub(super) fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<Read> {
        let buffer = self.inbound.buffer_mut();
        let Some(transport) = self.session.transport_mut() else {
            return Poll::Pending;
        };
        match transport.poll_receive(cx, buffer) {
            Poll::Ready(Ok(count)) if count > 0 => {
                self.session.engine_mut().handle_heard();
                if self.state() == State::Draining {
                    // What still arrives is of no use to anybody.
                    self.inbound.discard();
                }
                Poll::Ready(Read::Some)
            }
            Poll::Ready(result) => Poll::Ready(self.read_ended(result)),
            Poll::Pending => {
                stream::rest(buffer);
                Poll::Pending
            }
        }
    }

    #[cold]
    fn read_ended(&mut self, result: Result<usize, TransportError>) -> Read {
        match result {
            Ok(_) => {
                self.session.engine_mut().handle_peer_ended();
                Read::End
            }
            // While closing, a peer that resets has ended its stream too, if rudely.
            Err(_)
                if self.state() == State::Draining && self.session.engine().queue().is_empty() =>
            {
                self.session.engine_mut().handle_peer_ended();
                self.session.engine_mut().handle_ended();
                Read::End
            }
            Err(error) => {
                self.session.fail("receive from", error);
                Read::Fault
            }
        }
    }

    /// The next whole message, as a range of the receive buffer. A broken framing ends the session.
    #[inline(always)]
    pub(super) fn next_message(&mut self) -> Option<Range<usize>> {
        // The usual end of a turn's messages, found without asking the framing.
        if self.inbound.is_empty() {
            return None;
        }
        match self.inbound.next_message() {
            Ok(Some(message)) => {
                self.delivered += 1;
                Some(message)
            }
            Ok(None) => None,
            Err(source) => self.broken(source),
        }
    }

    #[cold]
    fn broken(&mut self, source: FramingError) -> Option<Range<usize>> {
        let peer = self.session.peer();
        self.session.fault(Error::Framing { peer, source });
        None
    }

    /// The next whole message, to be owned.
    #[inline]
    pub(super) fn take_message(&mut self) -> Option<Message> {
        let range = self.next_message()?;
        if range.len() <= COPIED_MAX {
            return Some(Message::copy(self.inbound.message(range)));
        }
        Some(Message::share(self.inbound.take(range)))
    }

    /// The peer has ended its stream: an unfinished message is an error.
    pub(super) fn check_end(&mut self) {
        if let Err(source) = self.inbound.finish()
            && self.state() == State::Open
        {
            let peer = self.session.peer();
            self.session.fault(Error::Framing { peer, source });
        }
    }

    /// Whether a deadline of the engine or a timer of the application has come.
    #[inline]
    pub(super) fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.deadline.poll(cx, self.session.next_deadline())
    }

    /// Whether a deadline of the engine has come, on a connection that is not open yet: the application's timers wait until
    /// it is. The clock may be armed for an earlier one, of the last connection: it is armed anew here, since nobody asks
    /// again while nothing else happens.
    pub(super) fn poll_opening_deadline(&mut self, cx: &mut Context<'_>) {
        let wanted = |core: &Self| core.session.engine().next_deadline();
        while let Some(deadline) = wanted(self)
            && self.deadline.poll(cx, Some(deadline)).is_ready()
        {
            self.tick();
        }
    }

    /// Tells the engine the time.
    pub(super) fn tick(&mut self) {
        self.session.engine_mut().handle_timeout(now());
    }

    /// Ends a turn: what others may see is published.
    #[inline]
    pub(super) fn publish(&mut self) {
        let shared = self.session.shared();
        shared.publish_queued(self.session.engine().queue().wire_bytes());
        shared.publish_state(self.state());
        if self.delivered != 0 {
            shared
                .counters
                .delivered(std::mem::take(&mut self.delivered));
        }
    }
}
