//! A batch of requests on a connection: encoded, sent, answered, or given up in good order.

use std::future::poll_fn;
use std::ops::DerefMut;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arknet_proto::redis::exchange::{Dirt, Nature, Requests, Speaks};
use arknet_proto::redis::{Command, Effects};

use super::{Connection, End, Error, MULTI_LEN, Owner};
use crate::error::Outcome;
use crate::link;
use crate::redis::{Answers, Batch, Doing};

/// How long a batch may take.
#[derive(Clone, Copy, Debug)]
pub(in crate::redis) struct Limit {
    /// From its call. A command that blocks has its own time in addition.
    pub(in crate::redis) within: Option<Duration>,
    /// Nor longer than until then.
    pub(in crate::redis) until: Option<Instant>,
}

/// What has been begun, and how it was before.
#[derive(Clone, Copy, Debug)]
struct Begun {
    requests: usize,
    /// Where its bytes begin.
    place: usize,
    dirt: Dirt,
    end: Option<End>,
    /// It begins with a `MULTI`.
    atomic: bool,
    /// Its reply may be long in coming: nobody else waits for it.
    blocks: bool,
    /// In addition to the limit; `None` is for ever.
    patience: Option<Duration>,
}

impl Connection {
    /// Runs a batch.
    ///
    /// Dropped before a byte was handed over, nothing has happened. Dropped later, what was begun leaves with what comes
    /// next, and its replies are read and thrown away then; if the batch blocks, the connection is of no use any more.
    #[inline]
    pub(in crate::redis) async fn run<B: Batch>(&mut self, batch: B, limit: Limit) -> B::Output {
        let mut running = match Running::begin(self, batch, limit) {
            Ok(running) => running,
            Err((_, output)) => return output,
        };
        let result = poll_fn(|cx| running.poll(cx)).await;
        running.finish(result).1
    }

    fn begin<B: Batch>(&mut self, batch: &B) -> Result<Begun, Error> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone().with_outcome(Outcome::NotSent));
        }
        if self.end == Some(End::Now) {
            return Err(Error::Closed);
        }
        self.look_for_end()?;
        self.drain = None;
        self.leave_transaction();
        let mut begun = Begun {
            requests: batch.requests(),
            place: self.wire.end(),
            dirt: self.dirt,
            end: self.end,
            atomic: batch.is_atomic(),
            blocks: false,
            patience: Some(Duration::ZERO),
        };
        batch.encode(self.wire.end_mut());
        self.effects = batch.effects();
        if self.effects != Effects::NONE
            && let Err(error) = self.look_at(&mut begun)
        {
            self.wire.truncate(begun.place);
            return Err(error);
        }
        if batch.is_atomic() && !self.accepts_multi {
            self.wire.hold(begun.place + *MULTI_LEN);
        } else if self.effects.contains(Effects::DIRTIES_SESSION) {
            self.accepts_multi = false;
        }
        self.dirt.note(self.effects);
        let bytes = self.wire.end() - begun.place;
        self.node.meters.requests.add(begun.requests);
        self.in_flight.push(bytes, begun.requests, Owner::Caller);
        Ok(begun)
    }

    /// The user has left the transaction that there may be.
    pub(in crate::redis) fn leave_transaction_behind(&mut self) {
        self.leaves_transaction = self.dirt.is_in_transaction();
    }

    /// Ends what a user has left, in front of the next requests.
    fn leave_transaction(&mut self) {
        if !std::mem::take(&mut self.leaves_transaction) {
            return;
        }
        let before = self.wire.end();
        let (name, effects) = if self.dirt.has_open_transaction() {
            ("DISCARD", Effects::CLOSES_TRANSACTION)
        } else {
            ("UNWATCH", Effects::UNWATCHES)
        };
        Command::new(name).encode_to(self.wire.end_mut());
        let bytes = self.wire.end() - before;
        self.in_flight.push(bytes, 1, Owner::Nobody);
        self.dirt.note(effects);
    }

    /// Looks at requests that may be other than usual.
    #[cold]
    fn look_at(&mut self, begun: &mut Begun) -> Result<(), Error> {
        let alone = begun.requests == 1;
        let mut end = self.end;
        for request in Requests::new(self.wire.from(begun.place)) {
            let allowed = match request.nature() {
                Nature::Usual => true,
                Nature::Blocks(time) => {
                    begun.blocks = true;
                    begun.patience = begun
                        .patience
                        .zip(time)
                        .map(|(sum, time)| sum.saturating_add(time));
                    true
                }
                Nature::Lasts => {
                    end = end.or(Some(End::WithLease));
                    true
                }
                // In RESP2 messages look like replies; of several confirmations of one request, the first is its reply.
                Nature::Subscribes => alone && self.speaks() == Speaks::Resp3,
                Nature::Silences => false,
                Nature::Floods | Nature::Ends => {
                    end = Some(End::Now);
                    alone
                }
            };
            if !allowed {
                let name = request.words().next().unwrap_or_default();
                return Err(Error::NotOnLease {
                    command: String::from_utf8_lossy(name).into(),
                });
            }
        }
        self.end = end;
        Ok(())
    }

    /// How many of the batch's requests have begun to be sent, and how many bytes these have. `committed` bytes more than
    /// is known count as sent.
    fn sent(&self, begun: &Begun, committed: usize) -> (usize, usize) {
        let wire = self.wire.from(begun.place);
        match self.in_flight.last_fate(committed) {
            Some(fate) if self.wire.unsent() > 0 => fate.begun_part(wire),
            // Everything was handed over.
            _ => (begun.requests, wire.len()),
        }
    }

    /// Nobody waits for the batch any more. Returns how many of its requests have begun to be sent; the others never will.
    #[cold]
    fn give_up(&mut self, begun: &Begun) -> usize {
        let (sent, bytes) = self.sent(begun, self.transport.committed());
        if sent == 0 && self.in_flight.retract().is_some() {
            self.wire.truncate(begun.place);
            self.dirt = begun.dirt;
            self.end = begun.end;
            return 0;
        }
        let cut = sent < begun.requests;
        if cut {
            self.wire.truncate(begun.place + bytes);
            self.dirt.note_unknown();
            if begun.atomic {
                // What was begun with a MULTI has no EXEC any more.
                self.dirt.note(Effects::OPENS_TRANSACTION);
                self.leaves_transaction = true;
            }
        }
        let answered = cut && self.in_flight.cut(sent, bytes).is_some();
        if !answered && let Some(owner) = self.in_flight.last_mut() {
            *owner = Owner::Nobody;
        }
        if begun.blocks {
            self.end = Some(End::Now);
        }
        sent
    }
}

