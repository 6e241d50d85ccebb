//! A client that keeps its window full: it reads and writes at the same time.

use std::io::{self, Read, Write};
use std::sync::Arc;

use super::{Ready, receive, transmit, windowed_room};
use crate::measure::native::buffer::Flat;
use crate::measure::run::Run;
use crate::measure::traffic::ClientTraffic;

/// A client that keeps its window full, with its buffers.
#[derive(Debug)]
pub struct WindowedEnd {
    /// What it sends and checks.
    pub traffic: ClientTraffic,
    /// What came and is not yet a whole message.
    pub received: Flat,
    /// What is to be sent.
    pub out: Flat,
    payload: usize,
}

impl WindowedEnd {
    /// Client number `id`.
    pub fn new(run: &Arc<Run>, id: u32) -> Self {
        let payload = run.payload();
        WindowedEnd {
            traffic: ClientTraffic::new(run.clone(), id),
            received: Flat::new(windowed_room(run)),
            out: Flat::new(run.window() * payload),
            payload,
        }
    }

    /// Enters a new phase and prepares the first window.
    pub fn begin(&mut self) -> bool {
        if !self.traffic.begin() {
            return false;
        }
        let now = self.traffic.run().clock().now();
        for _ in 0..self.traffic.room() {
            self.send(now);
        }
        true
    }

    /// Checks all whole messages that came, and prepares a new one for each.
    #[inline]
    pub fn on_received(&mut self) {
        let now = self.traffic.run().clock().now();
        let mut messages = self.received.filled().chunks_exact(self.payload);
        let mut count = 0;
        for message in messages.by_ref() {
            if self.traffic.on_reply(message, now)
                && let Some(slot) = self.out.spare(self.payload).get_mut(..self.payload)
            {
                self.traffic.encode(slot, now);
                self.out.fill(self.payload);
            }
            count += self.payload;
        }
        self.received.consume(count);
    }

    #[inline]
    fn send(&mut self, now: u64) {
        if let Some(slot) = self.out.spare(self.payload).get_mut(..self.payload) {
            self.traffic.encode(slot, now);
            self.out.fill(self.payload);
        }
    }

    pub(super) fn on_ready<S: Read + Write>(
        &mut self,
        io: &mut S,
        ready: &mut Ready,
    ) -> io::Result<()> {
        loop {
            if ready.read && receive(io, &mut self.received, ready)? {
                self.on_received();
            }
            if ready.write && !self.out.is_empty() {
                let sent = transmit(io, self.out.filled(), ready)?;
                self.out.consume(sent);
            }
            if !ready.read && (!ready.write || self.out.is_empty()) {
                return Ok(());
            }
        }
    }
}
