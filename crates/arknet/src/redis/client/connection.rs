//! One connection, from the end of its handshake to its own.
//!
//! A turn reads what has arrived and completes it, takes what callers have encoded and writes it, and looks at the clock
//! if a deadline has come. It never waits for the one before it does the other: a server that does not read before its
//! replies are taken is not waited for.

use std::future::poll_fn;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arknet_proto::redis::exchange::{Beat, Heartbeat};
use arknet_proto::redis::{Command, ProtocolError};

use super::finish::{Lost, with_scratch};
use super::incoming::Incoming;
use super::ledger::{Ready, Ticket, Unasked};
use super::open::Opened;
use super::outgoing::Outgoing;
use super::shared::{Shared, State};
use super::slot::Owner;
use crate::lanes;
use crate::link::{self, Deadline, Transport, TransportError};

/// Reads in one turn: then others have theirs.
const READS_PER_TURN: usize = 4;

/// Deadlines are looked at no more often: the precision of the runtime's timers.
const TICK: Duration = Duration::from_millis(1);

/// A server that owes a reply whose deadline has passed is given as much time again, and no less than this, before it
/// counts as gone.
const GRACE: Duration = Duration::from_secs(1);

/// How long a server that was asked whether it is there may take to answer where requests have no limit.
const PATIENCE: Duration = Duration::from_secs(5);

/// The same without a limit for requests: the connection is not given up because of them.
const NEVER: Duration = Duration::from_secs(3600);

/// A server that hears but does not answer counts as gone after so many times the [grace](GRACE), whatever it sends.
const GRACES: u32 = 4;

/// A connection to a server that has become read-only is given up, so that the name is resolved anew; not sooner than
/// this after it was made, for that may not help.
const RETIRE_AFTER: Duration = Duration::from_secs(1);

/// How long the end of the stream may take to be said.
const GOODBYE: Duration = Duration::from_millis(500);

/// Why a connection is over.
#[derive(Debug)]
pub(super) enum End {
    /// It is broken.
    Lost(Lost),
    /// The server takes no writes any more; nothing was in flight.
    Retired,
    /// The client is closed, or nobody holds it any more.
    Closed,
}

impl From<TransportError> for End {
    fn from(error: TransportError) -> Self {
        Self::Lost(match error {
            TransportError::Io(error) => Lost::Network(Arc::new(error)),
            #[cfg(feature = "tls")]
            TransportError::Tls(error) => Lost::Tls(Arc::new(error)),
        })
    }
}

/// See the [module](self).
pub(super) struct Connection<'a> {
    shared: &'a Shared,
    transport: Transport,
    incoming: Incoming,
    outgoing: Outgoing,
    /// Where this connection's bytes begin in the stream of all requests.
    begin: u64,
    ready: Ready,
    timer: Deadline,
    alarm: Option<Instant>,
    made: Instant,
    grace: Duration,
    /// Something has arrived since `heard_at` was noted.
    heard: bool,
    heard_at: Instant,
    /// Whether the server is asked, while nothing else happens, if it is there.
    heartbeat: Option<Heartbeat>,
    /// When the heartbeat wants to be looked at.
    beat: Option<Instant>,
    /// The batch that waits has waited for one turn already.
    coalesced: bool,
    read_only: bool,
}

impl<'a> Connection<'a> {
    pub(super) fn new(shared: &'a Shared, opened: Opened) -> Self {
        let now = link::now();
        let timeout = shared.config.request_timeout;
        let interval = shared.config.ping_interval;
        let patience = timeout.unwrap_or(PATIENCE);
        Self {
            shared,
            transport: opened.transport,
            incoming: Incoming::new(shared.config.limits, opened.received),
            outgoing: Outgoing::default(),
            begin: shared.lock().ledger.taken(),
            ready: Ready::default(),
            timer: Deadline::default(),
            alarm: None,
            made: now,
            grace: timeout.map_or(NEVER, |timeout| timeout.max(GRACE)),
            heard: false,
            heard_at: now,
            heartbeat: interval.map(|interval| Heartbeat::new(interval, patience, now)),
            beat: interval.map(|interval| now + interval),
            coalesced: false,
            read_only: false,
        }
    }

    /// Runs it to its end; says why it ended. What is in flight then has failed.
    pub(super) async fn run(mut self) -> End {
        let end = match self.complete() {
            Ok(()) => poll_fn(|cx| self.poll(cx)).await,
            Err(end) => end,
        };
        self.give_up(&end);
        if matches!(end, End::Closed | End::Retired) {
            self.say_goodbye().await;
        }
        end
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        lanes::worked();
        match self.turn(cx) {
            Ok(()) => Poll::Pending,
            Err(end) => Poll::Ready(end),
        }
    }

