//! The plugins by name, and sets of them.

use super::caching_sha2::CachingSha2;
use super::clear::Clear;
use super::client_ed25519::ClientEd25519;
use super::native::Native;
use super::parsec::Parsec;
use super::sha256::Sha256Password;
use super::{AuthError, Login, Turn};

/// A way to prove who one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Plugin {
    /// `mysql_native_password`: SHA-1. The default of MariaDB; gone from MySQL 9.
    NativePassword,
    /// `caching_sha2_password`: the default of MySQL 8 and 9.
    CachingSha2Password,
    /// `sha256_password` of MySQL.
    Sha256Password,
    /// `client_ed25519` of MariaDB.
    Ed25519,
    /// `parsec` of MariaDB 11.6 and later.
    Parsec,
    /// `mysql_clear_password`: the password as it is. Only ever over verified TLS, and not allowed by default.
    ClearPassword,
}

impl Plugin {
    const ALL: [Self; 6] = [
        Self::NativePassword,
        Self::CachingSha2Password,
        Self::Sha256Password,
        Self::Ed25519,
        Self::Parsec,
        Self::ClearPassword,
    ];

    /// Its name in the protocol.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NativePassword => "mysql_native_password",
            Self::CachingSha2Password => "caching_sha2_password",
            Self::Sha256Password => "sha256_password",
            Self::Ed25519 => "client_ed25519",
            Self::Parsec => "parsec",
            Self::ClearPassword => "mysql_clear_password",
        }
    }

    /// The plugin of that name.
    #[must_use]
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|plugin| plugin.name().as_bytes() == name)
    }

    /// Its state machine, at its beginning.
    pub(crate) fn begin(self) -> Box<dyn State> {
        match self {
            Self::NativePassword => Box::new(Native),
            Self::CachingSha2Password => Box::<CachingSha2>::default(),
            Self::Sha256Password => Box::<Sha256Password>::default(),
            Self::Ed25519 => Box::new(ClientEd25519),
            Self::Parsec => Box::<Parsec>::default(),
            Self::ClearPassword => Box::new(Clear),
        }
    }
}

/// What all plugins have in common.
pub(crate) trait State: std::fmt::Debug + Send + Sync {
    /// Takes the server's challenge.
    fn start(&mut self, challenge: &[u8], login: &Login<'_>) -> Result<Turn, AuthError>;

    /// Takes what the server says then.
    fn handle_data(&mut self, data: &[u8], login: &Login<'_>) -> Result<Turn, AuthError>;
}

/// A set of plugins: those that a server may ask a client for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plugins(u8);

impl Plugins {
    /// None.
    #[must_use]
    pub const fn none() -> Self {
        Self(0)
    }

    /// This set, and `plugin`.
    #[must_use]
    pub const fn with(self, plugin: Plugin) -> Self {
        Self(self.0 | 1 << plugin as u8)
    }

    /// This set without `plugin`.
    #[must_use]
    pub const fn without(self, plugin: Plugin) -> Self {
        Self(self.0 & !(1 << plugin as u8))
    }

    /// Whether `plugin` is one of them.
    #[must_use]
    pub const fn contains(self, plugin: Plugin) -> bool {
        self.0 & (1 << plugin as u8) != 0
    }
}

impl Default for Plugins {
    /// All but [`ClearPassword`](Plugin::ClearPassword).
    fn default() -> Self {
        Plugin::ALL
            .into_iter()
            .fold(Self::none(), Self::with)
            .without(Plugin::ClearPassword)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugins_are_found_by_their_names() {
        for plugin in Plugin::ALL {
            assert_eq!(Plugin::from_name(plugin.name().as_bytes()), Some(plugin));
            assert_eq!(
                Plugins::default().contains(plugin),
                plugin != Plugin::ClearPassword
            );
            assert!(Plugins::none().with(plugin).contains(plugin));
            assert!(!Plugins::default().without(plugin).contains(plugin));
        }
        assert_eq!(Plugin::from_name(b"mysql_old_password"), None);
    }
}
