//! What a pair must know of an engine beyond its contract.

use std::fmt::Debug;
use std::time::Instant;

use arknet_proto::endpoint::Endpoint;
use arknet_proto::engine::StreamEngine;
use arknet_proto::session::State;

/// An engine that can be one end of a [`Pair`](super::Pair).
pub trait Party: StreamEngine<Event: Debug> {
    /// Whether it has ended: its driver would close the transport.
    fn is_over(&self) -> bool;

    /// Takes that the transport broke.
    fn handle_reset(&mut self, now: Instant);
}

impl<T: Debug> Party for Endpoint<T> {
    fn is_over(&self) -> bool {
        self.state() == State::Closed
    }

    fn handle_reset(&mut self, _: Instant) {
        self.handle_fault();
    }
}
