//! Requests on a connection: encoded, sent, answered, or given up in good order.

use std::future::poll_fn;
use std::io;
use std::ops::DerefMut;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::encode::Progress;
use super::{Connection, Error};
use crate::drive::stream;
use crate::error::Outcome;
use crate::link;
use crate::mysql::Doing;
use crate::mysql::request::Units;

/// How long requests may take.
#[derive(Clone, Copy, Debug)]
pub(in crate::mysql) struct Limit {
    /// From their call.
    pub(in crate::mysql) within: Option<Duration>,
    /// Nor longer than until then.
    pub(in crate::mysql) until: Option<Instant>,
}

impl Connection {
    /// Runs requests.
    ///
    /// Dropped before a byte was handed over, nothing has happened. Dropped later, what was begun leaves with what comes
    /// next, and its answers are read and thrown away then.
    #[inline]
    pub(in crate::mysql) async fn run<U: Units>(&mut self, units: U, limit: Limit) -> U::Output {
        let mut running = Running::begin(self, units, limit);
        let result = poll_fn(|cx| running.poll(cx)).await;
        running.finish(result).1
    }

    fn begin(&mut self) -> Result<(), Error> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone().with_outcome(Outcome::NotSent));
        }
        // A future that was forgotten, and not dropped, would leave its answers to others.
        if self.conversation.is_broken() || self.flight.has_callers() {
            let error = io::Error::from(io::ErrorKind::ConnectionAborted);
            let error = self.node.lost(error);
            self.failure = Some(error.clone());
            return Err(error.with_outcome(Outcome::NotSent));
        }
        self.look_for_end()?;
        self.drain = None;
        if std::mem::take(&mut self.session.has_moved) {
            self.closes.extend(self.statements.drain());
        }
        self.undo()
    }

    /// Nobody waits for the requests any more. Returns how many of those that have no result have begun to be sent; the others
    /// never will.
    #[cold]
    fn give_up(&mut self, progress: &Progress) -> usize {
        let committed = self.transport.committed();
        self.flight.hand_over(0, committed, &mut self.conversation);
        let begun = self.flight.begun_answers();
        let closes = &mut self.closes;
        let taken_back = self.flight.retract(|statement| closes.push(statement));
        let taken_back = usize::try_from(taken_back).unwrap_or(usize::MAX);
        self.wire
            .truncate(self.wire.end().saturating_sub(taken_back));
        if begun == 0 && progress.is_unanswered() {
            self.dirty = progress.was_dirty();
        }
        self.flight.disown();
        if self.upload.take().is_some() {
            // Anything but the end of the stream would be taken for contents, or for their end.
            self.failure = Some(Error::Closed);
        }
        if begun > 0 {
            self.kill();
        }
        begun
    }
}

/// Requests that wait for their answers, on a connection that is borrowed or owned.
pub(in crate::mysql) struct Running<C: DerefMut<Target = Connection>, U: Units> {
    /// Both are there until the end.
    parts: Option<(C, U)>,
    progress: Progress,
    limit: Limit,
    /// Known once the requests have to wait: those that are answered at once look at no clock.
    deadline: Option<Option<Instant>>,
    /// Why they could not even begin.
    refusal: Option<Error>,
}

impl<C: DerefMut<Target = Connection>, U: Units> Running<C, U> {
    /// Begins.
    #[inline]
    pub(in crate::mysql) fn begin(mut connection: C, mut units: U, limit: Limit) -> Self {
        let refusal = connection.begin().err();
        let mut progress = Progress::new(connection.dirty);
        progress.is_refused = refusal.is_some();
        if refusal.is_none() {
            connection.forget_closed();
            connection.encode(&mut units, &mut progress);
        }
        Self {
            parts: Some((connection, units)),
            progress,
            limit,
            deadline: None,
            refusal,
        }
    }

    /// The connection, until the end.
    pub(in crate::mysql) fn connection(&self) -> Option<&Connection> {
        self.parts.as_ref().map(|(connection, _)| &**connection)
    }

    /// Why they could not even begin, unless that has been told.
    pub(in crate::mysql) fn refusal(&mut self) -> Option<Error> {
        self.refusal.take()
    }

