//! One connection of a subscriber, from the end of its login to its own.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arknet_proto::redis::exchange::{Beat, Heard, Heartbeat};
use arknet_proto::redis::{FrameKind, ProtocolError, Scanner};
use bytes::{Buf, Bytes, BytesMut};

use super::event::{GapReason, Sink, SubscriberEvent};
use super::shared::{Happened, Shared, State};
use crate::lanes;
use crate::link::{self, Deadline, Transport, TransportError};
use crate::redis::client::{Opened, Outgoing};

/// Reads in one turn: then others have theirs.
const READS_PER_TURN: usize = 4;

/// Frames that are looked at under one lock, so that callers are not kept waiting for long.
const FRAMES: usize = 256;

/// Messages of at least this size share the receive buffer; smaller ones are copied, so that one that is kept does not
/// keep the others.
const LARGE: usize = 4 * 1024;

/// What a read offers while a large message comes in: as much as is known to be missing, and no more than so much at
/// once.
const ROOM: usize = 1024 * 1024;

/// How long a server may take to answer where requests have no limit.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long the end of the stream may take to be said.
const GOODBYE: Duration = Duration::from_millis(500);

/// Why a connection is over.
#[derive(Debug)]
pub(super) enum End {
    /// It is broken.
    Lost {
        error: io::Error,
        /// Since when messages may be missing, if there were subscriptions.
        gap: Option<Instant>,
    },
    /// Nobody wants it any more.
    Closed,
}

/// What went wrong in a turn.
enum Stop {
    Broken(io::Error),
    Closed,
}

impl From<TransportError> for Stop {
    fn from(error: TransportError) -> Self {
        Self::Broken(match error {
            TransportError::Io(error) => error,
            #[cfg(feature = "tls")]
            TransportError::Tls(error) => io::Error::other(error),
        })
    }
}

impl From<ProtocolError> for Stop {
    fn from(error: ProtocolError) -> Self {
        Self::Broken(io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

/// See the [module](self).
pub(super) struct Connection<'a> {
    shared: &'a Shared,
    sink: &'a mut Sink,
    transport: Transport,
    received: BytesMut,
    scanner: Scanner,
    outgoing: Outgoing,
    timer: Deadline,
    heartbeat: Heartbeat,
    heard: Instant,
    /// Since when messages may be missing, until everything is subscribed to again.
    gap: Option<Instant>,
    recent: Recent,
    happened: Vec<Happened>,
}

impl<'a> Connection<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        sink: &'a mut Sink,
        gap: Option<Instant>,
        opened: Opened,
    ) -> Self {
        let now = link::now();
        let config = &shared.config;
        let patience = config.config.request_timeout.unwrap_or(PATIENCE);
        {
            let mut state = shared.lock();
            let State { machine, wire, .. } = &mut *state;
            wire.clear();
            machine.handle_connected(opened.speaks, wire);
            state.connected = true;
        }
        Self {
            shared,
            sink,
            transport: opened.transport,
            received: opened.received,
            scanner: Scanner::new(config.config.limits),
            outgoing: Outgoing::default(),
            timer: Deadline::default(),
            heartbeat: Heartbeat::new(config.ping_interval, patience, now),
            heard: now,
            gap,
            recent: Recent::default(),
            happened: Vec::new(),
        }
    }

