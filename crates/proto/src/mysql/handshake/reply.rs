//! The client's answer to the greeting.

use crate::mysql::capabilities::Capabilities;
use crate::mysql::error::ProtocolError;
use crate::mysql::wire::{Reader, put_lenenc, put_lenenc_bytes, put_nul_bytes, put_u32};

/// What a client says of itself. Borrowed from the packet, or from a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reply<'a> {
    /// What both sides will use.
    pub capabilities: Capabilities,
    /// The largest packet that the client takes.
    pub max_packet: u32,
    /// The number of the collation to begin with.
    pub collation: u8,
    /// The account's name.
    pub user: &'a [u8],
    /// The answer to the challenge.
    pub answer: &'a [u8],
    /// The schema to begin in.
    pub database: Option<&'a [u8]>,
    /// The plugin that the answer is for.
    pub plugin: &'a [u8],
    /// Connection attributes.
    pub attributes: Vec<(&'a [u8], &'a [u8])>,
}

/// What a client may send after the greeting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyKind<'a> {
    /// It wants TLS first, and says what it will say again then.
    TlsRequest(Capabilities),
    /// It says who it is.
    Reply(Reply<'a>),
}

/// Bytes of the part that a request for TLS consists of.
const HEAD: usize = 32;

impl<'a> Reply<'a> {
    pub(crate) fn encode_head(&self, payload: &mut Vec<u8>) {
        put_u32(payload, self.capabilities.common());
        put_u32(payload, self.max_packet);
        payload.push(self.collation);
        payload.extend_from_slice(&[0; 19]);
        put_u32(payload, self.capabilities.mariadb());
    }

    pub(crate) fn encode(&self, payload: &mut Vec<u8>) {
        let has = |flag| self.capabilities.contains(flag);
        self.encode_head(payload);
        put_nul_bytes(payload, self.user);
        if has(Capabilities::PLUGIN_AUTH_LENENC) {
            put_lenenc_bytes(payload, self.answer);
        } else {
            // No answer has more than 255 bytes but a password in clear, which servers without the flag do not ask for.
            let answer = self.answer.get(..255).unwrap_or(self.answer);
            payload.push(answer.len() as u8);
            payload.extend_from_slice(answer);
        }
        if has(Capabilities::CONNECT_WITH_DB) {
            put_nul_bytes(payload, self.database.unwrap_or_default());
        }
        if has(Capabilities::PLUGIN_AUTH) {
            put_nul_bytes(payload, self.plugin);
        }
        if has(Capabilities::CONNECT_ATTRS) {
            encode_attributes(payload, &self.attributes);
        }
    }

