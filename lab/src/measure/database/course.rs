//! What all requests of a run share: how many are left, what went wrong, how long they took.
//!
//! A run is a fixed number of operations, warm-up first, each phase with as many workers as
//! operations may be outstanding. A worker takes a ticket for its next operation and ends when
//! there are none left; the last one to end wakes the thread that waits for the phase.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::measure::latency::Latency;

/// How long a phase may go on after its last completed operation: more than any request's own
/// deadline, so that only a reply that is lost is waited for in vain.
const STALLED: Duration = Duration::from_secs(20);

/// How often the waiting thread looks whether operations still complete.
const LOOK: Duration = Duration::from_millis(500);

/// One phase of a run.
#[derive(Debug)]
pub(super) struct Phase {
    tickets: u64,
    taken: AtomicU64,
    failed: AtomicBool,
    /// The same as on the board, for who looks without a lock.
    working: AtomicUsize,
    board: Mutex<Board>,
    changed: Condvar,
}

#[derive(Debug)]
struct Board {
    working: usize,
    operations: u64,
    errors: u64,
    error: Option<String>,
    latency: Latency,
}

/// What came of a phase.
#[derive(Debug)]
pub(super) struct Total {
    /// Operations whose reply was right.
    pub(super) operations: u64,
    /// Operations that failed, or whose reply was wrong.
    pub(super) errors: u64,
    /// The first failure.
    pub(super) error: Option<String>,
    /// Response times of the right ones.
    pub(super) latency: Latency,
}

impl Phase {
    /// A phase of so many operations for so many workers.
    pub(super) fn new(operations: u64, workers: usize) -> Arc<Self> {
        Arc::new(Phase {
            tickets: operations,
            taken: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            working: AtomicUsize::new(workers),
            board: Mutex::new(Board {
                working: workers,
                operations: 0,
                errors: 0,
                error: None,
                latency: Latency::new(),
            }),
            changed: Condvar::new(),
        })
    }

    /// A worker of this phase; it ends when it is dropped.
    pub(super) fn worker(self: &Arc<Self>, payload: usize) -> Worker {
        let mut bytes = vec![0; payload];
        for (byte, n) in bytes.iter_mut().zip(0_usize..) {
            // Every value of a byte, line ends and zeros among them.
            *byte = (n.wrapping_mul(37) % 256) as u8;
        }
        Worker {
            phase: self.clone(),
            payload: bytes,
            begun: Instant::now(),
            operations: 0,
            errors: 0,
            error: None,
            latency: Latency::new(),
        }
    }

