//! `sha256_password`: the password itself over TLS, or encrypted with the server's key.
//!
//! On a Unix socket the server wants it encrypted all the same, so the key is fetched there without asking for leave:
//! nobody is between.

use super::caching_sha2::masked;
use super::plugin::State;
use super::{AuthError, Channel, Encrypt, Login, ServerKey, Turn};

const NAME: &str = "sha256_password";

/// The client's word that it wants the server's public key.
const WANT_KEY: u8 = 1;

/// The state machine of the plugin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sha256Password {
    challenge: Vec<u8>,
    wants_key: bool,
}

impl Sha256Password {
    fn encrypt(&self, key: &[u8], login: &Login<'_>) -> Turn {
        Turn::Encrypt(Encrypt {
            public_key: key.to_vec(),
            plaintext: masked(login.password, &self.challenge),
        })
    }
}

impl State for Sha256Password {
    fn start(&mut self, challenge: &[u8], login: &Login<'_>) -> Result<Turn, AuthError> {
        if challenge.len() != 20 {
            return Err(AuthError::Malformed {
                plugin: NAME,
                what: "challenge",
            });
        }
        *self = Self {
            challenge: challenge.to_vec(),
            wants_key: false,
        };
        let over_tls = matches!(login.channel, Channel::Encrypted | Channel::Verified);
        if login.password.is_empty() || over_tls {
            return Ok(Turn::Send(login.password.with_zero()));
        }
        match (login.server_key, login.channel) {
            (ServerKey::Pinned(key), _) => Ok(self.encrypt(key, login)),
            (ServerKey::Fetch, _) | (_, Channel::Local) => {
                self.wants_key = true;
                Ok(Turn::Send(vec![WANT_KEY]))
            }
            (ServerKey::Refuse, _) => Err(AuthError::PublicKeyRefused { plugin: NAME }),
        }
    }

    fn handle_data(&mut self, data: &[u8], login: &Login<'_>) -> Result<Turn, AuthError> {
        if !self.wants_key || data.is_empty() {
            return Err(AuthError::Malformed {
                plugin: NAME,
                what: "message",
            });
        }
        self.wants_key = false;
        Ok(self.encrypt(data, login))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Secret;
    use super::*;

    fn run(
        password: &str,
        channel: Channel,
        key: &ServerKey,
        said: &[&[u8]],
    ) -> Vec<Result<Turn, AuthError>> {
        let password = Secret::new(password);
        let login = Login {
            password: &password,
            channel,
            server_key: key,
            random: &[0; 32],
        };
        let mut plugin = Sha256Password::default();
        let mut turns = vec![plugin.start(&[7; 20], &login)];
        turns.extend(said.iter().map(|data| plugin.handle_data(data, &login)));
        turns
    }

    #[test]
    fn a_password_is_sent_as_it_is_over_tls() {
        for channel in [Channel::Encrypted, Channel::Verified] {
            let turns = run("secret", channel, &ServerKey::Refuse, &[]);
            assert_eq!(turns, [Ok(Turn::Send(b"secret\0".to_vec()))]);
        }
    }

    #[test]
    fn no_password_needs_no_key() {
        let turns = run("", Channel::Plain, &ServerKey::Refuse, &[]);
        assert_eq!(turns, [Ok(Turn::Send(vec![0]))]);
    }

    #[test]
    fn a_password_needs_a_key_where_somebody_may_listen() {
        let turns = run("secret", Channel::Plain, &ServerKey::Refuse, &[]);
        assert_eq!(turns, [Err(AuthError::PublicKeyRefused { plugin: NAME })]);
        let encrypted = |key: &[u8]| {
            let plaintext = masked(&Secret::new("secret"), &[7; 20]);
            Ok(Turn::Encrypt(Encrypt {
                public_key: key.to_vec(),
                plaintext,
            }))
        };
        let pinned = ServerKey::Pinned(b"pem".to_vec());
        assert_eq!(
            run("secret", Channel::Plain, &pinned, &[]),
            [encrypted(b"pem")]
        );
        let turns = run(
            "secret",
            Channel::Plain,
            &ServerKey::Fetch,
            &[b"its pem", b"another"],
        );
        assert_eq!(turns[0], Ok(Turn::Send(vec![WANT_KEY])));
        assert_eq!(turns[1], encrypted(b"its pem"));
        assert_eq!(
            turns[2],
            Err(AuthError::Malformed {
                plugin: NAME,
                what: "message"
            })
        );
    }
}
