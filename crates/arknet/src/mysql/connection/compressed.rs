//! Both directions of a connection, compressed.

use std::task::{Context, Poll, ready};

use arknet_proto::mysql::Limits;
use arknet_proto::mysql::compression::{Compressor, Inflater};
use bytes::BytesMut;

use crate::drive::stream::{self, Outgoing};
use crate::link::{Transport, TransportError, Wire};
use crate::mysql::Error;
use crate::mysql::node::Node;

/// Storage of what was unwrapped that is kept for the next time.
const KEPT: usize = 256 * 1024;

/// What stands between a connection and its transport.
#[derive(Debug)]
pub(super) struct Compressed {
    compressor: Compressor,
    inflater: Inflater,
    /// What is to be sent, compressed.
    sealed: Wire,
    /// What has arrived, compressed.
    received: BytesMut,
    plain: Vec<u8>,
}

impl Compressed {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            compressor: Compressor::new(),
            inflater: Inflater::new(limits),
            sealed: Wire::default(),
            received: BytesMut::new(),
            plain: Vec::new(),
        }
    }

    /// Takes over all that waits to be sent.
    pub(super) fn wrap(&mut self, wire: &mut Wire) {
        let waiting = wire.waiting();
        if waiting > 0 {
            self.compressor
                .compress(wire.front(), self.sealed.end_mut());
            wire.advance(waiting);
        }
    }

    pub(super) fn poll_flush(
        &mut self,
        cx: &mut Context<'_>,
        transport: &mut Transport,
    ) -> Poll<Result<(), TransportError>> {
        if self.sealed.waiting() == 0 && !transport.has_own_bytes() {
            return Poll::Ready(Ok(()));
        }
        transport.poll_flush(cx, &mut self.sealed)
    }

    /// Appends what has arrived. 0 is the end of the stream.
    pub(super) fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        node: &Node,
        transport: &mut Transport,
        into: &mut BytesMut,
    ) -> Poll<Result<usize, Error>> {
        let received = transport.poll_receive(cx, &mut self.received);
        if received.is_pending() {
            stream::rest(&mut self.received);
        }
        let count = ready!(received).map_err(|error| node.transport_failed(error))?;
        self.plain.clear();
        let inflated = self.inflater.inflate(&self.received, &mut self.plain);
        inflated.map_err(|error| node.broke_protocol(error))?;
        self.received.clear();
        into.extend_from_slice(&self.plain);
        if self.plain.capacity() > KEPT {
            self.plain = Vec::new();
        }
        Poll::Ready(Ok(count))
    }
}
