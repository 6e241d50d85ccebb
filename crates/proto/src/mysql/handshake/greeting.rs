//! The server's first packet.

use crate::mysql::auth::Plugin;
use crate::mysql::capabilities::{Capabilities, Status};
use crate::mysql::error::ProtocolError;
use crate::mysql::wire::{Reader, put_nul_bytes, put_u16, put_u32};

/// MariaDB puts it before its version, so that replicas of old take it for MySQL 5.5.
const MARIADB_PREFIX: &str = "5.5.5-";

/// What a server says first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Greeting {
    /// The server's version, such as `9.7.4` or `10.11.19-MariaDB-0+deb12u1`.
    pub version: String,
    /// The connection's number. Proxies say 0 or a number of their own: what `KILL` takes is `CONNECTION_ID()`.
    pub connection_id: u32,
    /// What the server can do.
    pub capabilities: Capabilities,
    /// The number of its default collation.
    pub collation: u8,
    /// Its state.
    pub status: Status,
    /// The plugin of its default account.
    pub plugin: Vec<u8>,
    /// The challenge for that plugin.
    pub challenge: Vec<u8>,
}

impl Greeting {
    /// A greeting as a server makes it, with a challenge of 20 random bytes, none of which may be zero.
    #[must_use]
    pub fn new(
        version: impl Into<String>,
        connection_id: u32,
        capabilities: Capabilities,
        plugin: Plugin,
        challenge: [u8; 20],
    ) -> Self {
        Self {
            version: version.into(),
            connection_id,
            capabilities,
            collation: super::UTF8MB4,
            status: Status::AUTOCOMMIT,
            plugin: plugin.name().into(),
            challenge: challenge.into(),
        }
    }

    /// Whether it is MariaDB: it says so in its version, and by leaving out a flag.
    #[must_use]
    pub fn is_mariadb(&self) -> bool {
        !self.capabilities.contains(Capabilities::MYSQL) || self.version.contains("MariaDB")
    }

    /// Reads the packet, whose first byte is the version of the protocol, 10.
    pub(crate) fn parse(packet: &[u8]) -> Result<Self, ProtocolError> {
        Self::read(packet).ok_or(ProtocolError::malformed("greeting"))
    }

    fn read(packet: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(packet);
        if reader.u8()? != 10 {
            return None;
        }
        let version = String::from_utf8_lossy(reader.nul_bytes()?).into_owned();
        let connection_id = reader.u32()?;
        let mut challenge = reader.take(8)?.to_vec();
        reader.u8()?;
        let low = u64::from(reader.u16()?);
        let collation = reader.u8()?;
        let status = Status::from_bits(reader.u16()?);
        let mut bits = low | u64::from(reader.u16()?) << 16;
        let challenge_len = usize::from(reader.u8()?);
        reader.take(6)?;
        let extended = reader.u32()?;
        if !Capabilities::from_bits(bits).contains(Capabilities::MYSQL) {
            bits |= u64::from(extended) << 32;
        }
        let capabilities = Capabilities::from_bits(bits);
        let rest = challenge_len.saturating_sub(8).max(13);
        if capabilities.contains(Capabilities::SECURE_CONNECTION) {
            challenge.extend_from_slice(reader.take(rest)?);
            if challenge.last() == Some(&0) {
                challenge.pop();
            }
        }
        let mut plugin = Vec::new();
        if capabilities.contains(Capabilities::PLUGIN_AUTH) {
            // Some servers of the 5.5 and 5.6 series left the zero out.
            plugin = reader.nul_bytes().unwrap_or(reader.rest()).to_vec();
        }
        let version = match version.strip_prefix(MARIADB_PREFIX) {
            Some(real) if real.contains("MariaDB") => real.to_owned(),
            _ => version,
        };
        Some(Self {
            version,
            connection_id,
            capabilities,
            collation,
            status,
            plugin,
            challenge,
        })
    }

