//! What a handshake agreed on.

use std::fmt;

use rustls::ProtocolVersion;

/// A version of the protocol. Older ones are not spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Version {
    /// TLS 1.2 (RFC 5246).
    Tls12,
    /// TLS 1.3 (RFC 8446).
    Tls13,
}

impl Version {
    pub(super) fn from_wire(version: ProtocolVersion) -> Option<Self> {
        match version {
            ProtocolVersion::TLSv1_2 => Some(Self::Tls12),
            ProtocolVersion::TLSv1_3 => Some(Self::Tls13),
            _ => None,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tls12 => "TLS 1.2",
            Self::Tls13 => "TLS 1.3",
        })
    }
}

/// What the handshake of a connection agreed on. Never changes afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// The protocol's version.
    pub version: Version,
    /// The cipher suite by its name in the registry of IANA, as `TLS13_AES_256_GCM_SHA384`.
    pub cipher_suite: &'static str,
    /// The application protocol, when both sides named it.
    pub alpn: Option<Vec<u8>>,
    /// The DNS name that the client asked for: on a server from the wire (SNI), on a client
    /// the one it was given. `None` for IP addresses.
    pub server_name: Option<String>,
    /// Whether an earlier session was resumed.
    pub resumed: bool,
    /// The peer's certificates in DER, its own first; empty when it presented none. Those of
    /// the original handshake when the session was resumed.
    pub peer_certificates: Vec<Vec<u8>>,
}
