//! The server's side of the handshake.

use super::login::{Login, Verdict};
use super::responder::encode_error;
use crate::mysql::auth::{Plugin, Secret};
use crate::mysql::capabilities::{Capabilities, Status};
use crate::mysql::error::{ProtocolError, ServerError};
use crate::mysql::handshake::{Greeting, MAX_HANDSHAKE_PACKET, Reply, ReplyKind};
use crate::mysql::limits::Limits;
use crate::mysql::ok::OkPacket;
use crate::mysql::packet::{PacketReader, PacketWriter};
use crate::mysql::wire::{Reader, put_nul_bytes};

/// What a server offers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// What it says first.
    pub greeting: Greeting,
    /// The challenge of an account that has another plugin than the greeting's: random bytes, none of them zero.
    pub second_challenge: [u8; 20],
    /// Whether the connection is a Unix socket, on which nobody listens.
    pub local: bool,
    /// The key with which a client may encrypt its password, in PEM form.
    pub public_key: Option<Vec<u8>>,
}

/// An account, as far as proving it needs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Account {
    /// [`NativePassword`](Plugin::NativePassword) or [`CachingSha2Password`](Plugin::CachingSha2Password).
    pub plugin: Plugin,
    /// Its password.
    pub password: Secret,
    /// Whether the server has seen the password since it began, so that `caching_sha2_password` is fast.
    pub cached: bool,
}

impl Account {
    /// An account with a password that the server has seen.
    #[must_use]
    pub fn new(plugin: Plugin, password: Secret) -> Self {
        Self {
            plugin,
            password,
            cached: true,
        }
    }
}

/// The server's side of the handshake, from the greeting to yes or no. Driven like
/// [the client's](crate::mysql::handshake::Handshake).
#[derive(Debug)]
pub struct Handshake {
    config: Config,
    reader: PacketReader,
    state: State,
    encrypted: bool,
    accepted: Accepted,
    answer: Vec<u8>,
    /// The plugin that the client's answer was for.
    answered: Option<Plugin>,
    login: Option<Login>,
    outgoing: Vec<u8>,
}

