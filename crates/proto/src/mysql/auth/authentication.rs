//! The exchange that ends in "yes" or "no", whichever plugins it goes through.

use super::plugin::State;
use super::{AuthError, Channel, Encrypt, Login, Plugin, Plugins, Secret, ServerKey, Turn};
use crate::mysql::capabilities::{Capabilities, Status};
use crate::mysql::error::{ProtocolError, ServerError};
use crate::mysql::handshake::HandshakeError;
use crate::mysql::ok::OkPacket;
use crate::mysql::wire::Reader;

/// Packets that a server may send before it says yes or no. Three factors, each with a switch, a key and two messages,
/// take twelve.
const MAX_PACKETS: usize = 24;

/// One authentication, over all its factors.
#[derive(Debug)]
pub(crate) struct Authentication {
    passwords: Vec<Secret>,
    server_key: ServerKey,
    allowed: Plugins,
    random: [u8; 32],
    channel: Channel,
    /// Which of the passwords is asked for.
    factor: usize,
    plugin: Option<Box<dyn State>>,
    packets: usize,
}

/// What the exchange wants next.
#[derive(Debug)]
pub(crate) enum Progress {
    /// A packet with these bytes sent.
    Send(Vec<u8>),
    /// Something encrypted, and sent.
    Encrypt(Encrypt),
    /// More from the server.
    Wait,
    /// The server said yes.
    Done(Status),
}

impl Authentication {
    pub(crate) fn new(
        passwords: Vec<Secret>,
        server_key: ServerKey,
        allowed: Plugins,
        random: [u8; 32],
    ) -> Self {
        Self {
            passwords,
            server_key,
            allowed,
            random,
            channel: Channel::Plain,
            factor: 0,
            plugin: None,
            packets: 0,
        }
    }

    pub(crate) fn set_channel(&mut self, channel: Channel) {
        self.channel = channel;
    }

    /// The plugin to name first, and the answer to the challenge of the server's greeting.
    ///
    /// Where the server names one that is not known or allowed here, the account may have another: an empty answer
    /// makes the server say which.
    pub(crate) fn start(
        &mut self,
        name: &[u8],
        challenge: &[u8],
    ) -> Result<(Plugin, Progress), HandshakeError> {
        let Some(plugin) = Plugin::from_name(name).filter(|plugin| self.may_begin_with(*plugin))
        else {
            self.plugin = None;
            return Ok((Plugin::NativePassword, Progress::Send(Vec::new())));
        };
        Ok((plugin, self.begin(plugin, challenge)?))
    }

    /// The plugin of the greeting is that of the server's default account, not of ours: nothing may fail, and no
    /// password be sent as it is, on its account.
    fn may_begin_with(&self, plugin: Plugin) -> bool {
        let answers_openly = matches!(plugin, Plugin::ClearPassword | Plugin::Sha256Password);
        self.allowed.contains(plugin) && !answers_openly
    }

    fn begin(&mut self, plugin: Plugin, challenge: &[u8]) -> Result<Progress, HandshakeError> {
        if !self.allowed.contains(plugin) {
            return Err(AuthError::NotAllowed {
                name: plugin.name(),
            }
            .into());
        }
        let mut state = plugin.begin();
        let turn = state.start(challenge, &self.login()?)?;
        self.plugin = Some(state);
        Ok(turn.into())
    }

    fn login(&self) -> Result<Login<'_>, AuthError> {
        let configured = self.passwords.len();
        let password = self
            .passwords
            .get(self.factor)
            .ok_or(AuthError::NoPassword {
                factor: self.factor + 1,
                configured,
            })?;
        Ok(Login {
            password,
            channel: self.channel,
            server_key: &self.server_key,
            random: &self.random,
        })
    }

    pub(crate) fn handle_packet(
        &mut self,
        packet: &[u8],
        agreed: Capabilities,
    ) -> Result<Progress, HandshakeError> {
        self.packets += 1;
        if self.packets > MAX_PACKETS {
            let what = "one more message";
            return Err(ProtocolError::Unexpected {
                what,
                due: "the end of authentication",
            }
            .into());
        }
        match packet.first() {
            None => Err(ProtocolError::malformed("authentication packet").into()),
            Some(0x00) => Ok(Progress::Done(OkPacket::parse(packet, agreed)?.status)),
            Some(0xff) => Err(match ServerError::parse(packet) {
                Some(error) => HandshakeError::Server(error),
                None => ProtocolError::malformed("error packet").into(),
            }),
            Some(0xfe) => self.handle_switch(packet),
            Some(0x02) if agreed.contains(Capabilities::MULTI_FACTOR) => {
                self.factor += 1;
                self.handle_switch(packet)
            }
            Some(0x01) => self.handle_data(packet.get(1..).unwrap_or_default()),
            // MariaDB marks the data of a plugin only where they could be taken for something else.
            Some(_) => self.handle_data(packet),
        }
    }

    fn handle_switch(&mut self, packet: &[u8]) -> Result<Progress, HandshakeError> {
        let mut reader = Reader::new(packet);
        let malformed = || ProtocolError::malformed("request for an authentication plugin");
        reader.u8().ok_or_else(malformed)?;
        if reader.is_empty() {
            // Before plugins had names, this was the request for the oldest one.
            return Err(AuthError::unknown(b"mysql_old_password").into());
        }
        let name = reader.nul_bytes().ok_or_else(malformed)?;
        let plugin = Plugin::from_name(name).ok_or_else(|| AuthError::unknown(name))?;
        self.begin(plugin, without_zero(reader.rest()))
    }

    fn handle_data(&mut self, data: &[u8]) -> Result<Progress, HandshakeError> {
        let Some(mut state) = self.plugin.take() else {
            let what = "data of an authentication plugin";
            return Err(ProtocolError::Unexpected {
                what,
                due: "the name of one",
            }
            .into());
        };
        let turn = state.handle_data(data, &self.login()?)?;
        self.plugin = Some(state);
        Ok(turn.into())
    }
}

impl From<Turn> for Progress {
    fn from(turn: Turn) -> Self {
        match turn {
            Turn::Send(bytes) => Self::Send(bytes),
            Turn::Encrypt(encrypt) => Self::Encrypt(encrypt),
            Turn::Wait => Self::Wait,
        }
    }
}

/// A challenge of 20 bytes has a zero behind it, which is not a part of it. One of 32 has none.
pub(crate) fn without_zero(challenge: &[u8]) -> &[u8] {
    match challenge {
        [challenge @ .., 0] if challenge.len() == 20 => challenge,
        _ => challenge,
    }
}
