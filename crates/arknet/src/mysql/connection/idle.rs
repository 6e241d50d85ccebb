//! A connection between two users: made new without waiting, and looked at before it is lent again.

use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use arknet_proto::mysql::command;

use super::{Connection, Drain, Error, Left, Owner, Session};
use crate::drive::stream::{self, Outgoing};
use crate::error::Outcome;
use crate::link;
use crate::mysql::node::ResetPolicy;
use crate::pool::Reset;

/// How long answers that nobody wants are waited for once their lease is over. A statement that is quick is answered in a
/// fraction of it; for a slow one, a new connection is quicker.
const DRAIN_WITHIN: Duration = Duration::from_millis(100);

/// How many bytes of them are read. More takes longer than a new connection does.
const DRAIN_BYTES: usize = 1024 * 1024;

/// A connection that was idle for so long is asked for, with a system call: its reactor may not have had a turn.
const LONG_IDLE: Duration = Duration::from_secs(1);

/// MySQL sets the character set to the server's own in a reset, and not to that of the handshake, which is this one.
const NAMES: &[u8] = b"SET NAMES utf8mb4 COLLATE utf8mb4_general_ci";

/// The same for MariaDB, which from version 11 on has a collation of its own choice for the character set, in the handshake
/// too.
const NAMES_MARIADB: &[u8] = b"SET NAMES utf8mb4";

impl Connection {
    /// Makes a returned connection ready for the next user, without waiting for anything.
    pub(in crate::mysql) fn make_new(&mut self) -> Reset {
        if self.failure.is_some()
            || self.ends_with_lease
            || self.conversation.is_broken()
            || self.flight.has_callers()
        {
            return Reset::Discard;
        }
        if self.wants_reset() && !self.reset() {
            return Reset::Discard;
        }
        if self.flight.is_empty() {
            return Reset::Clean;
        }
        if self.is_draining() {
            let owed = self.flight.owners().any(|owner| owner == Owner::Nobody);
            // A first reset is worth what a new connection is, which would have to be reset as well.
            let within = if owed {
                DRAIN_WITHIN
            } else {
                self.node.connect_timeout
            };
            // A lease that nothing was run on gives no new time.
            self.drain.get_or_insert_with(|| Drain {
                until: link::after(within),
                bytes: DRAIN_BYTES,
            });
        }
        match link::at_once(|cx| self.poll_flush(cx)) {
            Poll::Ready(Ok(())) if self.wire.waiting() == 0 => Reset::Sent,
            // A server that takes no more: what waits behind would wait for long.
            _ => Reset::Discard,
        }
    }

    fn wants_reset(&self) -> bool {
        // A second reset behind one that nobody has followed yet would change nothing.
        let always = self.node.policy == ResetPolicy::Always
            && self.flight.owners().next_back() != Some(Owner::Reset);
        always || self.is_dirty() || self.is_elsewhere()
    }

    /// Whether the session is in another schema than it began in.
    fn is_elsewhere(&self) -> bool {
        let began = self.node.database.as_deref().unwrap_or_default();
        let now = self.session.schema.as_deref();
        now.is_some_and(|now| now != began.as_bytes())
    }

    /// Queues the reset; says whether that can be. What it answers is of no concern to anybody but
    /// [`Connection::take_other`].
    fn reset(&mut self) -> bool {
        if !self.node.can_reset() {
            return false;
        }
        // An answer that is still to come may lead elsewhere.
        let is_unsure = self.flight.owners().any(|owner| owner == Owner::Nobody);
        let schema = match (&self.node.database, self.is_elsewhere()) {
            // Nothing leads back out of a schema.
            (None, true) => return false,
            (Some(schema), elsewhere) if elsewhere || is_unsure => Some(schema.as_str()),
            _ => None,
        };
        let wire = self.wire.end_mut();
        let request = command::reset_connection(wire);
        self.flight.push(request, Owner::Reset);
        let names = if self.is_mariadb {
            NAMES_MARIADB
        } else {
            NAMES
        };
        let Ok(request) = command::query(wire, names, names.len() + 1) else {
            return false;
        };
        self.flight.push(request, Owner::Reset);
        if let Some(schema) = schema {
            let request = command::init_db(wire, schema);
            self.flight.push(request, Owner::Reset);
        }
        self.statements.clear();
        self.closes.clear();
        self.has_last_statement = false;
        self.session = Session::default();
        self.transaction = Left::default();
        self.dirty = false;
        self.node.count_reset();
        true
    }

