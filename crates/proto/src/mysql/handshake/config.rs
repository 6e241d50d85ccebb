//! What a client wants of a connection.

use super::UTF8MB4;
use crate::mysql::auth::{Plugins, Secret, ServerKey};

/// The longest text of connection attributes, in bytes. Servers take 64 KiB.
const MAX_ATTRIBUTES: usize = 65_535;

/// The longest user, in bytes: what a length of one byte holds.
const MAX_NAME: usize = 255;

/// Factors that a server can ask for.
const MAX_FACTORS: usize = 3;

/// What a client says of itself, and what it allows.
///
/// A configuration has no default for `random`: see there.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// The account's name.
    pub user: String,
    /// The account's passwords, one for each factor; none is the same as one that is empty.
    pub passwords: Vec<Secret>,
    /// The schema to begin in.
    pub database: Option<String>,
    /// Whether TLS is used.
    pub tls: Tls,
    /// Whether the connection is a Unix socket, on which nobody listens.
    pub local: bool,
    /// Whether the connection is compressed, if the server can.
    pub compression: Compression,
    /// The number of the collation to begin with. Default 45, `utf8mb4_general_ci`.
    pub collation: u8,
    /// Names and values that the server shows in `performance_schema.session_connect_attrs`.
    pub attributes: Vec<(String, String)>,
    /// The key for a password that must not be sent in clear.
    pub server_key: ServerKey,
    /// The plugins that the server may ask for.
    pub plugins: Plugins,
    /// What else is asked for.
    pub options: Options,
    /// The largest packet that this client takes, in bytes. Default 64 MiB.
    pub max_packet: u32,
    /// Random bytes, new for each connection: `parsec` signs them.
    pub random: [u8; 32],
}

/// Whether a connection changes to TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tls {
    /// It does not.
    #[default]
    Disabled,
    /// It does, and fails if the server cannot.
    Required,
}

/// Whether a connection is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// It is not.
    #[default]
    None,
    /// By zlib, where the server can.
    Zlib,
}

/// What a client may ask for. Each is off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Several statements in one query. Off, since it makes every injection worse.
    pub multi_statements: bool,
    /// The server may ask for the contents of a local file. Off, and then not advertised.
    pub local_infile: bool,
    /// `affected_rows` counts what an update found, not what it changed.
    pub found_rows: bool,
    /// The session counts as a person's: `interactive_timeout` applies.
    pub interactive: bool,
    /// Spaces are allowed between a function's name and its `(`.
    pub ignore_space: bool,
    /// MariaDB reports the progress of `ALTER TABLE` and the like.
    pub progress: bool,
}

/// A configuration that cannot be put into the packets of the handshake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidConfig {
    /// A zero byte where a zero ends the text.
    #[error("the {what} holds a zero byte")]
    Zero {
        /// Which text.
        what: &'static str,
    },
    /// A text too long for its packet.
    #[error("the {what} of {len} bytes exceeds the limit of {limit} bytes")]
    TooLong {
        /// Which text.
        what: &'static str,
        /// Its bytes.
        len: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// More passwords than factors.
    #[error("{count} passwords, where a server asks for {limit} at most")]
    TooManyPasswords {
        /// How many.
        count: usize,
        /// The limit.
        limit: usize,
    },
}

impl Config {
    /// A client of that name, without a password, without TLS. `random` must be random bytes that were not used before.
    #[must_use]
    pub fn new(user: impl Into<String>, random: [u8; 32]) -> Self {
        Self {
            user: user.into(),
            passwords: Vec::new(),
            database: None,
            tls: Tls::default(),
            local: false,
            compression: Compression::default(),
            collation: UTF8MB4,
            attributes: Vec::new(),
            server_key: ServerKey::default(),
            plugins: Plugins::default(),
            options: Options::default(),
            max_packet: 64 << 20,
            random,
        }
    }

    pub(super) fn check(&self) -> Result<(), InvalidConfig> {
        text("user", &self.user)?;
        if let Some(database) = &self.database {
            text("database", database)?;
        }
        let len = self
            .attributes
            .iter()
            .map(|(name, value)| name.len() + value.len() + 18)
            .sum();
        if len > MAX_ATTRIBUTES {
            let what = "list of connection attributes";
            return Err(InvalidConfig::TooLong {
                what,
                len,
                limit: MAX_ATTRIBUTES,
            });
        }
        let count = self.passwords.len();
        if count > MAX_FACTORS {
            return Err(InvalidConfig::TooManyPasswords {
                count,
                limit: MAX_FACTORS,
            });
        }
        Ok(())
    }

    /// One password at least.
    pub(super) fn factors(&self) -> Vec<Secret> {
        if self.passwords.is_empty() {
            return vec![Secret::default()];
        }
        self.passwords.clone()
    }
}

/// A text that ends with a zero.
pub(super) fn text(what: &'static str, text: &str) -> Result<(), InvalidConfig> {
    if text.bytes().any(|byte| byte == 0) {
        return Err(InvalidConfig::Zero { what });
    }
    if text.len() > MAX_NAME {
        return Err(InvalidConfig::TooLong {
            what,
            len: text.len(),
            limit: MAX_NAME,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_sent_is_refused() {
        let mut config = Config::new("root", [0; 32]);
        assert_eq!(config.check(), Ok(()));
        config.user = "ro\0ot".into();
        assert_eq!(config.check(), Err(InvalidConfig::Zero { what: "user" }));
        config.user = "u".repeat(256);
        let too_long = InvalidConfig::TooLong {
            what: "user",
            len: 256,
            limit: 255,
        };
        assert_eq!(config.check(), Err(too_long));
        config.user.clear();
        config.database = Some("d\0".into());
        assert_eq!(
            config.check(),
            Err(InvalidConfig::Zero { what: "database" })
        );
        config.database = None;
        config.attributes.push(("a".into(), "v".repeat(65_535)));
        assert!(matches!(config.check(), Err(InvalidConfig::TooLong { .. })));
        config.attributes.clear();
        config.passwords = vec![Secret::default(); 4];
        assert!(matches!(
            config.check(),
            Err(InvalidConfig::TooManyPasswords { .. })
        ));
    }

    #[test]
    fn debug_shows_no_password() {
        let mut config = Config::new("root", [0; 32]);
        config.passwords.push(Secret::new("hunter2"));
        assert!(!format!("{config:?}").contains("hunter2"));
    }
}