    /// Runs it to its end; says why it ended.
    pub(super) async fn run(mut self) -> End {
        let stop = match self.understand() {
            Ok(()) => poll_fn(|cx| self.poll(cx)).await,
            Err(stop) => stop,
        };
        let listened = {
            let mut state = self.shared.lock();
            let listened = !state.machine.is_empty();
            state.connected = false;
            state.machine.handle_lost();
            let mut ended = Vec::new();
            while let Some(happened) = state.poll_event() {
                ended.push(happened);
            }
            drop(state);
            for happened in ended {
                self.tell(happened);
            }
            listened
        };
        match stop {
            Stop::Broken(error) => End::Lost {
                error,
                gap: listened.then(|| self.gap.unwrap_or(self.heard)),
            },
            Stop::Closed => {
                self.say_goodbye().await;
                End::Closed
            }
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Stop> {
        lanes::worked();
        match self.turn(cx) {
            Ok(()) => Poll::Pending,
            Err(stop) => Poll::Ready(stop),
        }
    }

    fn turn(&mut self, cx: &mut Context<'_>) -> Result<(), Stop> {
        self.read(cx)?;
        loop {
            let alarm = self.write(cx)?;
            if self.timer.poll(cx, Some(alarm)).is_pending() {
                return Ok(());
            }
            self.look_at_the_clock()?;
        }
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Result<(), Stop> {
        for _ in 0..READS_PER_TURN {
            self.make_room();
            let received = self.transport.poll_receive(cx, &mut self.received);
            let Poll::Ready(count) = received else {
                return Ok(());
            };
            let count = count?;
            if count == 0 {
                return Err(broken(io::ErrorKind::UnexpectedEof, "the server hung up"));
            }
            self.shared.node.meters.received.add(count);
            self.heard = link::now();
            self.heartbeat.handle_heard(self.heard);
            self.understand()?;
        }
        cx.waker().wake_by_ref();
        Ok(())
    }

    /// A message that is known to be large is read in pieces of its size.
    fn make_room(&mut self) {
        if !self.scanner.is_idle() {
            let needed = self.scanner.needed(self.received.len());
            if needed > self.received.capacity() - self.received.len() {
                self.received.reserve(needed.min(ROOM));
            }
        }
    }

    /// Takes the frames that are whole, some hundred at a time.
    fn understand(&mut self) -> Result<(), Stop> {
        loop {
            let more = self.take_frames()?;
            // In the order in which it has come: who is told that a subscription is confirmed finds what was published
            // before in the queue.
            let mut happened = std::mem::take(&mut self.happened);
            let wanted = happened.drain(..).all(|happened| self.tell(happened));
            self.happened = happened;
            if !wanted {
                return Err(Stop::Closed);
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Tells whom it concerns; says whether the application wants to know more.
    fn tell(&mut self, happened: Happened) -> bool {
        match happened {
            Happened::Nothing => true,
            Happened::Answered(mut waiter, answer) => {
                waiter.tell(answer);
                true
            }
            Happened::Event(event) => {
                self.shared.node.meters.pushes.add(1);
                self.give(event)
            }
            Happened::Restored => match self.gap.take() {
                Some(since) => self.give(SubscriberEvent::Gap(GapReason::Disconnected { since })),
                None => true,
            },
        }
    }

    fn give(&mut self, event: SubscriberEvent) -> bool {
        let pushed = self.sink.give(event);
        self.shared.node.meters.dropped.add(pushed.dropped);
        pushed.going_on
    }

    fn take_frames(&mut self) -> Result<bool, Stop> {
        let mut state = self.shared.lock();
        for _ in 0..FRAMES {
            if self.received.is_empty() {
                return Ok(false);
            }
            let Some(frame) = self.scanner.scan(&self.received)? else {
                return Ok(false);
            };
            if frame.len >= LARGE {
                let bytes = self.received.split_to(frame.len).freeze();
                let heard = hear(&mut state, frame.kind, &bytes)?;
                self.happened.extend(self.recent.event(heard, Some(&bytes)));
            } else {
                let bytes = self.received.get(..frame.len).unwrap_or_default();
                let heard = hear(&mut state, frame.kind, bytes)?;
                self.happened.extend(self.recent.event(heard, None));
                self.received.advance(frame.len);
            }
            while let Some(event) = state.poll_event() {
                self.happened.push(event);
            }
        }
        Ok(true)
    }

    /// Hands over what callers want to be sent. Says when the clock is to be looked at.
    fn write(&mut self, cx: &mut Context<'_>) -> Result<Instant, Stop> {
        let now = link::now();
        let mut state = self.shared.lock();
        let State { machine, wire, .. } = &mut *state;
        match self.heartbeat.poll(now) {
            Beat::Gone => return Err(broken(io::ErrorKind::TimedOut, "the server is silent")),
            Beat::Ask => machine.ping(wire),
            Beat::Wait(_) => {}
        }
        let idle = !machine.awaits_reply() && wire.is_empty();
        if state.closing.is_some() && idle {
            return Err(Stop::Closed);
        }
        if self.outgoing.is_empty() {
            std::mem::swap(&mut state.wire, self.outgoing.refill());
        }
        if !self.outgoing.is_empty() {
            self.heartbeat.handle_asked(now);
        }
        let alarm = state.park(cx.waker());
        drop(state);
        // Where there is no room, the socket wakes this task.
        let before = self.outgoing.written();
        let flushed = self.transport.poll_flush(cx, &mut self.outgoing);
        let written = self.outgoing.written() - before;
        self.shared.node.meters.sent.add(written as usize);
        if let Poll::Ready(flushed) = flushed {
            flushed?;
        }
        let beat = match self.heartbeat.poll(now) {
            Beat::Wait(until) => until,
            Beat::Ask | Beat::Gone => now,
        };
        Ok(alarm.map_or(beat, |alarm| alarm.min(beat)))
    }

    fn look_at_the_clock(&mut self) -> Result<(), Stop> {
        let now = link::now();
        let mut state = self.shared.lock();
        state.expire(now);
        match state.closing {
            Some(closing) if closing <= now => Err(Stop::Closed),
            _ => Ok(()),
        }
    }

    /// Ends the stream in good order, if that does not take long.
    async fn say_goodbye(&mut self) {
        let ended = poll_fn(|cx| self.transport.poll_end(cx));
        if !matches!(tokio::time::timeout(GOODBYE, ended).await, Ok(Ok(()))) {
            tracing::debug!(
                "a redis subscriber's connection was cut: it could not be ended in time"
            );
        }
    }
}

/// Takes a frame in.
fn hear<'a>(state: &mut State, kind: FrameKind, frame: &'a [u8]) -> Result<Heard<'a>, Stop> {
    let State { machine, wire, .. } = state;
    let heard = machine.handle_frame(kind, frame, wire);
    heard.map_err(|error| Stop::Broken(io::Error::new(io::ErrorKind::InvalidData, error)))
}

/// The names of the last message: most come by few channels, and need not be copied for each.
#[derive(Default)]
struct Recent {
    channel: Bytes,
    pattern: Bytes,
}

impl Recent {
    /// The event of a message. Its payload is a part of `whole`, or a copy.
    fn event(&mut self, heard: Heard<'_>, whole: Option<&Bytes>) -> Option<Happened> {
        let Heard::Message(publication) = heard else {
            return None;
        };
        Some(Happened::Event(SubscriberEvent::Message {
            channel: same(&mut self.channel, publication.channel),
            pattern: publication
                .pattern
                .map(|pattern| same(&mut self.pattern, pattern)),
            payload: match whole {
                Some(whole) => whole.slice_ref(publication.payload),
                None => Bytes::copy_from_slice(publication.payload),
            },
        }))
    }
}

fn same(known: &mut Bytes, name: &[u8]) -> Bytes {
    if known != name {
        *known = Bytes::copy_from_slice(name);
    }
    known.clone()
}

#[cold]
fn broken(kind: io::ErrorKind, reason: &'static str) -> Stop {
    Stop::Broken(io::Error::new(kind, reason))
}
