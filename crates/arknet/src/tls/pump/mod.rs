//! The record pump: bytes of the network in, plaintext out, and back. No socket, no clock.
//!
//! Two phases. [`Handshake`] wraps rustls's unbuffered connection until both sides have
//! authenticated; [`Traffic`] then owns the keys and seals and opens records directly in the
//! caller's buffers. rustls keeps what depends on the handshake: new keys and tickets.

mod handshake;
mod opener;
mod record;
mod sealer;
mod traffic;

use std::fmt;
use std::mem;
use std::sync::Arc;

use bytes::BytesMut;

use self::handshake::Handshake;
pub(super) use self::handshake::MAX_HANDSHAKE_BYTES;
use self::traffic::Traffic;
use super::client::ClientConfig;
use super::error::Error;
use super::info::Info;
use super::server::ServerConfig;

/// The TLS side of one connection.
///
/// Order of use: [`receive`](Self::receive) once with no input (a client's first message
/// comes out), then after every read; [`seal`](Self::seal) once
/// [`is_handshaking`](Self::is_handshaking) is false; [`close_notify`](Self::close_notify);
/// [`end_of_stream`](Self::end_of_stream) when the transport ends. Whatever a method appended
/// to `outgoing` is to be sent, in order, also when the method failed: the alert that tells
/// the peer why is in it.
///
/// After an error every further call fails with the same error. No buffer is kept between
/// calls, except for the fragments of an unfinished handshake message.
pub struct Pump {
    phase: Phase,
    info: Option<Arc<Info>>,
}

enum Phase {
    Handshake(Box<Handshake>),
    Traffic(Box<Traffic>),
    Failed(Error),
}

/// What one call of [`Pump::receive`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Bytes of plaintext that were appended.
    pub plain: usize,
    /// Whether this call completed the handshake; [`Pump::info`] is there now.
    pub handshake_completed: bool,
    /// Whether it stopped because the room was used up. Input is left: call again once
    /// there is room, without waiting for the network.
    pub more: bool,
}

impl Pump {
    /// The server's side of a new connection, with the certificate of this moment.
    ///
    /// # Errors
    ///
    /// [`Error::Internal`] when rustls refuses, as for want of random numbers.
    pub fn server(config: &ServerConfig) -> Result<Self, Error> {
        Ok(Self::new(Handshake::server(config)?))
    }

    /// The client's side of a new connection to `host`, a DNS name or the literal of an IP
    /// address.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidServerName`] when `host` is neither; [`Error::Internal`] as above.
    pub fn client(config: &ClientConfig, host: &str) -> Result<Self, Error> {
        Ok(Self::new(Handshake::client(config, host)?))
    }

    fn new(handshake: Handshake) -> Self {
        Self {
            phase: Phase::Handshake(Box::new(handshake)),
            info: None,
        }
    }

    /// Takes whole records from the front of `incoming`, appends their plaintext to `plain`,
    /// and what the protocol has to answer to `outgoing`.
    ///
    /// Stops when `room` bytes of plaintext have been appended; the last record may exceed
    /// that by up to 16 383 bytes. With no room nothing is taken once the handshake is over.
    /// An unfinished record stays in `incoming`: at most 18 437 bytes, so that is how much
    /// a reader must be able to hold.
    ///
    /// # Errors
    ///
    /// Whatever the peer did wrong, or that it refused us. The alert is in `outgoing`. What
    /// was appended to `plain` before the error is authentic.
    pub fn receive(
        &mut self,
        incoming: &mut BytesMut,
        plain: &mut BytesMut,
        room: usize,
        outgoing: &mut BytesMut,
    ) -> Result<Received, Error> {
        let mut received = Received::default();
        self.attempt(|pump| {
            pump.shake_hands(incoming, outgoing, &mut received)?;
            if let Phase::Traffic(traffic) = &mut pump.phase {
                traffic.receive(incoming, plain, room, outgoing, &mut received)?;
            }
            Ok(())
        })?;
        Ok(received)
    }

