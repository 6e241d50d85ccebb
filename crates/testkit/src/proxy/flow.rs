//! One direction of one connection: reads from a source, obeys a plan, writes to a sink.
//!
//! It never waits: it says what it waits for, and is driven again.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use mio::net::TcpStream;

use super::plan::{Fault, Plan, Side};

/// One read, and so the most that a direction holds.
const CHUNK: usize = 16 * 1024;

/// Reads and writes per turn, so that one busy connection does not starve the others.
const STEPS_PER_TURN: usize = 64;

/// A throttled direction writes this often in a second: often enough to look like a slow line,
/// not like bursts, and rarely enough for a timer of milliseconds.
const SLICES_PER_SECOND: u64 = 50;

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// What a wait that the clock cannot tell becomes: longer than any test.
const NEVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A socket, with what the poll has said about it. Readiness is edge-triggered: it holds until an
/// operation would block.
pub(super) struct End {
    pub(super) stream: TcpStream,
    pub(super) readable: bool,
    pub(super) writable: bool,
}

impl End {
    /// Bytes read, zero at the end, or nothing when it would block.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Self {
            stream, readable, ..
        } = self;
        try_now(readable, || stream.read(buffer))
    }

    /// Bytes written, or nothing when it would block.
    fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let Self {
            stream, writable, ..
        } = self;
        try_now(writable, || stream.write(bytes))
    }

    /// Reads what has arrived and forgets it, so that closing is no reset; bounded by a turn.
    pub(super) fn drain(&mut self) {
        let mut buffer = [0; 4 * 1024];
        for _ in 0..STEPS_PER_TURN {
            if !matches!(self.stream.read(&mut buffer), Ok(1..)) {
                return;
            }
        }
    }
}

