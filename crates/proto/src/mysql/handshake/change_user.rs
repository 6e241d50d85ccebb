//! Another account, or the same one afresh, on an open connection.

use super::config::text;
use super::reply::encode_attributes;
use super::{Config, Established, HandshakeError, MAX_HANDSHAKE_PACKET, Step};
use crate::mysql::auth::{Authentication, Channel, Encrypt, Plugin, Progress};
use crate::mysql::capabilities::Capabilities;
use crate::mysql::error::ProtocolError;
use crate::mysql::limits::Limits;
use crate::mysql::packet::{PacketReader, PacketWriter};
use crate::mysql::wire::{put_nul_bytes, put_u16};

/// COM_CHANGE_USER: everything that belongs to the session is forgotten, and the server asks again who the client is.
///
/// Driven like a [`Handshake`](super::Handshake), on a connection that waits for no answer; its steps are never
/// [`Step::StartTls`]. After a failure the connection can only be closed.
#[derive(Debug)]
pub struct ChangeUser {
    reader: PacketReader,
    authentication: Authentication,
    state: State,
    established: Established,
    outgoing: Vec<u8>,
}

#[derive(Debug)]
enum State {
    Authentication,
    Encrypting(Encrypt),
    Done,
    Failed(HandshakeError),
}

impl ChangeUser {
    /// Asks for it, on a connection that was [`Established`] and that is the given channel. Of `config` are used: the
    /// account, the schema, the collation, the attributes and what is allowed.
    ///
    /// # Errors
    ///
    /// [`HandshakeError::Config`].
    pub fn new(
        config: &Config,
        established: Established,
        channel: Channel,
    ) -> Result<Self, HandshakeError> {
        config.check()?;
        text("user", &config.user)?;
        let limits = Limits {
            max_packet: MAX_HANDSHAKE_PACKET,
            ..Limits::default()
        };
        let mut authentication = Authentication::new(
            config.factors(),
            config.server_key.clone(),
            config.plugins,
            config.random,
        );
        authentication.set_channel(channel);
        let mut this = Self {
            reader: PacketReader::new(&limits),
            authentication,
            state: State::Authentication,
            established,
            outgoing: Vec::new(),
        };
        let payload = request(config, this.established.capabilities);
        this.send(&payload);
        if this
            .established
            .capabilities
            .contains(Capabilities::COMPRESS)
        {
            this.reader.ignore_sequence();
        }
        Ok(this)
    }

    /// Takes what arrived, and returns how much of it is to be dropped from the front.
    pub fn handle_input(&mut self, buffer: &[u8]) -> usize {
        let mut at = 0;
        loop {
            let before = at;
            let result = match &self.state {
                State::Authentication => self.handle_next(buffer, &mut at),
                State::Failed(_) => return buffer.len(),
                State::Encrypting(_) | State::Done => match buffer.len() - at {
                    0 => Ok(()),
                    len => Err(ProtocolError::Unsolicited { len }.into()),
                },
            };
            if let Err(error) = result {
                self.outgoing.clear();
                self.state = State::Failed(error);
                return buffer.len();
            }
            if at == before {
                return at;
            }
        }
    }

    /// The server ended its stream.
    pub fn handle_end(&mut self) {
        if !matches!(self.state, State::Done | State::Failed(_)) {
            let error = ProtocolError::UnexpectedEnd {
                what: "a change of user",
            };
            self.state = State::Failed(error.into());
        }
    }

    /// What [`Step::Encrypt`] asked for.
    pub fn handle_encrypted(&mut self, sealed: Vec<u8>) {
        if matches!(self.state, State::Encrypting(_)) {
            self.state = State::Authentication;
            self.send(&sealed);
        }
    }

    /// What is to be done next. What is to be sent is appended to `wire`.
    pub fn poll_step(&mut self, wire: &mut Vec<u8>) -> Step<'_> {
        if !self.outgoing.is_empty() {
            wire.append(&mut self.outgoing);
            return Step::Write;
        }
        match &self.state {
            State::Authentication => Step::Read,
            State::Encrypting(encrypt) => Step::Encrypt(encrypt),
            State::Done => Step::Done(&self.established),
            State::Failed(error) => Step::Failed(error),
        }
    }

    fn handle_next(&mut self, buffer: &[u8], at: &mut usize) -> Result<(), HandshakeError> {
        let Some(packet) = self.reader.next(buffer, at)? else {
            return Ok(());
        };
        let agreed = self.established.capabilities;
        match self.authentication.handle_packet(packet, agreed)? {
            Progress::Send(bytes) => self.send(&bytes),
            Progress::Encrypt(encrypt) => self.state = State::Encrypting(encrypt),
            Progress::Wait => {}
            Progress::Done(status) => {
                self.established.status = status;
                self.state = State::Done;
            }
        }
        Ok(())
    }

    fn send(&mut self, payload: &[u8]) {
        let mut packet = PacketWriter::begin(&mut self.outgoing, self.reader.sequence());
        packet.payload().extend_from_slice(payload);
        self.reader.expect(packet.finish());
    }
}

/// The challenge of the greeting is spent: an empty answer makes the server send a new one.
fn request(config: &Config, agreed: Capabilities) -> Vec<u8> {
    let mut payload = vec![0x11];
    put_nul_bytes(&mut payload, config.user.as_bytes());
    payload.push(0);
    put_nul_bytes(
        &mut payload,
        config.database.as_deref().unwrap_or_default().as_bytes(),
    );
    put_u16(&mut payload, u16::from(config.collation));
    if agreed.contains(Capabilities::PLUGIN_AUTH) {
        put_nul_bytes(&mut payload, Plugin::NativePassword.name().as_bytes());
    }
    if agreed.contains(Capabilities::CONNECT_ATTRS) {
        let attributes = config.attributes.iter();
        let pairs: Vec<_> = attributes
            .map(|(n, v)| (n.as_bytes(), v.as_bytes()))
            .collect();
        encode_attributes(&mut payload, &pairs);
    }
    payload
}
