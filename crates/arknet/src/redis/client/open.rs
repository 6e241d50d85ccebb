//! Making a connection for a task that keeps it, from the resolution of the name to the end of the login.

use std::future::poll_fn;
use std::io;

use arknet_proto::redis::Scanner;
use arknet_proto::redis::exchange::{Handshake, Progress, Speaks};
use bytes::{Buf, BytesMut};

use super::outgoing::Outgoing;
use crate::error::Outcome;
use crate::link::{self, Dialer, Place, Transport, TransportError};
use crate::redis::error::{Doing, Error};
use crate::redis::node::Node;

/// A connection whose session has begun.
pub(in crate::redis) struct Opened {
    pub(in crate::redis) transport: Transport,
    /// What has arrived behind the login.
    pub(in crate::redis) received: BytesMut,
    pub(in crate::redis) speaks: Speaks,
}

/// Makes a connection for the task that awaits this.
pub(in crate::redis) async fn open(node: &Node) -> Result<Opened, Error> {
    let deadline = link::after(node.connect_timeout);
    match tokio::time::timeout_at(deadline.into(), open_unlimited(node)).await {
        Ok(opened) => opened,
        Err(_) => Err(Error::Timeout {
            doing: Doing::Connect,
            within: node.connect_timeout,
            outcome: Outcome::NotSent,
        }),
    }
}

async fn open_unlimited(node: &Node) -> Result<Opened, Error> {
    let dialer = Dialer {
        place: Place::Here,
        ..node.dialer().clone()
    };
    let dialed = dialer.dial().await;
    let mut transport = dialed.map_err(|error| node.dial_failed(error))?;
    let mut received = BytesMut::new();
    poll_fn(|cx| transport.poll_handshake(cx, &mut received))
        .await
        .map_err(|error| node.handshake_failed(error))?;
    let speaks = log_in(node, &mut transport, &mut received).await?;
    Ok(Opened {
        transport,
        received,
        speaks,
    })
}

/// Begins the session. What arrives behind its last reply stays in `received`.
async fn log_in(
    node: &Node,
    transport: &mut Transport,
    received: &mut BytesMut,
) -> Result<Speaks, Error> {
    let failed = |error: TransportError| node.handshake_failed(error);
    let mut outgoing = Outgoing::default();
    let mut handshake = Handshake::new(node.login.clone(), outgoing.refill());
    let mut scanner = Scanner::new(node.limits);
    loop {
        // A login is short: the system has room for it.
        poll_fn(|cx| transport.poll_flush(cx, &mut outgoing))
            .await
            .map_err(failed)?;
        let answer = outgoing.refill();
        if let Progress::Done(speaks) =
            take_greetings(node, &mut handshake, &mut scanner, received, answer)?
        {
            return Ok(speaks);
        }
        if !outgoing.is_empty() {
            continue;
        }
        let received = poll_fn(|cx| transport.poll_receive(cx, received));
        if received.await.map_err(failed)? == 0 {
            let hung_up = "the server hung up during the login";
            let error = io::Error::new(io::ErrorKind::UnexpectedEof, hung_up);
            return Err(failed(error.into()));
        }
    }
}

/// Takes the replies that have come.
fn take_greetings(
    node: &Node,
    handshake: &mut Handshake,
    scanner: &mut Scanner,
    received: &mut BytesMut,
    answer: &mut Vec<u8>,
) -> Result<Progress, Error> {
    while handshake.progress() == Progress::Waiting {
        if received.is_empty() {
            break;
        }
        let scanned = scanner.scan(received);
        let Some(frame) = scanned.map_err(|error| node.broke_protocol(error))? else {
            break;
        };
        let bytes = received.get(..frame.len).unwrap_or_default();
        handshake
            .handle_frame(frame.kind, bytes, answer)
            .map_err(|error| node.refused(error))?;
        received.advance(frame.len);
    }
    Ok(handshake.progress())
}