    /// Whether answers are still to come that the next user had better wait for: to nobody, or to the first reset of this
    /// server, which may not know it.
    #[inline]
    pub(in crate::mysql) fn is_draining(&self) -> bool {
        self.flight.owners().any(|owner| match owner {
            Owner::Nobody => true,
            Owner::Reset => !self.node.has_reset(),
            _ => false,
        })
    }

    /// Takes note of what a read has cost.
    pub(super) fn spend_drain(&mut self, bytes: usize) -> Result<(), Error> {
        if self.flight.front() != Some(Owner::Nobody) {
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
            "an earlier answer is too large to be waited for",
        )))
    }

    /// Whether the connection can still be used, as far as can be known without waiting.
    #[inline]
    pub(in crate::mysql) fn is_reusable(&mut self, idle: Duration) -> bool {
        if self.flight.is_empty() && self.incoming.is_empty() && self.failure.is_none() {
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

    /// Takes the answers to a reset, or to nobody, that have come; says whether they are as they should be.
    #[cold]
    fn has_gone_on(&mut self) -> bool {
        let gone_on = link::at_once(|cx| self.poll_exchange(cx, Self::take_others));
        match gone_on {
            Poll::Ready(Ok(())) => self.incoming.is_empty() && !self.conversation.is_broken(),
            Poll::Ready(Err(error)) => self.fails(error),
            Poll::Pending => !self.is_draining() || !self.drain_is_over(),
        }
    }

    /// Finds out whether the connection is known to have ended, before anything is sent on it in vain.
    #[inline]
    pub(super) fn look_for_end(&mut self) -> Result<(), Error> {
        if self.flight.is_empty() && self.transport.socket().is_readable() {
            return self.read_on();
        }
        Ok(())
    }

    #[cold]
    fn read_on(&mut self) -> Result<(), Error> {
        let read = link::at_once(|cx| {
            self.poll_exchange(cx, |connection| connection.take_others().map(|_| false))
        });
        match read {
            Poll::Ready(Err(error)) => {
                self.failure = Some(error.clone());
                Err(error.with_outcome(Outcome::NotSent))
            }
            _ => Ok(()),
        }
    }

    /// Takes what has come of answers that are not a caller's; says whether nothing is awaited any more.
    fn take_others(&mut self) -> Result<bool, Error> {
        while let Some(owner) = self.flight.front() {
            if !self.take_other(owner)? {
                self.forget_taken();
                return Ok(false);
            }
            // Nothing leads back out of a schema.
            if owner == Owner::Nobody && self.node.database.is_none() && self.is_elsewhere() {
                return Err(self.node.lost(io::Error::other(
                    "an earlier request has led into another schema",
                )));
            }
        }
        if self.at < self.incoming.len() {
            self.take_unasked()?;
        }
        self.forget_taken();
        if self.incoming.is_empty() {
            stream::rest(&mut self.incoming);
        }
        Ok(self.flight.is_empty())
    }

    fn fails(&mut self, error: Error) -> bool {
        tracing::debug!(address = %self.node.address, %error, "an idle connection is of no use any more");
        self.failure = Some(error);
        false
    }

    fn drain_is_over(&self) -> bool {
        self.drain.is_some_and(|drain| drain.until <= link::now())
    }

    /// Reads answers that nobody wants, until there are no more, or the bounds are reached: then it fails.
    pub(in crate::mysql) fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let drained = self.poll_exchange(cx, |connection| {
            connection.take_others()?;
            Ok(!connection.is_draining())
        });
        match (drained, self.drain) {
            (Poll::Pending, Some(drain)) => {
                let passed = self.timer.poll(cx, drain.until);
                passed.map(|passed| match passed {
                    Ok(()) => Err(self.node.lost(io::Error::new(
                        io::ErrorKind::TimedOut,
                        "an earlier answer did not come",
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
