//! The client's side of the handshake.

use super::config::{Compression, Config, Tls};
use super::{Greeting, HandshakeError, MAX_HANDSHAKE_PACKET, Reply};
use crate::mysql::auth::{Authentication, Channel, Encrypt, Plugin, Progress};
use crate::mysql::capabilities::{Capabilities, Status};
use crate::mysql::error::{ProtocolError, ServerError};
use crate::mysql::limits::Limits;
use crate::mysql::packet::{PacketReader, PacketWriter};

/// What every connection asks for, if the server can.
const WANTED: Capabilities = Capabilities::MYSQL
    .with(Capabilities::LONG_FLAG)
    .with(Capabilities::PROTOCOL_41)
    .with(Capabilities::TRANSACTIONS)
    .with(Capabilities::SECURE_CONNECTION)
    .with(Capabilities::MULTI_RESULTS)
    .with(Capabilities::PS_MULTI_RESULTS)
    .with(Capabilities::PLUGIN_AUTH)
    .with(Capabilities::CONNECT_ATTRS)
    .with(Capabilities::PLUGIN_AUTH_LENENC)
    .with(Capabilities::SESSION_TRACK)
    .with(Capabilities::DEPRECATE_EOF)
    .with(Capabilities::MULTI_FACTOR)
    .with(Capabilities::MARIADB_EXTENDED_METADATA)
    .with(Capabilities::MARIADB_CACHE_METADATA);

/// What a server must be able to do.
const REQUIRED: [(Capabilities, &str); 2] = [
    (Capabilities::PROTOCOL_41, "the protocol since version 4.1"),
    (
        Capabilities::SECURE_CONNECTION,
        "the authentication since version 4.1",
    ),
];

/// The client's side of the handshake, from the first byte to the server's yes.
///
/// An engine: give it what arrives ([`handle_input`](Self::handle_input)), and do what
/// [`poll_step`](Self::poll_step) says, until that is [`Step::Done`] or [`Step::Failed`]:
///
/// ```
/// # use arknet_proto::mysql::handshake::{Config, Handshake, Step};
/// # fn read(_: &mut Vec<u8>) {}
/// # fn write(_: &[u8]) {}
/// # fn start_tls() {}
/// # fn rsa(_: &[u8], _: &[u8]) -> Vec<u8> { Vec::new() }
/// # let random = [0; 32];
/// let mut handshake = Handshake::new(Config::new("root", random))?;
/// # handshake.handle_end();
/// let (mut received, mut wire) = (Vec::new(), Vec::new());
/// let established = loop {
///     match handshake.poll_step(&mut wire) {
///         Step::Read => {
///             read(&mut received);
///             let consumed = handshake.handle_input(&received);
///             received.drain(..consumed);
///         }
///         Step::Write => {
///             write(&wire);
///             wire.clear();
///         }
///         Step::StartTls => {
///             start_tls();
///             handshake.handle_tls(/* certificate verified: */ true);
///         }
///         Step::Encrypt(secret) => {
///             let sealed = rsa(&secret.public_key, secret.plaintext.expose());
///             handshake.handle_encrypted(sealed);
///         }
///         Step::Done(established) => break Ok(established),
///         Step::Failed(error) => break Err(error),
///     }
/// };
/// # assert!(established.is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Handshake {
    config: Config,
    reader: PacketReader,
    authentication: Authentication,
    state: State,
    greeting: Option<Greeting>,
    agreed: Capabilities,
    outgoing: Vec<u8>,
}