    /// Seals `plain` and appends it to `outgoing`, in records as full as they may be
    /// (16 KiB). Sealed text is longer by 22 bytes a record (29 in TLS 1.2); `outgoing`
    /// grows by that much, so the caller's limit on `plain` is the limit of the call.
    ///
    /// # Errors
    ///
    /// [`Error::Handshaking`], [`Error::Closed`], [`Error::KeyExhausted`].
    pub fn seal(&mut self, plain: &[u8], outgoing: &mut BytesMut) -> Result<(), Error> {
        match &mut self.phase {
            Phase::Handshake(_) => Err(Error::Handshaking),
            Phase::Traffic(traffic) => traffic.seal(plain, outgoing),
            Phase::Failed(error) => Err(error.clone()),
        }
    }

    /// Appends `close_notify`, the statement that nothing follows, unless it was sent before.
    /// The other direction stays open. During the handshake, and after an error, there is
    /// nothing to state.
    pub fn close_notify(&mut self, outgoing: &mut BytesMut) {
        if let Phase::Traffic(traffic) = &mut self.phase {
            traffic.close_notify(outgoing);
        }
    }

    /// Whether the handshake still has to finish before anything can be sent.
    pub fn is_handshaking(&self) -> bool {
        matches!(self.phase, Phase::Handshake(_))
    }

    /// Whether the peer has stated, by `close_notify`, that nothing follows.
    pub fn peer_has_closed(&self) -> bool {
        matches!(&self.phase, Phase::Traffic(traffic) if traffic.peer_has_closed())
    }

    /// What the handshake agreed on, once it has finished.
    pub fn info(&self) -> Option<&Arc<Info>> {
        self.info.as_ref()
    }

    /// To be asked when the transport says that no more bytes come.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when the peer did not announce it, [`Error::HandshakeTruncated`]
    /// when the handshake had not finished, the earlier error when there was one.
    pub fn end_of_stream(&self) -> Result<(), Error> {
        match &self.phase {
            Phase::Handshake(_) => Err(Error::HandshakeTruncated),
            Phase::Traffic(traffic) if traffic.peer_has_closed() => Ok(()),
            Phase::Traffic(_) => Err(Error::Truncated),
            Phase::Failed(error) => Err(error.clone()),
        }
    }

    /// Renews the key that seals (TLS 1.3), and asks the peer to do the same.
    #[cfg(test)]
    pub(super) fn update_keys(
        &mut self,
        ask_peer: bool,
        outgoing: &mut BytesMut,
    ) -> Result<(), Error> {
        match &mut self.phase {
            Phase::Traffic(traffic) => traffic.update_keys(ask_peer, outgoing),
            _ => Err(Error::Handshaking),
        }
    }

    #[cfg(test)]
    pub(super) fn traffic_mut(&mut self) -> Option<&mut Traffic> {
        match &mut self.phase {
            Phase::Traffic(traffic) => Some(traffic),
            _ => None,
        }
    }

    fn shake_hands(
        &mut self,
        incoming: &mut BytesMut,
        outgoing: &mut BytesMut,
        received: &mut Received,
    ) -> Result<(), Error> {
        let Phase::Handshake(handshake) = &mut self.phase else {
            return Ok(());
        };
        if !handshake.advance(incoming, outgoing)? {
            return Ok(());
        }
        let over = Phase::Failed(Error::Internal("the handshake did not finish".to_owned()));
        if let Phase::Handshake(handshake) = mem::replace(&mut self.phase, over) {
            let (traffic, info) = handshake.finish()?;
            self.phase = Phase::Traffic(Box::new(traffic));
            self.info = Some(Arc::new(info));
            received.handshake_completed = true;
        }
        Ok(())
    }

    /// Runs a step, and remembers its error as the pump's last state.
    fn attempt(&mut self, step: impl FnOnce(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        if let Phase::Failed(error) = &self.phase {
            return Err(error.clone());
        }
        step(self).inspect_err(|error| self.phase = Phase::Failed(error.clone()))
    }
}

impl fmt::Debug for Pump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phase = match &self.phase {
            Phase::Handshake(_) => "handshake",
            Phase::Traffic(_) => "traffic",
            Phase::Failed(_) => "failed",
        };
        f.debug_struct("Pump")
            .field("phase", &phase)
            .field("info", &self.info)
            .finish()
    }
}
