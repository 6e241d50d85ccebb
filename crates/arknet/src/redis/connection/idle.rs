//! A connection between two users: made new without waiting, and looked at before it is lent again.

use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use arknet_proto::redis::exchange::Dirt;

use super::{Connection, Drain, Error, Owner};
use crate::error::Outcome;
use crate::link;
use crate::pool::Reset;
use crate::redis::node::ResetPolicy;

/// How long replies that nobody wants are waited for once their lease is over. A command that does not block is answered
/// in a fraction of it; for a slow one, a new connection is quicker.
const DRAIN_WITHIN: Duration = Duration::from_millis(100);

/// How many bytes of them are read. More takes longer than a new connection does.
const DRAIN_BYTES: usize = 1024 * 1024;

/// A connection that was idle for so long is asked for, with a system call: its reactor may not have had a turn.
const LONG_IDLE: Duration = Duration::from_secs(1);

impl Connection {
    /// Makes a returned connection ready for the next user, without waiting for anything.
    pub(in crate::redis) fn make_new(&mut self) -> Reset {
        if self.failure.is_some() || self.end.is_some() {
            return Reset::Discard;
        }
        if self.wants_reset() {
            if !self.node.can_reset() {
                return Reset::Discard;
            }
            self.reset();
        }
        if self.in_flight.is_empty() {
            return Reset::Clean;
        }
        if self.is_draining() {
            // A lease that nothing was run on gives no new time.
            self.drain.get_or_insert_with(|| Drain {
                until: link::after(DRAIN_WITHIN),
                bytes: DRAIN_BYTES,
            });
        }
        match link::at_once(|cx| self.poll_flush(cx)) {
            Poll::Ready(Ok(())) if self.wire.unsent() == 0 => Reset::Sent,
            // A server that takes no more: what waits behind would wait for long.
            _ => Reset::Discard,
        }
    }

    fn wants_reset(&self) -> bool {
        // A second reset behind one that nobody has followed yet would change nothing.
        let always = self.node.policy == ResetPolicy::Always
            && self.in_flight.tokens().next_back() != Some(&Owner::Reset);
        always || !self.dirt.is_clean()
    }

    /// Queues the reset. What it answers is of no concern to anybody but [`Connection::take`].
    fn reset(&mut self) {
        let flight = self.node.flight(self.speaks());
        self.wire.end_mut().extend_from_slice(flight.wire());
        self.in_flight.push(flight.wire().len(), 1, Owner::Reset);
        // Another user may have been logged in.
        self.accepts_multi &= !self.dirt.has_changed_session();
        self.dirt = Dirt::CLEAN;
        self.node.count_reset();
    }

    /// Whether replies that nobody wants are still to come.
    #[inline]
    pub(in crate::redis) fn is_draining(&self) -> bool {
        self.in_flight.tokens().any(|owner| *owner == Owner::Nobody)
    }

    /// Takes note of what a read has cost.
    pub(super) fn spend_drain(&mut self, bytes: usize) -> Result<(), Error> {
        if self.in_flight.front() != Some(&Owner::Nobody) {
            return Ok(());
        }
        let Some(drain) = &mut self.drain else {
            return Ok(());
        };
        drain.bytes = drain.bytes.saturating_sub(bytes);
        if drain.bytes > 0 {
            return Ok(());
        }
        Err(self.node.lost(io::Error::new(
            io::ErrorKind::QuotaExceeded,
            "an earlier reply is too large to be waited for",
        )))
    }

    /// Whether the connection can still be used, as far as can be known without waiting.
    #[inline]
    pub(in crate::redis) fn is_reusable(&mut self, idle: Duration) -> bool {
        if self.in_flight.is_empty() && self.incoming.is_empty() && self.failure.is_none() {
            if self.transport.socket().is_readable() {
                return self.has_nothing_to_say();
            }
            return idle < LONG_IDLE || self.transport.socket().is_quiet();
        }
        self.has_gone_on()
    }

    /// Whether what the reactor announced was nothing: a record without data, a short read.
    #[cold]
    fn has_nothing_to_say(&mut self) -> bool {
        let quiet = link::at_once(|cx| self.poll_receive(cx)).is_pending();
        quiet && self.incoming.is_empty()
    }

    /// Takes the replies to a reset, or to nobody, that have come; says whether they are as they should be.
    #[cold]
    fn has_gone_on(&mut self) -> bool {
        let gone_on = link::at_once(|cx| self.poll_exchange(cx, Connection::is_answered));
        match gone_on {
            Poll::Ready(Ok(())) => self.incoming.is_empty(),
            Poll::Ready(Err(error)) => self.fails(error),
            Poll::Pending => !self.is_draining() || !self.drain_is_over(),
        }
    }

    /// Finds out whether the connection is known to have ended, before anything is sent on it in vain.
    #[inline]
    pub(super) fn look_for_end(&mut self) -> Result<(), Error> {
        if self.in_flight.is_empty() && self.transport.socket().is_readable() {
            return self.read_on();
        }
        Ok(())
    }

    #[cold]
    fn read_on(&mut self) -> Result<(), Error> {
        let read = link::at_once(|cx| {
            self.poll_exchange(cx, |connection| connection.take_pushes().map(|()| false))
        });
        match read {
            Poll::Ready(Err(error)) => {
                self.failure = Some(error.clone());
                Err(error.with_outcome(Outcome::NotSent))
            }
            _ => Ok(()),
        }
    }

    /// Takes what has arrived; says whether nothing is awaited any more.
    fn is_answered(&mut self) -> Result<bool, Error> {
        self.take_replies()?;
        Ok(self.in_flight.is_empty())
    }

    fn fails(&mut self, error: Error) -> bool {
        tracing::debug!(address = %self.node.address, %error, "an idle connection is of no use any more");
        self.failure = Some(error);
        false
    }

    fn drain_is_over(&self) -> bool {
        self.drain.is_some_and(|drain| drain.until <= link::now())
    }

    /// Reads replies that nobody wants, until there are no more, or the bounds are reached: then it fails.
    pub(in crate::redis) fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let drained = self.poll_exchange(cx, |connection| {
            connection.take_replies()?;
            Ok(!connection.is_draining())
        });
        match (drained, self.drain) {
            (Poll::Pending, Some(drain)) => {
                let passed = self.timer.poll(cx, drain.until);
                passed.map(|passed| match passed {
                    Ok(()) => Err(self.node.lost(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "an earlier reply did not come",
                    ))),
                    Err(ended) => Err(self.node.runtime_ended(&ended)),
                })
            }
            (Poll::Ready(Err(error)), _) => {
                self.failure = Some(error.clone());
                Poll::Ready(Err(error))
            }
            (drained, _) => drained,
        }
    }
}
