//! A client that writes a whole window, reads it back whole, and then writes the next.

use std::fmt::Display;
use std::sync::Arc;

use crate::measure::counters::Fault;
use crate::measure::run::{Opening, Phase, Run, Tally};

/// What a client sends in batches, how it checks them, and what it counts.
///
/// In the order of a run: [`begin`](Self::begin) once; then [`fill`](Self::fill), send, receive,
/// [`on_batch`](Self::on_batch), as long as that says so. A batch belongs to the phase in which it
/// began, and the last one of a phase ends after the deadline and still counts. The measured phase
/// follows the warm-up without a pause.
#[derive(Debug)]
pub struct BatchClient {
    run: Arc<Run>,
    id: u32,
    sequence: u64,
    began: u64,
    in_flight: u64,
    phase: Option<(Opening, Tally)>,
}

impl BatchClient {
    /// Client number `id` in `run`, idle until a phase begins.
    pub fn new(run: Arc<Run>, id: u32) -> Self {
        BatchClient {
            run,
            id,
            sequence: 0,
            began: 0,
            in_flight: 0,
            phase: None,
        }
    }

    /// The run that the client belongs to.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Bytes of a batch.
    pub fn batch(&self) -> usize {
        self.run.payload() * self.run.window()
    }

    /// Enters the phase that was opened; says whether there was one and it is new.
    pub fn begin(&mut self) -> bool {
        let (generation, opening) = self.run.opened();
        if generation == 0 || self.sequence > 0 || self.phase.is_some() {
            return false;
        }
        self.phase = Some((opening, Tally::new(opening.phase)));
        true
    }

    /// Writes the next batch into `batch`, and starts its time.
    pub fn fill(&mut self, batch: &mut [u8]) {
        for message in batch.chunks_exact_mut(self.run.payload()) {
            message.copy_from_slice(self.run.pattern().batch(self.sequence, self.id));
            self.sequence += 1;
        }
        self.in_flight = self.run.window() as u64;
        self.began = self.run.clock().now();
    }

    /// Compares the batch that came back with the one that was sent; says whether to send another.
    pub fn on_batch(&mut self, sent: &[u8], received: &[u8]) -> bool {
        let same = sent == received;
        let now = self.run.clock().now();
        if !same {
            self.run.fault(
                Fault::ContentErrors,
                "a client received a batch with other content",
            );
        }
        let Some((opening, tally)) = &mut self.phase else {
            return false;
        };
        tally.sent += self.in_flight;
        tally.messages += self.in_flight;
        tally.latency.record(now.saturating_sub(self.began));
        self.in_flight = 0;
        if now < opening.deadline {
            true
        } else {
            self.next_phase(now)
        }
    }

    /// The connection is gone.
    pub fn on_disconnect(&mut self, error: &dyn Display) {
        if !self.run.is_stopping() {
            let text = format!("a client's connection: {error}");
            self.run.fault(Fault::DisconnectErrors, &text);
        }
        self.finish();
    }

    /// Whether nothing is in flight and nothing more will be sent.
    pub fn is_finished(&self) -> bool {
        self.phase.is_none()
    }

    #[cold]
    fn next_phase(&mut self, now: u64) -> bool {
        match self.phase.take() {
            Some((warmup, mut tally)) if warmup.phase == Phase::Warmup => {
                tally.elapsed = now.saturating_sub(warmup.start);
                self.run.hand_in(tally);
                self.phase = Some((self.run.follow(warmup), Tally::new(Phase::Measured)));
                true
            }
            last => {
                self.phase = last;
                self.finish();
                false
            }
        }
    }

    fn finish(&mut self) {
        if let Some((opening, mut tally)) = self.phase.take() {
            tally.sent += self.in_flight;
            tally.unfinished = self.in_flight;
            tally.elapsed = self.run.clock().now().saturating_sub(opening.start);
            self.run.finish(tally);
        }
    }
}

impl Drop for BatchClient {
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::measure::config::TransportConfig;

    fn run(seconds: Duration) -> Arc<Run> {
        Run::new(&TransportConfig {
            clients: 1,
            window: 2,
            seconds,
            ..Default::default()
        })
    }

    fn echo(client: &mut BatchClient) -> bool {
        let mut batch = vec![0; client.batch()];
        client.fill(&mut batch);
        client.on_batch(&batch.clone(), &batch)
    }

    #[test]
    fn the_measured_phase_follows_the_warm_up_and_the_last_batch_counts() {
        let run = run(Duration::ZERO);
        let mut client = BatchClient::new(run.clone(), 0);
        assert!(!client.begin(), "nothing was opened");
        run.open(Phase::Warmup, Duration::ZERO);
        assert!(client.begin());
        assert!(
            echo(&mut client),
            "the warm-up is over, the measured phase is not"
        );
        assert!(!echo(&mut client));
        assert!(client.is_finished() && run.wait_finished(Duration::ZERO));
        for phase in [Phase::Warmup, Phase::Measured] {
            let total = run.total(phase);
            assert_eq!((total.sent, total.messages, total.latency.len()), (2, 2, 1));
        }
        assert!(!client.begin(), "a client runs once");
    }

    #[test]
    fn a_batch_that_differs_is_a_content_error_and_is_counted_as_the_original_does() {
        let run = run(Duration::from_secs(9));
        let mut client = BatchClient::new(run.clone(), 0);
        run.open(Phase::Measured, Duration::from_secs(9));
        client.begin();
        let mut batch = vec![0; client.batch()];
        client.fill(&mut batch);
        let mut other = batch.clone();
        other[2047] ^= 255;
        assert!(client.on_batch(&batch, &other));
        drop(client);
        assert_eq!(run.counters(Phase::Measured).get(Fault::ContentErrors), 1);
        assert_eq!(run.total(Phase::Measured).messages, 2);
    }

    #[test]
    fn a_batch_that_never_came_back_is_unfinished() {
        let run = run(Duration::from_secs(9));
        let mut client = BatchClient::new(run.clone(), 0);
        run.open(Phase::Measured, Duration::from_secs(9));
        client.begin();
        let mut batch = vec![0; client.batch()];
        client.fill(&mut batch);
        client.on_disconnect(&"gone");
        assert_eq!(
            run.counters(Phase::Measured).get(Fault::UnfinishedMessages),
            2
        );
        assert_eq!(
            run.counters(Phase::Measured).get(Fault::DisconnectErrors),
            1
        );
    }
}