    /// Reads what a client sent, as a server does. `offered` are the server's capabilities.
    ///
    /// # Errors
    ///
    /// [`ProtocolError::Malformed`].
    pub fn parse(packet: &'a [u8], offered: Capabilities) -> Result<ReplyKind<'a>, ProtocolError> {
        Self::read(packet, offered).ok_or(ProtocolError::malformed("handshake reply"))
    }

    fn read(packet: &'a [u8], offered: Capabilities) -> Option<ReplyKind<'a>> {
        let mut reader = Reader::new(packet);
        let mut bits = u64::from(reader.u32()?);
        let max_packet = reader.u32()?;
        let collation = reader.u8()?;
        reader.take(19)?;
        let extended = reader.u32()?;
        if !Capabilities::from_bits(bits).contains(Capabilities::MYSQL) {
            bits |= u64::from(extended) << 32;
        }
        let capabilities = Capabilities::from_bits(bits) & offered;
        if packet.len() == HEAD && capabilities.contains(Capabilities::SSL) {
            return Some(ReplyKind::TlsRequest(capabilities));
        }
        let has = |flag| capabilities.contains(flag);
        let user = reader.nul_bytes()?;
        let answer = if has(Capabilities::PLUGIN_AUTH_LENENC) {
            reader.lenenc_bytes()?
        } else {
            let len = reader.u8()?;
            reader.take(usize::from(len))?
        };
        let mut database = None;
        if has(Capabilities::CONNECT_WITH_DB) {
            database = Some(reader.nul_bytes()?).filter(|name| !name.is_empty());
        }
        let mut plugin = &b""[..];
        if has(Capabilities::PLUGIN_AUTH) {
            plugin = reader.nul_bytes()?;
        }
        let mut attributes = Vec::new();
        if has(Capabilities::CONNECT_ATTRS) && !reader.is_empty() {
            attributes = read_attributes(reader.lenenc_bytes()?)?;
        }
        Some(ReplyKind::Reply(Self {
            capabilities,
            max_packet,
            collation,
            user,
            answer,
            database,
            plugin,
            attributes,
        }))
    }
}

pub(super) fn encode_attributes(payload: &mut Vec<u8>, attributes: &[(&[u8], &[u8])]) {
    let mut pairs = Vec::new();
    for (name, value) in attributes {
        put_lenenc_bytes(&mut pairs, name);
        put_lenenc_bytes(&mut pairs, value);
    }
    put_lenenc(payload, pairs.len() as u64);
    payload.extend_from_slice(&pairs);
}

pub(crate) fn read_attributes(pairs: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut reader = Reader::new(pairs);
    let mut attributes = Vec::new();
    while !reader.is_empty() {
        attributes.push((reader.lenenc_bytes()?, reader.lenenc_bytes()?));
    }
    Some(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Capabilities = Capabilities::from_bits(u64::MAX);

    /// From the protocol's documentation: user `pam` of a client of MySQL 5.5.8.
    const REAL: &[u8] = b"\x8d\xa6\x0f\0\0\0\0\x01\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0pam\0\x14\xab\x09\xee\xf6\xbc\xb1\x32\x3e\x61\x14\x38\x65\xc0\x99\x1d\x95\x7d\x75\xd4\x47test\0mysql_native_password\0";

    #[test]
    fn a_real_reply_is_read_and_written() {
        let ReplyKind::Reply(reply) = Reply::parse(REAL, ALL).unwrap() else {
            panic!()
        };
        assert_eq!(
            (reply.user, reply.database),
            (&b"pam"[..], Some(&b"test"[..]))
        );
        assert_eq!(
            (reply.plugin, reply.answer.len()),
            (&b"mysql_native_password"[..], 20)
        );
        assert_eq!((reply.collation, reply.max_packet), (8, 1 << 24));
        let mut again = Vec::new();
        reply.encode(&mut again);
        assert_eq!(again, REAL);
    }

    #[test]
    fn attributes_and_everything_else_come_through() {
        let long = [b'a'; 300];
        let reply = Reply {
            capabilities: ALL.without(Capabilities::MYSQL),
            max_packet: 7,
            collation: 45,
            user: b"root",
            answer: &long,
            database: None,
            plugin: b"mysql_clear_password",
            attributes: vec![
                (b"_client_name", b"arknet"),
                (b"empty", b""),
                (b"long", &long),
            ],
        };
        let mut packet = Vec::new();
        reply.encode(&mut packet);
        assert_eq!(
            Reply::parse(&packet, ALL),
            Ok(ReplyKind::Reply(reply.clone()))
        );
        for cut in 0..packet.len() {
            match Reply::parse(&packet[..cut], ALL) {
                Err(_) => {}
                Ok(ReplyKind::TlsRequest(_)) => assert_eq!(cut, HEAD),
                Ok(ReplyKind::Reply(less)) => assert!(less.attributes.is_empty()),
            }
        }
    }

    #[test]
    fn a_request_for_tls_is_the_head_alone() {
        let ReplyKind::Reply(mut reply) = Reply::parse(REAL, ALL).unwrap() else {
            panic!()
        };
        reply.capabilities |= Capabilities::SSL;
        let mut packet = Vec::new();
        reply.encode_head(&mut packet);
        assert_eq!(packet.len(), HEAD);
        let asked = Reply::parse(&packet, ALL);
        assert_eq!(asked, Ok(ReplyKind::TlsRequest(reply.capabilities)));
        assert!(Reply::parse(&packet, ALL.without(Capabilities::SSL)).is_err());
    }
}