    #[inline]
    fn turn(&mut self, cx: &mut Context<'_>) -> Result<(), End> {
        self.read(cx)?;
        self.write(cx)?;
        while self
            .timer
            .poll(cx, earlier(self.alarm, self.beat))
            .is_ready()
        {
            self.look_at_the_clock(cx)?;
        }
        Ok(())
    }

    #[inline]
    fn read(&mut self, cx: &mut Context<'_>) -> Result<(), End> {
        for _ in 0..READS_PER_TURN {
            let received = self.transport.poll_receive(cx, self.incoming.buffer());
            let Poll::Ready(count) = received else {
                return Ok(());
            };
            let count = count?;
            if count == 0 {
                return Err(lost(io::ErrorKind::UnexpectedEof, "the server hung up"));
            }
            self.heard = true;
            self.shared.node.meters.received.add(count);
            self.incoming.note_read(count);
            self.complete()?;
        }
        cx.waker().wake_by_ref();
        Ok(())
    }

    /// Completes the replies that are whole, some hundred at a time.
    #[inline]
    fn complete(&mut self) -> Result<(), End> {
        while let Some(scanned) = self.incoming.scan().map_err(broken)? {
            self.read_only |= scanned.read_only;
            self.shared.node.meters.errors.add(scanned.errors);
            if scanned.refuses_multi {
                self.shared.forget_multi();
            }
            let delivered = self.deliver();
            self.push();
            self.incoming.settle();
            self.tell();
            if delivered.is_err() {
                return Err(lost(
                    io::ErrorKind::InvalidData,
                    "the server sent a reply that nobody asked for",
                ));
            }
        }
        Ok(())
    }

    #[inline]
    fn deliver(&mut self) -> Result<(), Unasked> {
        let wave = self.incoming.wave();
        self.shared.node.meters.replies.add(wave.frames.len());
        let mut state = self.shared.lock();
        state.counts.replies += wave.frames.len() as u64;
        state.ledger.deliver(&wave, &mut self.ready)
    }

    fn push(&mut self) {
        let (mut count, mut dropped) = (0, 0);
        for push in self.incoming.pushes() {
            dropped += self.shared.receivers.push(push);
            count += 1;
        }
        if count > 0 {
            self.shared.lock().counts.pushes += count as u64;
            self.shared.node.meters.pushes.add(count);
            self.shared.node.meters.dropped.add(dropped);
        }
    }

    #[inline]
    fn tell(&mut self) {
        tell(self.shared, &mut self.ready);
    }

    /// Hands over what is left, then what callers have encoded meanwhile.
    #[inline]
    fn write(&mut self, cx: &mut Context<'_>) -> Result<(), End> {
        if (!self.outgoing.is_empty() || self.transport.has_own_bytes()) && !self.flush(cx)? {
            // There is no room: requests need not wake this task, the socket does.
            self.alarm = self.shared.lock().park(cx.waker(), false);
            return Ok(());
        }
        if self.take(cx)? {
            self.flush(cx)?;
        }
        Ok(())
    }

    #[inline]
    fn flush(&mut self, cx: &mut Context<'_>) -> Result<bool, End> {
        let before = self.outgoing.written();
        let flushed = self.transport.poll_flush(cx, &mut self.outgoing);
        let written = self.outgoing.written() - before;
        self.shared.node.meters.sent.add(written as usize);
        match flushed {
            Poll::Ready(flushed) => {
                flushed?;
                Ok(true)
            }
            Poll::Pending => Ok(false),
        }
    }

    /// Takes what callers have encoded; the next request after that wakes this task. Says whether there was anything.
    #[inline]
    fn take(&mut self, cx: &Context<'_>) -> Result<bool, End> {
        let mut state = self.shared.lock();
        let several = state.ledger.batches() > 1;
        if several && !self.coalesced && state.ledger.has_queued() {
            // Others are about to submit: they were woken together. One that is alone is not kept waiting.
            self.coalesced = true;
            cx.waker().wake_by_ref();
            return Ok(false);
        }
        self.coalesced = false;
        let lag = state.lag(several);
        let taken = if self.may_go_on(&state)? {
            state.ledger.take_wire(self.outgoing.refill(), lag)
        } else {
            false
        };
        self.alarm = state.park(cx.waker(), true);
        Ok(taken)
    }

    /// Whether more may be sent.
    fn may_go_on(&mut self, state: &State) -> Result<bool, End> {
        if state.ledger.batches() == 0 && (state.closing.is_some() || !self.shared.has_handles()) {
            return Err(End::Closed);
        }
        if !self.read_only {
            return Ok(true);
        }
        if link::now().saturating_duration_since(self.made) < RETIRE_AFTER {
            self.read_only = false;
            return Ok(true);
        }
        if state.ledger.in_flight() == 0 {
            return Err(End::Retired);
        }
        Ok(false)
    }

