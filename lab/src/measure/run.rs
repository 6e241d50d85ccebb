//! What all ends of one measurement share: the clock, the phases, the counters and the results.
//!
//! A control thread opens a phase and waits; clients stop by themselves at its deadline, hand in
//! their results once nothing is in flight, and the last one wakes the control thread. Nothing here
//! is touched on the path that is measured, except that a client reads the phase when it begins.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::clock::{Clock, nanos};
use super::config::TransportConfig;
use super::counters::{Counters, Fault};
use super::latency::Latency;
use super::traffic::Pattern;

/// The part of a run that a message belongs to; its value is the tag in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Traffic that is checked but not counted.
    Warmup = 0,
    /// Traffic that counts.
    Measured = 1,
}

/// A phase with its times, in nanoseconds of the run's clock.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// Which phase.
    pub phase: Phase,
    /// When it begins.
    pub start: u64,
    /// When clients stop sending.
    pub deadline: u64,
}

/// What one client did in one phase.
#[derive(Debug)]
pub struct Tally {
    /// Which phase.
    pub phase: Phase,
    /// Messages sent.
    pub sent: u64,
    /// Messages that came back.
    pub messages: u64,
    /// Messages that were still in flight when the client ended.
    pub unfinished: u64,
    /// From the phase's nominal start to the client's end, in nanoseconds.
    pub elapsed: u64,
    /// Round-trip times.
    pub latency: Latency,
}

impl Tally {
    /// Nothing done yet.
    pub fn new(phase: Phase) -> Self {
        let latency = Latency::new();
        Tally {
            phase,
            sent: 0,
            messages: 0,
            unfinished: 0,
            elapsed: 0,
            latency,
        }
    }
}