    /// The connection and the requests, until the end.
    pub(in crate::mysql) fn parts(&mut self) -> Option<(&mut Connection, &mut U)> {
        let (connection, units) = self.parts.as_mut()?;
        Some((&mut **connection, units))
    }

    /// How long what follows may take.
    pub(in crate::mysql) fn renew(&mut self) {
        self.deadline = None;
    }

    /// Ready when the answers are there, or will not come: then [`finish`](Self::finish) takes what this gives.
    #[inline]
    pub(in crate::mysql) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if let Some(error) = self.refusal.take() {
            return Poll::Ready(Err(error));
        }
        let Some((connection, units)) = &mut self.parts else {
            return Poll::Ready(Ok(()));
        };
        let progress = &mut self.progress;
        let exchange =
            connection.poll_exchange(cx, |connection| connection.take_answers(units, progress));
        if exchange.is_pending() {
            return self.poll_deadline(cx);
        }
        exchange
    }

    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let deadline = match self.deadline {
            Some(deadline) => deadline,
            None => *self.deadline.insert(self.limit.deadline()),
        };
        match (deadline, &mut self.parts) {
            (Some(deadline), Some((connection, _))) => {
                let passed = connection.timer.poll(cx, deadline);
                passed.map(|passed| match passed {
                    Ok(()) => Err(self.limit.timed_out()),
                    Err(ended) => Err(connection.node.runtime_ended(&ended)),
                })
            }
            _ => Poll::Pending,
        }
    }

    /// They will have no other results than this.
    #[cold]
    pub(in crate::mysql) fn fail(&mut self, error: &Error) {
        if let Some((connection, units)) = &mut self.parts {
            connection.finish_failed(&self.progress, units, error);
            // They were given up, once: a second time would take the session for clean, or end what is lost.
            self.progress.is_refused = true;
        }
    }

    /// Gives the connection back, with the output.
    #[inline]
    pub(in crate::mysql) fn finish(mut self, result: Result<(), Error>) -> (C, U::Output) {
        let Some((mut connection, mut units)) = self.parts.take() else {
            unreachable!("only the end takes the connection");
        };
        if let Err(error) = result {
            connection.finish_failed(&self.progress, &mut units, &error);
        }
        connection.rest();
        (connection, units.finish())
    }
}

impl Connection {
    /// Gives every request that has no result the error, with an outcome of its own.
    #[cold]
    fn finish_failed<U: Units>(&mut self, progress: &Progress, units: &mut U, error: &Error) {
        let mut sent = if progress.is_refused {
            0
        } else if error.is_timeout() {
            self.give_up(progress)
        } else {
            self.failure = Some(error.clone());
            let in_doubt = self.transport.in_doubt();
            self.flight.hand_over(0, in_doubt, &mut self.conversation);
            self.flight.begun_answers()
        };
        tracing::debug!(address = %self.node.address, kind = ?error.kind(), "requests failed");
        for index in 0..units.count() {
            if units.is_settled(index) {
                continue;
            }
            let outcome = if sent > 0 {
                Outcome::Unknown
            } else {
                Outcome::NotSent
            };
            sent = sent.saturating_sub(1);
            units.settle(index, Err(error.clone().with_outcome(outcome)));
        }
    }

    /// Gives an empty receive buffer back.
    #[inline]
    fn rest(&mut self) {
        if self.incoming.is_empty() {
            stream::rest(&mut self.incoming);
        }
    }
}

/// The caller has given up.
impl<C: DerefMut<Target = Connection>, U: Units> Drop for Running<C, U> {
    fn drop(&mut self) {
        if let Some((connection, _)) = &mut self.parts {
            if !self.progress.is_refused {
                connection.give_up(&self.progress);
            }
            connection.rest();
        }
    }
}

impl Limit {
    #[cold]
    fn timed_out(&self) -> Error {
        Error::Timeout {
            doing: Doing::Request,
            within: self.within.unwrap_or_default(),
            outcome: Outcome::Unknown,
        }
    }

    /// When it is over, if it begins now.
    fn deadline(&self) -> Option<Instant> {
        let own = self.within.map(link::after);
        match (own, self.until) {
            (Some(own), Some(until)) => Some(own.min(until)),
            (own, until) => own.or(until),
        }
    }
}