#[derive(Debug)]
enum State {
    Greeting,
    Tls,
    Authentication,
    Encrypting(Encrypt),
    Done(Established),
    Failed(HandshakeError),
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// Wait for bytes, and give them to [`Handshake::handle_input`].
    Read,
    /// Send what was appended to `wire`, all of it.
    Write,
    /// Begin TLS as its client, and say so by [`Handshake::handle_tls`].
    StartTls,
    /// Encrypt this, and give the result to [`Handshake::handle_encrypted`].
    Encrypt(&'a Encrypt),
    /// The connection is ready.
    Done(&'a Established),
    /// It will not be. Close it.
    Failed(&'a HandshakeError),
}

/// A connection that is ready for statements.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Established {
    /// Whom it is to.
    pub server: ServerInfo,
    /// What both sides use. The compressed protocol, if it is among them, begins with the next byte.
    pub capabilities: Capabilities,
    /// The server's state.
    pub status: Status,
}

/// What a server said of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerInfo {
    /// Its version, such as `9.7.4`.
    pub version: String,
    /// Whether it is MariaDB.
    pub is_mariadb: bool,
    /// The number it gave the connection; 0 or wrong behind a proxy.
    pub connection_id: u32,
    /// What it can do.
    pub capabilities: Capabilities,
}

impl Handshake {
    /// Waits for the server's greeting.
    ///
    /// # Errors
    ///
    /// [`HandshakeError::Config`].
    pub fn new(config: Config) -> Result<Self, HandshakeError> {
        config.check()?;
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
        if config.local {
            authentication.set_channel(Channel::Local);
        }
        Ok(Self {
            config,
            reader: PacketReader::new(&limits),
            authentication,
            state: State::Greeting,
            greeting: None,
            agreed: Capabilities::default(),
            outgoing: Vec::new(),
        })
    }

    /// Takes what arrived, and returns how much of it is to be dropped from the front; the rest is to be offered again
    /// with what follows it.
    pub fn handle_input(&mut self, buffer: &[u8]) -> usize {
        let mut at = 0;
        loop {
            let before = at;
            let result = match &self.state {
                State::Greeting | State::Authentication => self.handle_next(buffer, &mut at),
                State::Failed(_) => return buffer.len(),
                // Bytes that come before TLS was even asked for are somebody else's, or meant to be taken for what
                // comes through TLS. Bytes after the end were not asked for either.
                State::Tls | State::Encrypting(_) | State::Done(_) => {
                    let len = buffer.len() - at;
                    match len {
                        0 => Ok(()),
                        len => Err(ProtocolError::Unsolicited { len }.into()),
                    }
                }
            };
            if let Err(error) = result {
                self.fail(error);
                return buffer.len();
            }
            if at == before {
                return at;
            }
        }
    }

    /// The server ended its stream.
    pub fn handle_end(&mut self) {
        if !matches!(self.state, State::Done(_) | State::Failed(_)) {
            self.fail(
                ProtocolError::UnexpectedEnd {
                    what: "the handshake",
                }
                .into(),
            );
        }
    }

    /// TLS has begun. `verified` says whether the server's certificate and name were verified: a password is sent as
    /// it is only then.
    pub fn handle_tls(&mut self, verified: bool) {
        if !matches!(self.state, State::Tls) {
            return;
        }
        let channel = if verified {
            Channel::Verified
        } else {
            Channel::Encrypted
        };
        self.authentication.set_channel(channel);
        if let Err(error) = self.introduce() {
            self.fail(error);
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
            State::Greeting | State::Authentication => Step::Read,
            State::Tls => Step::StartTls,
            State::Encrypting(encrypt) => Step::Encrypt(encrypt),
            State::Done(established) => Step::Done(established),
            State::Failed(error) => Step::Failed(error),
        }
    }

    fn fail(&mut self, error: HandshakeError) {
        self.outgoing.clear();
        self.state = State::Failed(error);
    }

    fn handle_next(&mut self, buffer: &[u8], at: &mut usize) -> Result<(), HandshakeError> {
        let Some(packet) = self.reader.next(buffer, at)? else {
            return Ok(());
        };
        if let State::Greeting = self.state {
            let greeting = greeting(packet)?;
            return self.handle_greeting(greeting);
        }
        let progress = self.authentication.handle_packet(packet, self.agreed)?;
        self.handle_progress(progress);
        Ok(())
    }

    fn handle_greeting(&mut self, greeting: Greeting) -> Result<(), HandshakeError> {
        self.agreed = agree(&self.config, &greeting)?;
        self.greeting = Some(greeting);
        if self.config.tls == Tls::Disabled {
            return self.introduce();
        }
        let mut payload = Vec::new();
        self.reply(b"", b"").encode_head(&mut payload);
        self.send(&payload);
        self.state = State::Tls;
        Ok(())
    }

