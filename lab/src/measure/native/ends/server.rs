//! A server: it reads, then writes what it read.

use std::io::{self, Read, Write};
use std::sync::Arc;

use super::{Ready, SPARE, receive, transmit, windowed_room};
use crate::measure::config::Traffic;
use crate::measure::counters::Fault;
use crate::measure::native::buffer::Flat;
use crate::measure::run::Run;
use crate::measure::traffic::ServerTraffic;

/// A server, with its buffer: it answers from where it received.
#[derive(Debug)]
pub struct ServerEnd {
    /// What came and is not yet answered.
    pub received: Flat,
    traffic: ServerTraffic,
    run: Arc<Run>,
    payload: usize,
    unit: usize,
    pub(super) answer: usize,
}

impl ServerEnd {
    /// A server that answers every message, or every whole batch.
    pub fn new(run: &Arc<Run>, traffic: Traffic) -> Self {
        let payload = run.payload();
        let batch = run.window() * payload;
        let (unit, room) = match traffic {
            Traffic::Windowed => (payload, windowed_room(run)),
            Traffic::Batch => (batch, batch + SPARE),
        };
        ServerEnd {
            received: Flat::new(room),
            traffic: ServerTraffic::new(run.clone(), traffic),
            run: run.clone(),
            payload,
            unit,
            answer: 0,
        }
    }

    /// Checks and works on what came whole; returns how many bytes of `received` are the answer.
    ///
    /// # Errors
    /// `InvalidData` when a message is refused.
    #[inline]
    pub fn on_received(&mut self) -> io::Result<usize> {
        let filled = self.received.filled();
        // Units come one at a time when the window is 1: a comparison is cheaper than a division.
        let whole = if filled.len() < self.unit {
            0
        } else {
            filled.len() / self.unit * self.unit
        };
        for message in filled
            .get(..whole)
            .unwrap_or_default()
            .chunks_exact(self.payload)
        {
            if !self.traffic.on_message(message) {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        Ok(whole)
    }

    /// Counts a connection that failed; one that a client has ended is normal, and a refused
    /// message is counted already.
    pub fn on_disconnect(&self, error: &io::Error) {
        let normal = matches!(
            error.kind(),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData
        );
        if !normal && !self.run.is_stopping() {
            let text = format!("a server's connection: {error}");
            self.run.fault(Fault::DisconnectErrors, &text);
        }
    }

    pub(super) fn on_ready<S: Read + Write>(
        &mut self,
        io: &mut S,
        ready: &mut Ready,
    ) -> io::Result<()> {
        loop {
            if self.answer > 0 {
                if !ready.write {
                    return Ok(());
                }
                let answer = self
                    .received
                    .filled()
                    .get(..self.answer)
                    .unwrap_or_default();
                let sent = transmit(io, answer, ready)?;
                self.received.consume(sent);
                self.answer -= sent;
            } else if ready.read && receive(io, &mut self.received, ready)? {
                self.answer = self.on_received()?;
            } else if !ready.read {
                return Ok(());
            }
        }
    }
}
