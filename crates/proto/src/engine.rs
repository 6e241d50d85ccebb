//! The contract that every engine keeps.
//!
//! An engine thinks and never waits: bytes and instants go in; bytes, events and the next deadline come out. It owns
//! no socket, clock, thread or task, so that a test can drive two of them with a virtual clock and see every
//! interleaving, and so that any back end (readiness or completion, blocking or not) can drive it for real.
//!
//! The methods of an engine come in four families:
//!
//! 1. **getters** look;
//! 2. **`handle_*`** take what the wire or the clock brought;
//! 3. **commands** take what the application wants;
//! 4. **`poll_*`** give what is to be done. After every `handle_*` and every command, drain them until they are empty,
//!    in this order: `poll_event` (it may make the application send), `poll_transmit` (bytes for the wire), then
//!    `next_deadline` (when to call `handle_timeout`, if nothing happens before).
//!
//! Time is always a parameter and never goes backwards between two calls. Random bits are parameters too.

use std::time::Instant;

/// A byte-stream engine, as a driver or the test harness sees it.
///
/// The order in which to drain it is on the [module](self).
pub trait StreamEngine {
    /// What the application is told.
    type Event;

    /// Takes bytes that arrived.
    fn handle_input(&mut self, now: Instant, bytes: &[u8]);

    /// Takes the end of the peer's stream.
    fn handle_end(&mut self, now: Instant);

    /// Takes the clock: what is due at `now` happens. Calling it early is harmless.
    fn handle_timeout(&mut self, now: Instant);

    /// The next thing to tell the application, in order.
    fn poll_event(&mut self) -> Option<Self::Event>;

    /// Moves at most `room` bytes for the wire to the end of `wire`.
    fn poll_transmit(&mut self, now: Instant, room: usize, wire: &mut Vec<u8>) -> Transmit;

    /// When [`handle_timeout`](Self::handle_timeout) is wanted next.
    fn next_deadline(&self) -> Option<Instant>;
}

/// What [`StreamEngine::poll_transmit`] did.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Transmit {
    /// Nothing to send now.
    Idle,
    /// So many bytes were appended.
    Bytes(usize),
    /// All bytes have been handed over before; now end the sending direction. Given once.
    End,
}
