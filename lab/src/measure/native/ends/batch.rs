//! A client that sends batches: it writes, then reads.

use std::io::{self, Read, Write};
use std::sync::Arc;

use super::{Ready, SPARE, receive, transmit};
use crate::measure::native::buffer::Flat;
use crate::measure::run::Run;
use crate::measure::traffic::BatchClient;

/// A client that sends batches, with its buffers.
#[derive(Debug)]
pub struct BatchEnd {
    /// What it sends and checks.
    pub traffic: BatchClient,
    /// The batch that is sent.
    pub batch: Box<[u8]>,
    /// What came of it so far.
    pub received: Flat,
    pub(super) unsent: usize,
}

impl BatchEnd {
    /// Client number `id`.
    pub fn new(run: &Arc<Run>, id: u32) -> Self {
        let traffic = BatchClient::new(run.clone(), id);
        let bytes = traffic.batch();
        BatchEnd {
            traffic,
            batch: vec![0; bytes].into_boxed_slice(),
            received: Flat::new(bytes + SPARE),
            unsent: bytes,
        }
    }

    /// Enters the run and prepares the first batch.
    pub fn begin(&mut self) -> bool {
        let new = self.traffic.begin();
        if new {
            self.fill();
        }
        new
    }

    /// Prepares the next batch.
    pub fn fill(&mut self) {
        self.traffic.fill(&mut self.batch);
        self.unsent = 0;
    }

    /// If the batch is back, checks it; says whether to send another one.
    #[inline]
    pub fn on_received(&mut self) -> bool {
        if self.received.filled().len() < self.batch.len() {
            return false;
        }
        let more = self.traffic.on_batch(&self.batch, self.received.filled());
        self.received.consume(self.received.filled().len());
        more
    }

    pub(super) fn on_ready<S: Read + Write>(
        &mut self,
        io: &mut S,
        ready: &mut Ready,
    ) -> io::Result<()> {
        loop {
            if ready.write && self.unsent < self.batch.len() {
                let rest = self.batch.get(self.unsent..).unwrap_or_default();
                self.unsent += transmit(io, rest, ready)?;
            }
            // The whole batch is written before anything of it is read.
            if self.unsent < self.batch.len() || !ready.read {
                return Ok(());
            }
            if receive(io, &mut self.received, ready)? && self.on_received() {
                self.fill();
            }
        }
    }
}
