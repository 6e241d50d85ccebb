//! How a client proves who it is.
//!
//! Each plugin is a small state machine: it is given the server's challenge, then whatever data the server sends for
//! it, and says what to do next. [`Handshake`](super::handshake::Handshake) and
//! [`ChangeUser`](super::handshake::ChangeUser) run them: they read the packets of the exchange, switch plugins when
//! the server asks for it, and go on to the next factor.
//!
//! No random numbers are drawn here and no RSA is done: the first are a parameter, the second is a step of the caller.
//! The answers of `parsec` and `client_ed25519` are computed here, and take some milliseconds and some tens of
//! microseconds of the caller's thread.

mod authentication;
mod caching_sha2;
mod clear;
mod client_ed25519;
mod ed25519;
mod error;
mod native;
mod parsec;
mod pbkdf2;
mod plugin;
mod secret;
mod sha256;
mod xor;

pub use self::error::AuthError;
pub use self::plugin::{Plugin, Plugins};
pub use self::secret::Secret;

pub(crate) use self::authentication::{Authentication, Progress};
pub(crate) use self::caching_sha2::{CachingSha2, FAST, FULL, WANT_KEY};
pub(crate) use self::native::Native;

/// How well what a client says is kept from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// TCP: everybody on the way can listen.
    Plain,
    /// A Unix socket: nobody can.
    Local,
    /// TLS without a certificate that was verified: a listener learns nothing, somebody in the middle does.
    Encrypted,
    /// TLS with a certificate that was verified.
    Verified,
}

impl Channel {
    /// Whether a password may be sent as it is by a plugin that must know whom it talks to as little as MySQL's own
    /// clients do.
    pub(crate) fn is_private(self) -> bool {
        self != Self::Plain
    }
}

/// With which key of the server a password is encrypted on a [plain](Channel::Plain) channel, where
/// `caching_sha2_password` and `sha256_password` ask for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ServerKey {
    /// With none: authentication fails before anything secret is sent. The default.
    #[default]
    Refuse,
    /// With the one that the server sends. Whoever stands between can send another one, and learn the password.
    Fetch,
    /// With this one, in PEM form.
    Pinned(Vec<u8>),
}

/// What a plugin knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Login<'a> {
    pub(crate) password: &'a Secret,
    pub(crate) channel: Channel,
    pub(crate) server_key: &'a ServerKey,
    /// Random bytes of the client, used once.
    pub(crate) random: &'a [u8; 32],
}

/// What a plugin wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// These bytes sent.
    Send(Vec<u8>),
    /// Something encrypted, and then sent.
    Encrypt(Encrypt),
    /// Nothing: the server speaks.
    Wait,
}

/// A secret to be encrypted by the caller, since no RSA is done here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encrypt {
    /// The server's public key in PEM form: `SubjectPublicKeyInfo`, RSA.
    pub public_key: Vec<u8>,
    /// What is to be encrypted, by RSA-OAEP with SHA-1 for both digests and no label.
    pub plaintext: Secret,
}