    /// Says who the client is.
    fn introduce(&mut self) -> Result<(), HandshakeError> {
        self.state = State::Authentication;
        let (name, challenge) = match &self.greeting {
            Some(greeting) => (&greeting.plugin[..], &greeting.challenge[..]),
            None => (&b""[..], &b""[..]),
        };
        let by_name = self.agreed.contains(Capabilities::PLUGIN_AUTH);
        let name = if by_name {
            name
        } else {
            Plugin::NativePassword.name().as_bytes()
        };
        let (plugin, progress) = self.authentication.start(name, challenge)?;
        let Progress::Send(answer) = progress else {
            let what = "a plugin that does not answer a challenge";
            return Err(ProtocolError::Unexpected {
                what,
                due: "one that does",
            }
            .into());
        };
        let mut payload = Vec::new();
        self.reply(&answer, plugin.name().as_bytes())
            .encode(&mut payload);
        self.send(&payload);
        Ok(())
    }

    fn reply<'a>(&'a self, answer: &'a [u8], plugin: &'a [u8]) -> Reply<'a> {
        let attributes = self.config.attributes.iter();
        Reply {
            capabilities: self.agreed,
            max_packet: self.config.max_packet,
            collation: self.config.collation,
            user: self.config.user.as_bytes(),
            answer,
            database: self.config.database.as_ref().map(String::as_bytes),
            plugin,
            attributes: attributes
                .map(|(n, v)| (n.as_bytes(), v.as_bytes()))
                .collect(),
        }
    }

    fn handle_progress(&mut self, progress: Progress) {
        match progress {
            Progress::Send(bytes) => self.send(&bytes),
            Progress::Encrypt(encrypt) => self.state = State::Encrypting(encrypt),
            Progress::Wait => {}
            Progress::Done(status) => {
                let Some(greeting) = self.greeting.take() else {
                    return;
                };
                self.state = State::Done(Established {
                    server: ServerInfo {
                        is_mariadb: greeting.is_mariadb(),
                        version: greeting.version,
                        connection_id: greeting.connection_id,
                        capabilities: greeting.capabilities,
                    },
                    capabilities: self.agreed,
                    status,
                });
            }
        }
    }

    fn send(&mut self, payload: &[u8]) {
        let mut packet = PacketWriter::begin(&mut self.outgoing, self.reader.sequence());
        packet.payload().extend_from_slice(payload);
        self.reader.expect(packet.finish());
    }
}

/// The greeting, or what the server says in place of it.
fn greeting(packet: &[u8]) -> Result<Greeting, HandshakeError> {
    match packet.first() {
        Some(0xff) => Err(match ServerError::parse(packet) {
            Some(error) => HandshakeError::Server(error),
            None => ProtocolError::malformed("error packet").into(),
        }),
        Some(10) => Ok(Greeting::parse(packet)?),
        _ => Err(HandshakeError::Unsupported {
            what: "version 10 of the protocol",
        }),
    }
}

/// What both sides will use.
fn agree(config: &Config, greeting: &Greeting) -> Result<Capabilities, HandshakeError> {
    for (flag, what) in REQUIRED {
        if !greeting.capabilities.contains(flag) {
            return Err(HandshakeError::Unsupported { what });
        }
    }
    let options = &config.options;
    let mut wanted = WANTED;
    for (flag, is_wanted) in [
        (Capabilities::MULTI_STATEMENTS, options.multi_statements),
        (Capabilities::LOCAL_FILES, options.local_infile),
        (Capabilities::FOUND_ROWS, options.found_rows),
        (Capabilities::INTERACTIVE, options.interactive),
        (Capabilities::IGNORE_SPACE, options.ignore_space),
        (Capabilities::MARIADB_PROGRESS, options.progress),
        (Capabilities::CONNECT_WITH_DB, config.database.is_some()),
        (
            Capabilities::COMPRESS,
            config.compression == Compression::Zlib,
        ),
        (Capabilities::SSL, config.tls == Tls::Required),
    ] {
        if is_wanted {
            wanted |= flag;
        }
    }
    let agreed = wanted & greeting.capabilities;
    if config.tls == Tls::Required && !agreed.contains(Capabilities::SSL) {
        return Err(HandshakeError::NoTls);
    }
    Ok(agreed)
}