    /// Writes the payload of the packet, as a server does.
    pub fn encode(&self, payload: &mut Vec<u8>) {
        let (first, second) = self.challenge.split_at(self.challenge.len().min(8));
        let common = self.capabilities.common();
        payload.push(10);
        put_nul_bytes(payload, self.version.as_bytes());
        put_u32(payload, self.connection_id);
        payload.extend_from_slice(first);
        payload.push(0);
        put_u16(payload, common as u16);
        payload.push(self.collation);
        put_u16(payload, self.status.bits());
        put_u16(payload, (common >> 16) as u16);
        payload.push(u8::try_from(self.challenge.len() + 1).unwrap_or(u8::MAX));
        payload.extend_from_slice(&[0; 6]);
        put_u32(payload, self.capabilities.mariadb());
        put_nul_bytes(payload, second);
        put_nul_bytes(payload, &self.plugin);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the protocol's documentation: MySQL 5.5.2, which had no plugins.
    const OLD: &[u8] = b"\x0a5.5.2-m2\0\x0b\0\0\0\x64\x76\x48\x40\x49\x2d\x43\x4a\0\xff\xf7\x08\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x2a\x34\x64\x7c\x63\x5a\x77\x6b\x34\x5e\x5d\x3a\0";

    /// From the protocol's documentation: MySQL 5.6.4.
    const WITH_PLUGIN: &[u8] = b"\x0a5.6.4-m7-log\0\x56\x0a\0\0\x52\x42\x33\x76\x7a\x26\x47\x72\0\xff\xff\x08\x02\0\x0f\xc0\x15\0\0\0\0\0\0\0\0\0\0\x2b\x79\x44\x26\x2f\x5a\x5a\x33\x30\x35\x5a\x47\0mysql_native_password\0";

    #[test]
    fn greetings_of_real_servers_are_read() {
        let greeting = Greeting::parse(OLD).unwrap();
        assert_eq!(
            (&*greeting.version, greeting.connection_id),
            ("5.5.2-m2", 11)
        );
        assert_eq!(greeting.challenge, b"dvH@I-CJ*4d|cZwk4^]:");
        assert_eq!(greeting.plugin, b"");

        let greeting = Greeting::parse(WITH_PLUGIN).unwrap();
        assert_eq!(
            (&*greeting.version, greeting.connection_id),
            ("5.6.4-m7-log", 2646)
        );
        assert_eq!(greeting.challenge, b"RB3vz&Gr+yD&/ZZ305ZG");
        assert_eq!(greeting.plugin, b"mysql_native_password");
        assert_eq!(greeting.status, Status::AUTOCOMMIT);
        assert_eq!(greeting.capabilities, Capabilities::from_bits(0xc00f_ffff));
        assert!(!greeting.is_mariadb());
        let mut again = Vec::new();
        greeting.encode(&mut again);
        assert_eq!(again, WITH_PLUGIN);
    }

    #[test]
    fn mariadb_is_told_by_its_flag_and_keeps_its_own_capabilities() {
        let capabilities = Capabilities::PROTOCOL_41
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::MARIADB_CACHE_METADATA;
        let version = "5.5.5-10.11.6-MariaDB";
        let greeting = Greeting::new(version, 7, capabilities, Plugin::NativePassword, [b'x'; 20]);
        let mut packet = Vec::new();
        greeting.encode(&mut packet);
        let read = Greeting::parse(&packet).unwrap();
        assert!(read.is_mariadb());
        assert_eq!(read.version, "10.11.6-MariaDB");
        assert_eq!(read.capabilities, capabilities);

        // The same bytes of a server that says it is MySQL mean nothing.
        let greeting = Greeting {
            capabilities: capabilities | Capabilities::MYSQL,
            ..greeting
        };
        packet.clear();
        greeting.encode(&mut packet);
        let read = Greeting::parse(&packet).unwrap();
        assert_eq!(read.capabilities.mariadb(), 0);
    }

    #[test]
    fn a_greeting_that_is_cut_is_an_error() {
        // The last zero may be missing, the plugin's name before it may be shorter.
        for cut in 0..WITH_PLUGIN.len() - "mysql_native_password\0".len() {
            assert!(Greeting::parse(&WITH_PLUGIN[..cut]).is_err(), "{cut}");
        }
        assert!(Greeting::parse(b"\x09whatever").is_err());
    }
}
