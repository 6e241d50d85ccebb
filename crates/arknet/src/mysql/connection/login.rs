//! How a connection is made: dialing, TLS in the middle of the first words, the proof of who we are, all under one deadline.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::Instant;

use arknet_proto::mysql::ProtocolError;
use arknet_proto::mysql::auth::Encrypt;
use arknet_proto::mysql::handshake::{Established, Handshake, HandshakeError, Step};
use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use bytes::{Buf, BytesMut};
use rustls_pki_types::SubjectPublicKeyInfoDer;
use rustls_pki_types::pem::PemObject;

use super::{Connection, Error};
use crate::drive::stream::Outgoing;
use crate::error::Outcome;
use crate::link::{self, Timer, Transport, TransportError, Wire};
use crate::mysql::Doing;
use crate::mysql::node::Node;

impl Connection {
    /// Connects and logs in, in the runtime that the caller runs in, which the socket belongs to from then on.
    pub(in crate::mysql) async fn open(node: &Arc<Node>, deadline: Instant) -> Result<Self, Error> {
        in_time(node, deadline, async {
            let mut connection = Self::open_unlimited(node).await?;
            if node.kills {
                connection.ask_for_number().await?;
            }
            Ok(connection)
        })
        .await
    }

    /// The same, for one thing to be done.
    pub(super) async fn open_for_once(node: &Arc<Node>, deadline: Instant) -> Result<Self, Error> {
        in_time(node, deadline, Self::open_unlimited(node)).await
    }

    async fn open_unlimited(node: &Arc<Node>) -> Result<Self, Error> {
        let handshake = Handshake::new(node.handshake()?).map_err(|error| node.refused(error))?;
        let dialed = node.dialer().dial().await;
        let transport = dialed.map_err(|error| node.dial_failed(error))?;
        let login = Login {
            node,
            transport,
            wire: Wire::default(),
            incoming: BytesMut::new(),
        };
        let (transport, established) = login.run(handshake).await?;
        let timer = Timer::here().ok_or(Error::Closed)?;
        Ok(Self::new(node.clone(), transport, timer, &established))
    }
}

async fn in_time(
    node: &Node,
    deadline: Instant,
    opening: impl Future<Output = Result<Connection, Error>>,
) -> Result<Connection, Error> {
    let within = deadline.saturating_duration_since(link::now());
    let within = within.min(node.connect_timeout);
    let opened = tokio::time::timeout(within, opening).await;
    opened.unwrap_or(Err(Error::Timeout {
        doing: Doing::Connect,
        within,
        outcome: Outcome::NotSent,
    }))
}

/// A connection that is not yet one.
struct Login<'n> {
    node: &'n Arc<Node>,
    transport: Transport,
    wire: Wire,
    incoming: BytesMut,
}

impl Login<'_> {
    async fn run(mut self, mut handshake: Handshake) -> Result<(Transport, Established), Error> {
        loop {
            match handshake.poll_step(self.wire.end_mut()) {
                Step::Read => {
                    if self.read().await? == 0 {
                        handshake.handle_end();
                    }
                    let consumed = handshake.handle_input(&self.incoming);
                    self.incoming.advance(consumed);
                }
                Step::Write => self.write().await?,
                Step::StartTls => {
                    // What has come in clear behind the greeting would be taken for what comes through TLS.
                    if !self.incoming.is_empty() {
                        let len = self.incoming.len();
                        return Err(self.node.broke_protocol(ProtocolError::Unsolicited { len }));
                    }
                    self = self.start_tls().await?;
                    handshake.handle_tls(self.node.verifies());
                }
                Step::Encrypt(secret) => {
                    let sealed = encrypt(secret).map_err(|error| self.node.refused(error))?;
                    handshake.handle_encrypted(sealed);
                }
                Step::Done(established) => return Ok((self.transport, established.clone())),
                Step::Failed(error) => return Err(self.node.refused(error.clone())),
            }
        }
    }

    async fn read(&mut self) -> Result<usize, Error> {
        poll_fn(|cx| self.transport.poll_receive(cx, &mut self.incoming))
            .await
            .map_err(|error| self.node.handshake_failed(error))
    }

    async fn write(&mut self) -> Result<(), Error> {
        poll_fn(|cx| {
            while self.wire.waiting() > 0 {
                ready!(self.transport.poll_flush(cx, &mut self.wire))?;
            }
            Poll::Ready(Ok(()))
        })
        .await
        .map_err(|error: TransportError| self.node.handshake_failed(error))
    }

    /// Goes on over TLS.
    #[cfg(feature = "tls")]
    async fn start_tls(mut self) -> Result<Self, Error> {
        use crate::link::Secure;
        use crate::tls::Pump;

        let failed = |error| self.node.handshake_failed(TransportError::Tls(error));
        let (Some((config, name)), Transport::Plain(socket)) = (self.node.tls(), self.transport)
        else {
            return Err(Error::config("TLS is off"));
        };
        let pump = Pump::client(config, name).map_err(failed)?;
        self.transport = Transport::Secure(Box::new(Secure::new(socket, pump)));
        poll_fn(|cx| self.transport.poll_handshake(cx, &mut self.incoming))
            .await
            .map_err(|error| self.node.handshake_failed(error))?;
        Ok(self)
    }

    /// Without the feature nothing asks for it.
    #[cfg(not(feature = "tls"))]
    async fn start_tls(self) -> Result<Self, Error> {
        Err(Error::config("the feature `tls` is off"))
    }
}

/// Encrypts a password with the server's key: RSA-OAEP, as `caching_sha2_password` and `sha256_password` want it.
fn encrypt(secret: &Encrypt) -> Result<Vec<u8>, HandshakeError> {
    let malformed = || HandshakeError::Unsupported {
        what: "an RSA key that can be used",
    };
    let key =
        SubjectPublicKeyInfoDer::from_pem_slice(&secret.public_key).map_err(|_| malformed())?;
    let key = PublicEncryptingKey::from_der(&key).map_err(|_| malformed())?;
    let key = OaepPublicEncryptingKey::new(key).map_err(|_| malformed())?;
    let mut sealed = vec![0; key.ciphertext_size()];
    let written = key
        .encrypt(
            &OAEP_SHA1_MGF1SHA1,
            secret.plaintext.expose(),
            &mut sealed,
            None,
        )
        .map_err(|_| malformed())?
        .len();
    sealed.truncate(written);
    Ok(sealed)
}