    /// Waits for the end of all workers, or until nothing has completed for 20 s: then what is
    /// missing counts as one error.
    pub(super) fn wait(&self) -> Total {
        let mut watch = Watch::new(Instant::now());
        let mut board = self.board();
        while board.working > 0 && !watch.has_stalled(self, Instant::now()) {
            let waited = self.changed.wait_timeout(board, LOOK);
            board = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(board);
        self.total()
    }

    /// Whether all workers have ended, without a lock.
    pub(super) fn is_over(&self) -> bool {
        self.working.load(Ordering::Acquire) == 0
    }

    /// What has come of it; what has not ended counts as one error.
    pub(super) fn total(&self) -> Total {
        let mut board = self.board();
        if board.working > 0 {
            board.errors += 1;
            let text = format!("nothing completed for {} s", STALLED.as_secs());
            board.error.get_or_insert(text);
        }
        Total {
            operations: board.operations,
            errors: board.errors,
            error: board.error.take(),
            latency: std::mem::take(&mut board.latency),
        }
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        // What others handed in is whole even if one of them panicked.
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks whether operations still complete.
#[derive(Debug)]
pub(super) struct Watch {
    taken: u64,
    since: Instant,
}

impl Watch {
    /// From now on.
    pub(super) fn new(now: Instant) -> Self {
        Watch {
            taken: 0,
            since: now,
        }
    }

    /// Whether nothing has completed for 20 s.
    pub(super) fn has_stalled(&mut self, phase: &Phase, now: Instant) -> bool {
        let taken = phase.taken.load(Ordering::Relaxed);
        if taken != self.taken {
            self.taken = taken;
            self.since = now;
        }
        now.saturating_duration_since(self.since) > STALLED
    }
}

/// One of the operations that may be outstanding.
#[derive(Debug)]
pub(super) struct Worker {
    phase: Arc<Phase>,
    payload: Vec<u8>,
    begun: Instant,
    operations: u64,
    errors: u64,
    error: Option<String>,
    latency: Latency,
}

impl Worker {
    /// Begins an operation; `false` when there are none left, or one has failed.
    pub(super) fn begin(&mut self) -> bool {
        if self.phase.failed.load(Ordering::Relaxed) {
            return false;
        }
        let ticket = self.phase.taken.fetch_add(1, Ordering::Relaxed);
        if ticket >= self.phase.tickets {
            return false;
        }
        if let Some(number) = self.payload.first_chunk_mut() {
            *number = ticket.to_le_bytes();
        }
        self.begun = Instant::now();
        true
    }

    /// What the operation that was begun sends and wants back.
    pub(super) fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Ends the operation; says whether it was right.
    pub(super) fn end<R: AsRef<[u8]>, E: std::fmt::Display>(
        &mut self,
        reply: Result<R, E>,
    ) -> bool {
        let time = self.begun.elapsed();
        match reply {
            Ok(reply) if reply.as_ref() == self.payload => {
                self.operations += 1;
                self.latency.record(crate::measure::clock::nanos(time));
                return true;
            }
            Ok(reply) => {
                let bytes = reply.as_ref().len();
                self.fail(format!("a reply of {bytes} bytes is not what was sent"));
            }
            Err(error) => self.fail(error.to_string()),
        }
        false
    }

    /// Ends the operation as failed, and with it the phase: a run with an error is invalid anyway.
    pub(super) fn fail(&mut self, error: String) {
        self.errors += 1;
        self.error.get_or_insert(error);
        self.phase.failed.store(true, Ordering::Relaxed);
    }
}

impl Drop for Worker {
    /// Hands in what it did.
    fn drop(&mut self) {
        let mut board = self.phase.board();
        board.operations += self.operations;
        board.errors += self.errors;
        board.latency.merge(&self.latency);
        if let Some(error) = self.error.take() {
            board.error.get_or_insert(error);
        }
        board.working = board.working.saturating_sub(1);
        if board.working == 0 {
            self.phase.changed.notify_all();
        }
        self.phase.working.store(board.working, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Reply = Result<Vec<u8>, String>;

    #[test]
    fn workers_share_the_operations_and_the_last_one_ends_the_phase() {
        let phase = Phase::new(5, 2);
        let (mut one, mut other) = (phase.worker(8), phase.worker(8));
        let mut numbers = Vec::new();
        for turn in 0..5 {
            let worker = if turn % 2 == 0 { &mut one } else { &mut other };
            assert!(worker.begin());
            let payload = worker.payload().to_vec();
            numbers.push(payload.clone());
            assert!(worker.end(Reply::Ok(payload)));
        }
        assert!(!one.begin() && !other.begin());
        numbers.dedup();
        assert_eq!(numbers.len(), 5, "every request differs");
        drop((one, other));
        let total = phase.wait();
        assert_eq!((total.operations, total.errors), (5, 0));
        assert_eq!(total.latency.len(), 5);
    }

    #[test]
    fn a_wrong_reply_is_an_error_and_ends_the_phase() {
        let phase = Phase::new(5, 2);
        let (mut one, mut other) = (phase.worker(8), phase.worker(8));
        assert!(one.begin());
        assert!(!one.end(Reply::Ok(b"else".to_vec())));
        assert!(!other.begin());
        drop((one, other));
        let total = phase.wait();
        assert_eq!((total.operations, total.errors), (0, 1));
        let expected = "a reply of 4 bytes is not what was sent";
        assert_eq!(total.error.as_deref(), Some(expected));
    }
}
