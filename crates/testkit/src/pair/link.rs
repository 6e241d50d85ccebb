//! One direction of a virtual link.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::random::Random;

/// What one direction of a link is like, a value. The default delivers at once, whole, and holds 64 KiB.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Conditions {
    /// How long a byte is on its way.
    pub latency: Duration,
    /// How bytes that have arrived are handed to the engine.
    pub chunks: Chunks,
    /// Bytes that can be on their way; a sender waits for room.
    pub capacity: usize,
    /// The connection breaks, for both sides, once so many bytes have arrived.
    pub cut_after: Option<u64>,
    /// The receiver sees the end of the stream once so many bytes have arrived, and the rest is
    /// swallowed, while the sender goes on and notices nothing.
    pub end_after: Option<u64>,
    /// Nothing arrives.
    pub stalled: bool,
}

/// How bytes that have arrived are handed to an engine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Chunks {
    /// All that are there, at once.
    Whole,
    /// One at a time.
    Byte,
    /// So many at a time, fewer at the end.
    Fixed(usize),
    /// From one to so many at a time, as the seed has it.
    Random(usize),
}

impl Default for Conditions {
    fn default() -> Self {
        Self {
            latency: Duration::ZERO,
            chunks: Chunks::Whole,
            capacity: 64 * 1024,
            cut_after: None,
            end_after: None,
            stalled: false,
        }
    }
}

/// One direction: what is on its way.
#[derive(Debug, Default)]
pub(super) struct Link {
    pub(super) conditions: Conditions,
    flights: VecDeque<Flight>,
    in_flight: usize,
    delivered: u64,
    /// The sender's last word, an end or a reset, is on its way or has arrived.
    ended: bool,
    was_reset: bool,
    /// The end of [`Conditions::end_after`] has been shown.
    end_shown: bool,
    /// The connection broke: nothing arrives any more.
    broken: bool,
}

#[derive(Debug)]
struct Flight {
    arrives: Instant,
    cargo: Cargo,
}

#[derive(Debug)]
enum Cargo {
    Bytes(VecDeque<u8>),
    End,
    Reset,
}

/// What arrives.
#[derive(Debug)]
pub(super) enum Delivery {
    Bytes(Vec<u8>),
    End,
    /// The sender went away.
    Reset,
    /// The link broke.
    Cut,
    /// Something was swallowed, which makes room.
    Nothing,
}

impl Link {
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    pub(super) fn room(&self) -> usize {
        self.conditions.capacity.saturating_sub(self.in_flight)
    }

    pub(super) fn send(&mut self, now: Instant, bytes: &[u8]) {
        assert!(!self.ended, "it sends after the end of its stream");
        self.in_flight += bytes.len();
        self.put(now, Cargo::Bytes(bytes.iter().copied().collect()));
    }

    pub(super) fn end(&mut self, now: Instant) {
        assert!(!self.ended, "it ends its stream once");
        self.ended = true;
        self.put(now, Cargo::End);
    }

    /// The sender has closed the transport: without an end before, that is a reset.
    pub(super) fn abandon(&mut self, now: Instant) {
        if !self.ended {
            self.reset(now);
        }
    }

    /// The sender's kernel refuses what arrives there.
    pub(super) fn reset(&mut self, now: Instant) {
        self.ended = true;
        if !std::mem::replace(&mut self.was_reset, true) {
            self.put(now, Cargo::Reset);
        }
    }

    /// The connection broke.
    pub(super) fn clear(&mut self) {
        self.flights.clear();
        self.in_flight = 0;
        self.ended = true;
        self.broken = true;
    }

    fn put(&mut self, now: Instant, cargo: Cargo) {
        if !self.broken {
            let arrives = now + self.conditions.latency;
            // A latency that was shortened does not let later bytes overtake.
            let arrives = self
                .flights
                .back()
                .map_or(arrives, |last| last.arrives.max(arrives));
            self.flights.push_back(Flight { arrives, cargo });
        }
    }

    /// When something arrives next.
    pub(super) fn next_arrival(&self) -> Option<Instant> {
        if self.conditions.stalled {
            return None;
        }
        self.flights.front().map(|flight| flight.arrives)
    }

    /// What arrives now, in one piece as the conditions have it.
    pub(super) fn deliver(&mut self, now: Instant, random: &mut Random) -> Option<Delivery> {
        if self.conditions.stalled || self.broken {
            return None;
        }
        if self.reached(self.conditions.cut_after) {
            return Some(Delivery::Cut);
        }
        if self.reached(self.conditions.end_after) {
            let swallowed = self.swallow(now);
            if !std::mem::replace(&mut self.end_shown, true) {
                return Some(Delivery::End);
            }
            return swallowed.then_some(Delivery::Nothing);
        }
        let first = self.flights.front().filter(|first| first.arrives <= now)?;
        match first.cargo {
            Cargo::Bytes(_) => Some(Delivery::Bytes(self.take_bytes(now, random))),
            Cargo::End => self.take_word(Delivery::End),
            Cargo::Reset => self.take_word(Delivery::Reset),
        }
    }

    fn reached(&self, bound: Option<u64>) -> bool {
        bound.is_some_and(|bound| self.delivered >= bound)
    }

    fn take_word(&mut self, word: Delivery) -> Option<Delivery> {
        self.flights.pop_front();
        Some(word)
    }

    fn take_bytes(&mut self, now: Instant, random: &mut Random) -> Vec<u8> {
        let count = match self.conditions.chunks {
            Chunks::Whole => usize::MAX,
            Chunks::Byte => 1,
            Chunks::Fixed(count) => count.max(1),
            Chunks::Random(most) => random.up_to(most),
        };
        let bounds = [self.conditions.cut_after, self.conditions.end_after];
        let left = bounds
            .into_iter()
            .flatten()
            .map(|bound| bound - self.delivered);
        let left = left.min().and_then(|left| usize::try_from(left).ok());
        let count = left.map_or(count, |left| left.min(count));

        let mut taken = Vec::new();
        while let Some(Flight {
            arrives,
            cargo: Cargo::Bytes(bytes),
        }) = self.flights.front_mut()
        {
            if *arrives > now || taken.len() == count {
                break;
            }
            taken.extend(bytes.drain(..bytes.len().min(count - taken.len())));
            if bytes.is_empty() {
                self.flights.pop_front();
            }
        }
        self.in_flight -= taken.len();
        self.delivered += taken.len() as u64;
        taken
    }

    /// Whatever has arrived goes nowhere.
    fn swallow(&mut self, now: Instant) -> bool {
        let before = self.flights.len();
        while let Some(first) = self.flights.front()
            && first.arrives <= now
        {
            if let Cargo::Bytes(bytes) = &first.cargo {
                self.in_flight -= bytes.len();
            }
            self.flights.pop_front();
        }
        self.flights.len() < before
    }
}
