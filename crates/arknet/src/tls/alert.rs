//! The alerts that a peer sends when it ends a connection.

use std::fmt;

/// An alert of the TLS protocol (RFC 8446 section 6): why the peer gave up.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Alert(u8);

impl Alert {
    /// The peer has sent all it had.
    pub(super) const CLOSE_NOTIFY: Self = Self(0);
    /// A message came that has no place here.
    pub(super) const UNEXPECTED_MESSAGE: Self = Self(10);
    /// A record failed authentication.
    pub(super) const BAD_RECORD_MAC: Self = Self(20);
    /// A record was larger than the protocol allows.
    pub(super) const RECORD_OVERFLOW: Self = Self(22);
    /// A field was out of its range.
    pub(super) const ILLEGAL_PARAMETER: Self = Self(47);
    /// A message could not be parsed.
    pub(super) const DECODE_ERROR: Self = Self(50);
    /// The fault is the sender's own.
    pub(super) const INTERNAL_ERROR: Self = Self(80);
    /// The user ended the handshake; meaningless after it, and harmless.
    pub(super) const USER_CANCELED: Self = Self(90);
    /// TLS 1.2: a second handshake on the same connection is declined.
    pub(super) const NO_RENEGOTIATION: Self = Self(100);

    pub(super) const fn new(code: u8) -> Self {
        Self(code)
    }

    /// The alert's number in the registry of IANA.
    pub const fn code(self) -> u8 {
        self.0
    }

    /// The name that RFC 8446 gives the alert, in words.
    pub const fn name(self) -> &'static str {
        match self.0 {
            0 => "close notify",
            10 => "unexpected message",
            20 => "bad record mac",
            22 => "record overflow",
            40 => "handshake failure",
            42 => "bad certificate",
            43 => "unsupported certificate",
            44 => "certificate revoked",
            45 => "certificate expired",
            46 => "certificate unknown",
            47 => "illegal parameter",
            48 => "unknown certificate authority",
            49 => "access denied",
            50 => "decode error",
            51 => "decrypt error",
            70 => "protocol version",
            71 => "insufficient security",
            80 => "internal error",
            86 => "inappropriate fallback",
            90 => "user canceled",
            100 => "no renegotiation",
            109 => "missing extension",
            110 => "unsupported extension",
            112 => "unrecognized name",
            113 => "bad certificate status response",
            115 => "unknown psk identity",
            116 => "certificate required",
            120 => "no application protocol",
            _ => "unregistered alert",
        }
    }

    /// Whether the peer refused our certificate, or that we had none.
    pub const fn is_about_certificate(self) -> bool {
        matches!(self.0, 42..=46 | 48 | 113 | 116)
    }
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.0)
    }
}

impl fmt::Debug for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Alert({self})")
    }
}