#[derive(Debug)]
enum State {
    Reply,
    Tls,
    Account,
    /// The client was asked for another plugin.
    Switched,
    Proving,
    Decrypting(Vec<u8>),
    Accepted,
    Refused(RefusedClient),
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// Wait for bytes, and give them to [`Handshake::handle_input`].
    Read,
    /// Send what was appended to `wire`.
    Write,
    /// Begin TLS as its server, and say so by [`Handshake::handle_tls`].
    StartTls,
    /// Look the account of this client up, and say what it is by [`Handshake::handle_account`].
    FindAccount(&'a Accepted),
    /// Decrypt this with the private key (RSA-OAEP, SHA-1), and give the result to [`Handshake::handle_decrypted`].
    Decrypt(&'a [u8]),
    /// The client was let in.
    Done(&'a Accepted),
    /// It was not. Close the connection, when all has been sent.
    Failed(&'a RefusedClient),
}

/// What a client said of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Accepted {
    /// What both sides use.
    pub capabilities: Capabilities,
    /// The account's name.
    pub user: Vec<u8>,
    /// The schema to begin in.
    pub database: Option<Vec<u8>>,
    /// The number of the collation to begin with.
    pub collation: u8,
    /// The largest packet that it takes, in bytes.
    pub max_packet: u32,
    /// Connection attributes.
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Why a client was not let in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RefusedClient {
    /// It broke the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// It is not who it says.
    #[error("access denied")]
    AccessDenied,
    /// It ended its stream.
    #[error("the client ended its stream during the handshake")]
    Ended,
}

impl Config {
    /// A server without TLS and without a key.
    #[must_use]
    pub fn new(greeting: Greeting, second_challenge: [u8; 20]) -> Self {
        Self {
            greeting,
            second_challenge,
            local: false,
            public_key: None,
        }
    }
}

impl Handshake {
    /// Greets the client.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let mut this = Self::begin(config, State::Reply);
        let mut payload = Vec::new();
        this.config.greeting.encode(&mut payload);
        this.send(&payload);
        this
    }

    /// Another account on an open connection: what followed the first byte of COM_CHANGE_USER. `agreed` are the
    /// capabilities of the connection, and `encrypted` says whether it uses TLS.
    ///
    /// # Errors
    ///
    /// [`ProtocolError::Malformed`].
    pub fn change_user(
        config: Config,
        request: &[u8],
        agreed: Capabilities,
        encrypted: bool,
    ) -> Result<Self, ProtocolError> {
        let mut this = Self::begin(config, State::Account);
        this.encrypted = encrypted;
        let read = || {
            let mut reader = Reader::new(request);
            let user = reader.nul_bytes()?.to_vec();
            let len = reader.u8()?;
            let _spent = reader.take(usize::from(len))?;
            let database = Some(reader.nul_bytes()?).filter(|name| !name.is_empty());
            let collation = reader.u16().unwrap_or_default() as u8;
            Some(Accepted {
                capabilities: agreed,
                user,
                database: database.map(<[u8]>::to_vec),
                collation,
                ..Accepted::default()
            })
        };
        this.accepted = read().ok_or(ProtocolError::malformed("change of user"))?;
        this.reader.expect(1);
        Ok(this)
    }

    fn begin(config: Config, state: State) -> Self {
        let limits = Limits {
            max_packet: MAX_HANDSHAKE_PACKET,
            ..Limits::default()
        };
        Self {
            config,
            reader: PacketReader::new(&limits),
            state,
            encrypted: false,
            accepted: Accepted::default(),
            answer: Vec::new(),
            answered: None,
            login: None,
            outgoing: Vec::new(),
        }
    }

    /// Takes what arrived, and returns how much of it is to be dropped from the front.
    pub fn handle_input(&mut self, buffer: &[u8]) -> usize {
        let mut at = 0;
        loop {
            let before = at;
            let result = match &self.state {
                State::Reply | State::Switched | State::Proving => {
                    self.handle_next(buffer, &mut at)
                }
                State::Refused(_) => return buffer.len(),
                State::Accepted => return at,
                State::Tls | State::Account | State::Decrypting(_) => match buffer.len() - at {
                    0 => Ok(()),
                    len => Err(ProtocolError::Unsolicited { len }),
                },
            };
            if let Err(error) = result {
                self.state = State::Refused(error.into());
                return buffer.len();
            }
            if at == before {
                return at;
            }
        }
    }

    /// The client ended its stream.
    pub fn handle_end(&mut self) {
        if !matches!(self.state, State::Accepted | State::Refused(_)) {
            self.state = State::Refused(RefusedClient::Ended);
        }
    }

    /// TLS has begun.
    pub fn handle_tls(&mut self) {
        if matches!(self.state, State::Tls) {
            self.encrypted = true;
            self.state = State::Reply;
        }
    }

    /// The account that [`Step::FindAccount`] asked for; `None` if there is none.
    pub fn handle_account(&mut self, account: Option<Account>) {
        if !matches!(self.state, State::Account) {
            return;
        }
        let Some(account) = account else {
            return self.deny();
        };
        let is_first = self.answered == Some(account.plugin)
            && self.config.greeting.plugin == account.plugin.name().as_bytes();
        let challenge = match <[u8; 20]>::try_from(&self.config.greeting.challenge[..]) {
            Ok(first) if is_first => first,
            _ => self.config.second_challenge,
        };
        self.login = Some(Login::new(
            account.plugin,
            account.password,
            challenge,
            account.cached,
            self.encrypted || self.config.local,
            self.config.public_key.clone(),
        ));
        if is_first {
            let answer = std::mem::take(&mut self.answer);
            return self.prove(&answer);
        }
        let mut payload = vec![0xfe];
        put_nul_bytes(&mut payload, account.plugin.name().as_bytes());
        put_nul_bytes(&mut payload, &challenge);
        self.send(&payload);
        self.state = State::Switched;
    }

    /// What [`Step::Decrypt`] asked for; `None` if it could not be decrypted.
    pub fn handle_decrypted(&mut self, plain: Option<&[u8]>) {
        if !matches!(self.state, State::Decrypting(_)) {
            return;
        }
        let verdict = match (&self.login, plain) {
            (Some(login), Some(plain)) => login.handle_decrypted(plain),
            _ => Verdict::No,
        };
        self.handle_verdict(verdict);
    }

    /// What is to be done next. What is to be sent is appended to `wire`.
    pub fn poll_step(&mut self, wire: &mut Vec<u8>) -> Step<'_> {
        if !self.outgoing.is_empty() {
            wire.append(&mut self.outgoing);
            return Step::Write;
        }
        match &self.state {
            State::Reply | State::Switched | State::Proving => Step::Read,
            State::Tls => Step::StartTls,
            State::Account => Step::FindAccount(&self.accepted),
            State::Decrypting(sealed) => Step::Decrypt(sealed),
            State::Accepted => Step::Done(&self.accepted),
            State::Refused(why) => Step::Failed(why),
        }
    }

    fn handle_next(&mut self, buffer: &[u8], at: &mut usize) -> Result<(), ProtocolError> {
        let offered = self.config.greeting.capabilities;
        let Some(packet) = self.reader.next(buffer, at)? else {
            return Ok(());
        };
        if !matches!(self.state, State::Reply) {
            let said = packet.to_vec();
            self.prove(&said);
            return Ok(());
        }
        match Reply::parse(packet, offered)? {
            ReplyKind::TlsRequest(_) if !self.encrypted => self.state = State::Tls,
            ReplyKind::TlsRequest(_) => {
                let what = "a second request for TLS";
                return Err(ProtocolError::Unexpected {
                    what,
                    due: "a handshake reply",
                });
            }
            ReplyKind::Reply(reply) => {
                self.answer = reply.answer.to_vec();
                self.answered = Plugin::from_name(reply.plugin);
                let attributes = reply.attributes.iter();
                self.accepted = Accepted {
                    capabilities: reply.capabilities,
                    user: reply.user.to_vec(),
                    database: reply.database.map(<[u8]>::to_vec),
                    collation: reply.collation,
                    max_packet: reply.max_packet,
                    attributes: attributes.map(|(n, v)| (n.to_vec(), v.to_vec())).collect(),
                };
                self.state = State::Account;
            }
        }
        Ok(())
    }

    fn prove(&mut self, said: &[u8]) {
        let verdict = self
            .login
            .as_mut()
            .map_or(Verdict::No, |login| login.handle(said));
        self.handle_verdict(verdict);
    }

    fn handle_verdict(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Yes => self.accept(),
            Verdict::No => self.deny(),
            Verdict::SayAndYes(data) => {
                self.say(&data);
                self.accept();
            }
            Verdict::Say(data) => {
                self.say(&data);
                self.state = State::Proving;
            }
            Verdict::Decrypt(sealed) => self.state = State::Decrypting(sealed),
        }
    }

    fn accept(&mut self) {
        let mut payload = Vec::new();
        let ok = OkPacket::with_status(Status::AUTOCOMMIT);
        ok.encode(&mut payload, 0, self.accepted.capabilities, b"");
        self.send(&payload);
        self.state = State::Accepted;
    }

    fn deny(&mut self) {
        let user = String::from_utf8_lossy(&self.accepted.user);
        let error = ServerError::new(1045, *b"28000", format!("Access denied for user '{user}'"));
        let mut payload = Vec::new();
        encode_error(&mut payload, &error, true);
        self.send(&payload);
        self.state = State::Refused(RefusedClient::AccessDenied);
    }

    fn say(&mut self, data: &[u8]) {
        let mut payload = vec![0x01];
        payload.extend_from_slice(data);
        self.send(&payload);
    }

    fn send(&mut self, payload: &[u8]) {
        let mut packet = PacketWriter::begin(&mut self.outgoing, self.reader.sequence());
        packet.payload().extend_from_slice(payload);
        self.reader.expect(packet.finish());
    }
}
