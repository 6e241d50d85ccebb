//! How a connection is made: dialing, TLS, the login, all under one deadline.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use arknet_proto::redis::exchange::{Handshake, Progress};
use bytes::{Buf, BytesMut};

use super::{Connection, Error};
use crate::error::Outcome;
use crate::link::{self, Timer};
use crate::redis::Doing;
use crate::redis::node::Node;

impl Connection {
    /// Connects and logs in, in the runtime that the caller runs in, which the socket belongs to from then on.
    pub(in crate::redis) async fn open(node: &Arc<Node>, deadline: Instant) -> Result<Self, Error> {
        let within = deadline.saturating_duration_since(link::now());
        let within = within.min(node.connect_timeout);
        let opening = tokio::time::timeout(within, Self::open_unlimited(node));
        opening.await.unwrap_or(Err(Error::Timeout {
            doing: Doing::Connect,
            within,
            outcome: Outcome::NotSent,
        }))
    }

    async fn open_unlimited(node: &Arc<Node>) -> Result<Self, Error> {
        let dialed = node.dialer().dial().await;
        let mut transport = dialed.map_err(|error| node.dial_failed(error))?;
        let mut plain = BytesMut::new();
        poll_fn(|cx| transport.poll_handshake(cx, &mut plain))
            .await
            .map_err(|error| node.handshake_failed(error))?;
        let timer = Timer::here().ok_or(Error::Closed)?;
        let mut connection = Self::new(node.clone(), transport, timer, plain);
        connection.log_in().await?;
        Ok(connection)
    }

    async fn log_in(&mut self) -> Result<(), Error> {
        let (login, wire) = (self.node.login.clone(), self.wire.end_mut());
        let probes = self.node.can_reset();
        let mut handshake = if probes {
            Handshake::probing(login, wire)
        } else {
            Handshake::new(login, wire)
        };
        poll_fn(|cx| self.poll_log_in(cx, &mut handshake)).await?;
        if probes && !handshake.can_reset() {
            self.node.cannot_reset();
        }
        Ok(())
    }

    fn poll_log_in(
        &mut self,
        cx: &mut Context<'_>,
        handshake: &mut Handshake,
    ) -> Poll<Result<(), Error>> {
        ready!(self.poll_exchange(cx, |connection| connection.take_greetings(handshake)))?;
        Poll::Ready(Ok(()))
    }

    /// Takes the replies to the login that have arrived; says whether it is done.
    fn take_greetings(&mut self, handshake: &mut Handshake) -> Result<bool, Error> {
        loop {
            if let Progress::Done(speaks) = handshake.progress() {
                self.speaks = Some(speaks);
                return Ok(true);
            }
            let scanned = self.scanner.scan(&self.incoming);
            let Some(frame) = scanned.map_err(|error| self.node.broke_protocol(error))? else {
                return Ok(false);
            };
            let bytes = self.incoming.get(..frame.len).unwrap_or_default();
            handshake
                .handle_frame(frame.kind, bytes, self.wire.end_mut())
                .map_err(|error| self.node.refused(error))?;
            self.incoming.advance(frame.len);
        }
    }
}