/// A batch that waits for its replies, on a connection that is borrowed or owned.
pub(in crate::redis) struct Running<C: DerefMut<Target = Connection>, B: Batch> {
    /// Both are there until the end.
    parts: Option<(C, B)>,
    begun: Begun,
    limit: Limit,
    /// Known once the batch has to wait: one that is answered at once looks at no clock.
    deadline: Option<Option<Instant>>,
}

impl<C: DerefMut<Target = Connection>, B: Batch> Running<C, B> {
    /// Begins, or fails at once.
    #[inline]
    pub(in crate::redis) fn begin(
        mut connection: C,
        mut batch: B,
        limit: Limit,
    ) -> Result<Self, (C, B::Output)> {
        match connection.begin(&batch) {
            Ok(begun) => {
                batch.release();
                Ok(Self {
                    parts: Some((connection, batch)),
                    begun,
                    limit,
                    deadline: None,
                })
            }
            Err(error) => Err((connection, batch.finish(Answers::failed(&error)))),
        }
    }

    /// The connection, until the end.
    pub(in crate::redis) fn connection(&self) -> Option<&Connection> {
        self.parts.as_ref().map(|(connection, _)| &**connection)
    }

    /// Ready when the replies are there, or will not come: then [`finish`](Self::finish) takes what this gives.
    #[inline]
    pub(in crate::redis) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let Some((connection, _)) = &mut self.parts else {
            return Poll::Ready(Ok(()));
        };
        if self.begun.requests == 0 {
            return Poll::Ready(Ok(()));
        }
        let exchange = connection.poll_exchange(cx, Connection::take_replies);
        if exchange.is_pending() {
            return self.poll_deadline(cx);
        }
        exchange
    }

    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let deadline = match self.deadline {
            Some(deadline) => deadline,
            None => *self
                .deadline
                .insert(self.limit.deadline(self.begun.patience)),
        };
        match (deadline, &mut self.parts) {
            (Some(deadline), Some((connection, _))) => {
                let passed = connection.timer.poll(cx, deadline);
                passed.map(|passed| match passed {
                    Ok(()) => Err(self.limit.timed_out(self.begun.patience)),
                    Err(ended) => Err(connection.node.runtime_ended(&ended)),
                })
            }
            _ => Poll::Pending,
        }
    }

    /// Gives the connection back, with the output.
    #[inline]
    pub(in crate::redis) fn finish(mut self, result: Result<(), Error>) -> (C, B::Output) {
        let Some((mut connection, batch)) = self.parts.take() else {
            unreachable!("only the end takes the connection");
        };
        let output = match result {
            Ok(()) => {
                let complete = |_| Error::Closed;
                let (incoming, frames) = (&connection.incoming, &connection.frames);
                batch.finish(Answers::new(incoming, frames, &complete))
            }
            Err(error) => connection.finish_failed(&self.begun, batch, &error),
        };
        connection.forget_replies();
        (connection, output)
    }
}

impl Connection {
    #[cold]
    fn finish_failed<B: Batch>(&mut self, begun: &Begun, batch: B, error: &Error) -> B::Output {
        let open = begun.requests.saturating_sub(self.frames.len());
        let sent = if error.is_timeout() {
            self.node.meters.timeouts.add(open);
            self.give_up(begun)
        } else {
            self.node.meters.lost.add(open);
            self.failure = Some(error.clone());
            self.sent(begun, self.transport.in_doubt()).0
        };
        tracing::debug!(address = %self.node.address, %error, "requests failed");
        let failure = |number| {
            error.clone().with_outcome(if number < sent {
                Outcome::Unknown
            } else {
                Outcome::NotSent
            })
        };
        batch.finish(Answers::new(&self.incoming, &self.frames, &failure))
    }
}

/// The caller has given up.
impl<C: DerefMut<Target = Connection>, B: Batch> Drop for Running<C, B> {
    fn drop(&mut self) {
        if let Some((connection, _)) = &mut self.parts
            && self.begun.requests > 0
        {
            connection.give_up(&self.begun);
            connection.forget_replies();
        }
    }
}

impl Limit {
    #[cold]
    fn timed_out(&self, patience: Option<Duration>) -> Error {
        let within = self.within.unwrap_or_default();
        Error::Timeout {
            doing: Doing::Request,
            within: within.saturating_add(patience.unwrap_or_default()),
            outcome: Outcome::Unknown,
        }
    }

    /// When it is over, if it begins now.
    fn deadline(&self, patience: Option<Duration>) -> Option<Instant> {
        let within = self.within.zip(patience);
        let own = within.map(|(within, patience)| link::after(within.saturating_add(patience)));
        match (own, self.until) {
            (Some(own), Some(until)) => Some(own.min(until)),
            (own, until) => own.or(until),
        }
    }
}