/// Runs `operation` while the socket is `ready`, and notes when it no longer is.
fn try_now(
    ready: &mut bool,
    mut operation: impl FnMut() -> io::Result<usize>,
) -> io::Result<Option<usize>> {
    while *ready {
        match operation() {
            Ok(count) => return Ok(Some(count)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => *ready = false,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// What a turn of a flow came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It waits for one of its sockets, or for another plan.
    Idle,
    /// It has more to do now.
    Busy,
    /// It has nothing to do before this moment.
    Wait(Instant),
    /// The connection ends in order.
    Cut,
    /// The connection ends with a reset to this side.
    Reset(Side),
    /// A socket failed; whoever is left is reset, as without a proxy between.
    Broken,
}

/// What a turn moved.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moved {
    pub(super) passed: u64,
    pub(super) swallowed: u64,
    pub(super) faults: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Passing,
    Stalled,
    Swallowing,
    /// The source has ended, and all that the sink shall see of it has been seen.
    Ended,
}

pub(super) struct Flow {
    plan: Plan,
    /// Bytes handed on under this plan.
    passed: u64,
    phase: Phase,
    source_ended: bool,
    /// What was read and not handed on: `buffer[start..end]`.
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Nothing is written before this.
    due: Option<Instant>,
}

impl Flow {
    pub(super) fn new(plan: Plan) -> Self {
        Self {
            plan,
            passed: 0,
            phase: Phase::Passing,
            source_ended: false,
            buffer: vec![0; CHUNK].into_boxed_slice(),
            start: 0,
            end: 0,
            due: None,
        }
    }

    /// Puts another plan into force. A stall or a black hole ends with it; a half-close cannot be
    /// undone, the receiver has seen the end.
    pub(super) fn apply(&mut self, plan: Plan) {
        let half_closed = self.half_closed();
        self.plan = plan;
        self.passed = 0;
        self.due = None;
        if half_closed {
            self.plan.fault = Some((0, Fault::HalfClose));
        } else if self.phase != Phase::Ended {
            self.phase = Phase::Passing;
        }
    }

    /// Lets a stalled flow go on, at the pace of its plan.
    pub(super) fn resume(&mut self) {
        if self.phase == Phase::Stalled {
            self.phase = Phase::Passing;
            self.plan.fault = None;
        }
    }

    /// Whether nothing of this direction is left to be moved.
    pub(super) fn is_over(&self) -> bool {
        match self.phase {
            Phase::Ended => true,
            Phase::Swallowing => self.source_ended,
            Phase::Passing | Phase::Stalled => false,
        }
    }

    /// Moves what can be moved now.
    pub(super) fn drive(
        &mut self,
        now: Instant,
        source: &mut End,
        sink: &mut End,
        moved: &mut Moved,
    ) -> Turn {
        for _ in 0..STEPS_PER_TURN {
            if let Some(turn) = self.meet_fault(sink, moved) {
                return turn;
            }
            let step = match self.phase {
                Phase::Stalled | Phase::Ended => return Turn::Idle,
                Phase::Swallowing => self.swallow(source, moved),
                Phase::Passing if self.start < self.end => self.hand_on(now, sink, moved),
                Phase::Passing if self.source_ended => {
                    // A sink that is gone already has nothing to see.
                    let _ = sink.stream.shutdown(Shutdown::Write);
                    self.phase = Phase::Ended;
                    return Turn::Idle;
                }
                Phase::Passing => self.take_in(now, source),
            };
            match step {
                Ok(Turn::Busy) => {}
                Ok(turn) => return turn,
                Err(_) => return self.after_failure(),
            }
        }
        Turn::Busy
    }

    /// Carries the plan's fault out once its bytes have passed.
    fn meet_fault(&mut self, sink: &mut End, moved: &mut Moved) -> Option<Turn> {
        let (after, fault) = self.plan.fault?;
        if self.phase != Phase::Passing || self.passed < after {
            return None;
        }
        moved.faults += 1;
        match fault {
            Fault::Cut => return Some(Turn::Cut),
            Fault::Reset(side) => return Some(Turn::Reset(side)),
            Fault::Stall => self.phase = Phase::Stalled,
            Fault::Swallow => self.forget(moved),
            Fault::HalfClose => {
                let _ = sink.stream.shutdown(Shutdown::Write);
                self.forget(moved);
            }
        }
        None
    }

    fn half_closed(&self) -> bool {
        self.phase == Phase::Swallowing && matches!(self.plan.fault, Some((_, Fault::HalfClose)))
    }

    fn forget(&mut self, moved: &mut Moved) {
        moved.swallowed += (self.end - self.start) as u64;
        (self.start, self.end) = (0, 0);
        self.phase = Phase::Swallowing;
    }

    fn swallow(&mut self, source: &mut End, moved: &mut Moved) -> io::Result<Turn> {
        if self.source_ended {
            // The sink is not told: it knows already, or is not to know.
            return Ok(Turn::Idle);
        }
        match source.read(&mut self.buffer)? {
            None => return Ok(Turn::Idle),
            Some(0) => self.source_ended = true,
            Some(count) => moved.swallowed += count as u64,
        }
        Ok(Turn::Busy)
    }

    fn take_in(&mut self, now: Instant, source: &mut End) -> io::Result<Turn> {
        match source.read(&mut self.buffer)? {
            None => return Ok(Turn::Idle),
            Some(0) => self.source_ended = true,
            Some(count) => {
                (self.start, self.end) = (0, count);
                self.hold(now);
            }
        }
        Ok(Turn::Busy)
    }

    fn hand_on(&mut self, now: Instant, sink: &mut End, moved: &mut Moved) -> io::Result<Turn> {
        if let Some(due) = self.due.filter(|due| *due > now) {
            return Ok(Turn::Wait(due));
        }
        let slice = self.start..self.start + self.allowance();
        let Some(written) = sink.write(self.buffer.get(slice).unwrap_or_default())? else {
            return Ok(Turn::Idle);
        };
        self.start += written;
        self.passed += written as u64;
        moved.passed += written as u64;
        self.due = None;
        self.pace(now, written as u64);
        if self.plan.single_bytes && self.start < self.end {
            self.hold(now);
        }
        Ok(Turn::Busy)
    }

    /// How many of the bytes held may be written at once: at least one, because a fault after none
    /// has happened before.
    fn allowance(&self) -> usize {
        let before_fault = self
            .plan
            .fault
            .map_or(u64::MAX, |(after, _)| after.saturating_sub(self.passed));
        let slice = match self.plan.bytes_per_second {
            Some(rate) => (rate.get() / SLICES_PER_SECOND).max(1),
            None => u64::MAX,
        };
        let unit = if self.plan.single_bytes { 1 } else { u64::MAX };
        let allowed = usize::try_from(before_fault.min(slice).min(unit)).unwrap_or(usize::MAX);
        allowed.min(self.end - self.start)
    }

    /// Begins a chunk: it waits for the plan's delay, after whatever the pace demands.
    fn hold(&mut self, now: Instant) {
        if let Some(delay) = self.plan.delay {
            self.wait_from(now, delay);
        }
    }

    /// Makes the next write wait for as long as `written` bytes take at the plan's rate.
    fn pace(&mut self, now: Instant, written: u64) {
        if let Some(rate) = self.plan.bytes_per_second {
            let nanos = u128::from(written) * NANOS_PER_SECOND / u128::from(rate.get());
            self.wait_from(
                now,
                Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)),
            );
        }
    }

    /// Adds `wait` to what the next write waits for already.
    fn wait_from(&mut self, now: Instant, wait: Duration) {
        let from = self.due.map_or(now, |due| due.max(now));
        self.due = from.checked_add(wait).or(from.checked_add(NEVER));
    }

    /// A peer that fails behind a black hole goes unnoticed, as one behind a dead line does.
    fn after_failure(&mut self) -> Turn {
        if self.phase == Phase::Swallowing {
            self.source_ended = true;
            return Turn::Idle;
        }
        Turn::Broken
    }
}