/// What the ends of one measurement share.
#[derive(Debug)]
pub struct Run {
    clock: Clock,
    pattern: Pattern,
    payload: usize,
    window: usize,
    work: u32,
    clients: usize,
    seconds: u64,
    counters: [Counters; 2],
    phase: AtomicU8,
    generation: AtomicU64,
    start: AtomicU64,
    deadline: AtomicU64,
    stopping: AtomicBool,
    board: Mutex<Board>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Board {
    finished: usize,
    tallies: Vec<Tally>,
    errors: [Option<String>; 2],
}

impl Run {
    /// A run of `config` in which no phase is open yet.
    pub fn new(config: &TransportConfig) -> Arc<Self> {
        Arc::new(Run {
            clock: Clock::start(),
            pattern: Pattern::new(config.payload),
            payload: config.payload,
            window: config.window,
            work: config.work,
            clients: config.clients,
            seconds: nanos(config.seconds),
            counters: Default::default(),
            phase: AtomicU8::new(Phase::Warmup as u8),
            generation: AtomicU64::new(0),
            start: AtomicU64::new(0),
            deadline: AtomicU64::new(0),
            stopping: AtomicBool::new(false),
            board: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// The clock of all stamps.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The content of messages.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Bytes of a message.
    pub fn payload(&self) -> usize {
        self.payload
    }

    /// Messages in flight per client.
    pub fn window(&self) -> usize {
        self.window
    }

    /// Steps of work per message.
    pub fn work(&self) -> u32 {
        self.work
    }

    /// Opens a phase that lasts for `duration` from now on; clients see it when they begin.
    pub fn open(&self, phase: Phase, duration: Duration) -> Opening {
        self.board().finished = 0;
        let start = self.clock.now();
        let deadline = start.saturating_add(nanos(duration));
        self.phase.store(phase as u8, Ordering::Relaxed);
        self.start.store(start, Ordering::Relaxed);
        self.deadline.store(deadline, Ordering::Relaxed);
        self.generation.fetch_add(1, Ordering::Release);
        Opening {
            phase,
            start,
            deadline,
        }
    }

    /// The phase that was opened last and its number; zero when none was opened yet.
    pub fn opened(&self) -> (u64, Opening) {
        let generation = self.generation.load(Ordering::Acquire);
        let start = self.start.load(Ordering::Relaxed);
        let deadline = self.deadline.load(Ordering::Relaxed);
        (
            generation,
            Opening {
                phase: self.phase(),
                start,
                deadline,
            },
        )
    }

    /// The measured phase that follows a warm-up without a pause, as batches do it.
    pub fn follow(&self, warmup: Opening) -> Opening {
        self.phase.store(Phase::Measured as u8, Ordering::Relaxed);
        let start = warmup.deadline;
        Opening {
            phase: Phase::Measured,
            start,
            deadline: start.saturating_add(self.seconds),
        }
    }

    /// Counts a fault in the current phase; the first text of a phase is kept.
    #[cold]
    pub fn fault(&self, fault: Fault, text: &str) {
        let phase = self.phase();
        self.counters(phase).add(fault, 1);
        let mut board = self.board();
        if let Some(error) = board.errors.get_mut(phase as usize) {
            error.get_or_insert_with(|| text.to_owned());
        }
    }

    /// The counters of a phase.
    pub fn counters(&self, phase: Phase) -> &Counters {
        let [warmup, measured] = &self.counters;
        match phase {
            Phase::Warmup => warmup,
            Phase::Measured => measured,
        }
    }

    /// The first failure of a phase.
    pub fn first_error(&self, phase: Phase) -> Option<String> {
        self.board().errors.get(phase as usize).cloned().flatten()
    }

    /// Takes the results of a client's phase that another one follows at once.
    pub fn hand_in(&self, tally: Tally) {
        if tally.unfinished > 0 {
            self.counters(tally.phase)
                .add(Fault::UnfinishedMessages, tally.unfinished);
        }
        self.board().tallies.push(tally);
    }

    /// Takes the results of a client that has nothing more to do in the phase that was opened.
    pub fn finish(&self, tally: Tally) {
        self.hand_in(tally);
        let mut board = self.board();
        board.finished += 1;
        if board.finished >= self.clients {
            self.changed.notify_all();
        }
    }

    /// Waits until every client has finished or `limit` has passed; says whether they all have.
    pub fn wait_finished(&self, limit: Duration) -> bool {
        let waiting = |board: &mut Board| board.finished < self.clients;
        let waited = self
            .changed
            .wait_timeout_while(self.board(), limit, waiting);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// All results of a phase as one: sums, the longest time, merged latencies.
    pub fn total(&self, phase: Phase) -> Tally {
        let mut total = Tally::new(phase);
        for tally in self
            .board()
            .tallies
            .iter()
            .filter(|tally| tally.phase == phase)
        {
            total.sent += tally.sent;
            total.messages += tally.messages;
            total.unfinished += tally.unfinished;
            total.elapsed = total.elapsed.max(tally.elapsed);
            total.latency.merge(&tally.latency);
        }
        total
    }

    /// From now on a closed connection is nobody's fault.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// Whether the run is over.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    fn phase(&self) -> Phase {
        if self.phase.load(Ordering::Relaxed) == 0 {
            Phase::Warmup
        } else {
            Phase::Measured
        }
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        // A client that panicked is counted as such; what others handed in is still whole.
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(clients: usize) -> Arc<Run> {
        Run::new(&TransportConfig {
            clients,
            ..Default::default()
        })
    }

    #[test]
    fn the_last_client_ends_the_wait() {
        let run = run(2);
        run.open(Phase::Measured, Duration::ZERO);
        run.finish(Tally::new(Phase::Measured));
        assert!(!run.wait_finished(Duration::ZERO));
        run.finish(Tally {
            unfinished: 3,
            messages: 2,
            ..Tally::new(Phase::Measured)
        });
        assert!(run.wait_finished(Duration::ZERO));
        assert_eq!(run.total(Phase::Measured).messages, 2);
        assert_eq!(
            run.counters(Phase::Measured).get(Fault::UnfinishedMessages),
            3
        );
        assert_eq!(run.counters(Phase::Warmup).total(), 0);
    }

    #[test]
    fn a_new_phase_has_a_new_number_and_waits_anew() {
        let run = run(1);
        assert_eq!(run.opened().0, 0);
        run.open(Phase::Warmup, Duration::ZERO);
        run.finish(Tally::new(Phase::Warmup));
        let opening = run.open(Phase::Measured, Duration::from_nanos(7));
        assert!(!run.wait_finished(Duration::ZERO));
        let (generation, seen) = run.opened();
        assert_eq!((generation, seen.phase), (2, Phase::Measured));
        assert_eq!(seen.deadline, opening.start + 7);
    }

    #[test]
    fn faults_are_counted_in_their_phase_and_the_first_text_is_kept() {
        let run = run(1);
        run.open(Phase::Warmup, Duration::ZERO);
        run.fault(Fault::ContentErrors, "first");
        run.fault(Fault::ContentErrors, "second");
        run.open(Phase::Measured, Duration::ZERO);
        run.fault(Fault::OrderErrors, "third");
        assert_eq!(run.counters(Phase::Warmup).get(Fault::ContentErrors), 2);
        assert_eq!(run.first_error(Phase::Warmup).as_deref(), Some("first"));
        assert_eq!(run.first_error(Phase::Measured).as_deref(), Some("third"));
    }
}