    #[cold]
    fn look_at_the_clock(&mut self, cx: &Context<'_>) -> Result<(), End> {
        let now = link::now();
        let mut state = self.shared.lock();
        let expired = state.ledger.expire(now, false, &mut self.ready);
        state.counts.timed_out += expired.requests as u64;
        self.shared.node.meters.timeouts.add(expired.requests);
        if std::mem::take(&mut self.heard) {
            self.heard_at = now;
            if let Some(heartbeat) = &mut self.heartbeat {
                heartbeat.handle_heard(now);
            }
        }
        let gone_at = self.gone_at(&state);
        let next = earlier(expired.next, gone_at).map(|next| next.max(now + TICK));
        state.set_alarm(next);
        self.alarm = state.next_alarm();
        let cut = state.closing.is_some_and(|closing| closing <= now);
        let silent = self.beat(now, &mut state, cx);
        drop(state);
        self.tell();
        if cut {
            return Err(End::Closed);
        }
        if silent || gone_at.is_some_and(|gone_at| gone_at <= now) {
            return Err(lost(
                io::ErrorKind::TimedOut,
                "the server does not answer any more",
            ));
        }
        Ok(())
    }

    /// Asks a silent server whether it is there; says whether it has not answered in time.
    fn beat(&mut self, now: Instant, state: &mut State, cx: &Context<'_>) -> bool {
        let Some(heartbeat) = &mut self.heartbeat else {
            return false;
        };
        let mut next = heartbeat.poll(now);
        if next == Beat::Ask && state.ledger.batches() == 0 {
            state.ledger.submit(1, None, |wire| {
                Command::new("PING").encode_to(wire);
                Owner::Nobody
            });
            cx.waker().wake_by_ref();
            heartbeat.handle_asked(now);
            next = heartbeat.poll(now);
        }
        let again = now + self.shared.config.ping_interval.unwrap_or(PATIENCE);
        self.beat = Some(match next {
            // That it was heard is noticed at the next look.
            Beat::Wait(until) => until.min(again),
            // What is in flight has its own deadline, or waits for as long as it takes.
            Beat::Ask => again,
            Beat::Gone => return true,
        });
        false
    }

    /// When the server counts as gone, as far as is known now.
    fn gone_at(&self, state: &State) -> Option<Instant> {
        let deadline = state.ledger.first_deadline()?;
        let silent = deadline.max(self.heard_at) + self.grace;
        Some(silent.min(deadline + self.grace * GRACES))
    }

    /// Fails what is in flight.
    fn give_up(&mut self, end: &End) {
        let cause = match end {
            End::Lost(cause) => cause.clone(),
            End::Retired | End::Closed => Lost::Closed,
        };
        let written = self.begin + self.outgoing.written() + self.transport.in_doubt() as u64;
        let mut state = self.shared.lock();
        let pending = &self.outgoing.bytes;
        let lost = state.ledger.lose(written, pending, &cause, &mut self.ready);
        state.counts.lost += lost as u64;
        self.shared.node.meters.lost.add(lost);
        if matches!(end, End::Closed) {
            state.cut += lost;
        }
        drop(state);
        self.tell();
    }

    /// Ends the stream in good order, if that does not take long.
    async fn say_goodbye(&mut self) {
        let ended = poll_fn(|cx| self.transport.poll_end(cx));
        if !matches!(tokio::time::timeout(GOODBYE, ended).await, Ok(Ok(()))) {
            tracing::debug!("a redis connection was cut: it could not be ended in time");
        }
    }
}

/// Runs a callback with its result. What it does wrong is its own affair.
fn call(shared: &Shared, ticket: Ticket) {
    with_scratch(|scratch| {
        let fetched = shared.lock().ledger.fetch_callback(ticket, scratch);
        let Some((callback, failure)) = fetched else {
            return;
        };
        let called = catch_unwind(AssertUnwindSafe(|| {
            callback.complete(scratch, failure.as_ref(), &shared.node.address);
        }));
        if called.is_err() {
            tracing::error!("a callback of a redis client panicked");
        }
    });
}

/// Wakes and calls those whose result is there.
pub(super) fn tell(shared: &Shared, ready: &mut Ready) {
    for waker in ready.wakers.drain(..) {
        waker.wake();
    }
    for ticket in ready.callbacks.drain(..) {
        call(shared, ticket);
    }
}

#[cold]
fn lost(kind: io::ErrorKind, reason: &'static str) -> End {
    End::Lost(Lost::Network(Arc::new(io::Error::new(kind, reason))))
}

#[cold]
fn broken(error: ProtocolError) -> End {
    End::Lost(Lost::Protocol(Arc::new(error)))
}

pub(super) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
