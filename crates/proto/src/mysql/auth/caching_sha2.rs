//! `caching_sha2_password`, the default of MySQL 8 and 9.
//!
//! The client answers the challenge. A server that has seen the password before says so (fast); one that has not, asks
//! for the password itself (full), which then needs a channel that nobody listens to, or the server's public key.

use sha2::{Digest, Sha256};

use super::plugin::State;
use super::xor::xor;
use super::{AuthError, Encrypt, Login, Secret, ServerKey, Turn};

const NAME: &str = "caching_sha2_password";

/// The server's word that the answer was right.
pub(crate) const FAST: u8 = 3;

/// The server's word that it wants the password.
pub(crate) const FULL: u8 = 4;

/// The client's word that it wants the server's public key.
pub(crate) const WANT_KEY: u8 = 2;

/// The state machine of the plugin.
#[derive(Clone, Debug, Default)]
pub(crate) struct CachingSha2 {
    challenge: Vec<u8>,
    state: Stage,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// The challenge has been answered.
    #[default]
    Answered,
    /// The server's public key was asked for.
    WantsKey,
    /// Nothing more is expected but the verdict.
    Over,
}

impl CachingSha2 {
    /// What a client answers to a challenge of 20 bytes.
    pub(crate) fn answer(password: &[u8], challenge: &[u8]) -> Vec<u8> {
        if password.is_empty() {
            return Vec::new();
        }
        let mut answer = Sha256::digest(password);
        let stored = Sha256::digest(answer);
        let over = Sha256::new()
            .chain_update(stored)
            .chain_update(challenge)
            .finalize();
        xor(&mut answer, &over);
        answer.to_vec()
    }

    /// Whether `answer` is the answer to `challenge` of a client that knows the password: the server's side.
    pub(crate) fn verify(password: &[u8], challenge: &[u8], answer: &[u8]) -> bool {
        Self::answer(password, challenge) == answer
    }

    fn full(&mut self, login: &Login<'_>) -> Result<Turn, AuthError> {
        self.state = Stage::Over;
        if login.channel.is_private() {
            return Ok(Turn::Send(login.password.with_zero()));
        }
        match login.server_key {
            ServerKey::Refuse => Err(AuthError::PublicKeyRefused { plugin: NAME }),
            ServerKey::Pinned(key) => Ok(self.encrypt(key, login)),
            ServerKey::Fetch => {
                self.state = Stage::WantsKey;
                Ok(Turn::Send(vec![WANT_KEY]))
            }
        }
    }

    fn encrypt(&self, key: &[u8], login: &Login<'_>) -> Turn {
        Turn::Encrypt(Encrypt {
            public_key: key.to_vec(),
            plaintext: masked(login.password, &self.challenge),
        })
    }
}

/// The password and a zero over the challenge, as it is encrypted.
pub(super) fn masked(password: &Secret, challenge: &[u8]) -> Secret {
    let mut bytes = password.with_zero();
    xor(&mut bytes, challenge);
    Secret::new(bytes)
}

impl State for CachingSha2 {
    fn start(&mut self, challenge: &[u8], login: &Login<'_>) -> Result<Turn, AuthError> {
        if challenge.len() != 20 {
            return Err(AuthError::Malformed {
                plugin: NAME,
                what: "challenge",
            });
        }
        *self = Self {
            challenge: challenge.to_vec(),
            state: Stage::Answered,
        };
        Ok(Turn::Send(Self::answer(login.password.expose(), challenge)))
    }

    fn handle_data(&mut self, data: &[u8], login: &Login<'_>) -> Result<Turn, AuthError> {
        match (self.state, data) {
            (Stage::Answered, [FAST]) => {
                self.state = Stage::Over;
                Ok(Turn::Wait)
            }
            (Stage::Answered, [FULL]) => self.full(login),
            (Stage::WantsKey, key) if !key.is_empty() => {
                self.state = Stage::Over;
                Ok(self.encrypt(key, login))
            }
            _ => Err(AuthError::Malformed {
                plugin: NAME,
                what: "message",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Channel;
    use super::*;

    const CHALLENGE: [u8; 20] = [
        90, 105, 74, 126, 30, 48, 37, 56, 3, 23, 115, 127, 69, 22, 41, 84, 32, 123, 43, 118,
    ];

    struct Case {
        password: Secret,
        channel: Channel,
        server_key: ServerKey,
    }

    impl Case {
        fn new(channel: Channel, server_key: ServerKey) -> Self {
            Self {
                password: Secret::new("secret"),
                channel,
                server_key,
            }
        }

        fn run(&self, said: &[&[u8]]) -> Vec<Result<Turn, AuthError>> {
            let login = Login {
                password: &self.password,
                channel: self.channel,
                server_key: &self.server_key,
                random: &[0; 32],
            };
            let mut plugin = CachingSha2::default();
            let mut turns = vec![plugin.start(&CHALLENGE, &login)];
            turns.extend(said.iter().map(|data| plugin.handle_data(data, &login)));
            turns
        }
    }

    #[test]
    fn the_answer_is_that_of_other_clients() {
        let known = [
            102, 32, 5, 35, 143, 161, 140, 241, 171, 232, 56, 139, 43, 14, 107, 196, 249, 170, 147,
            60, 220, 204, 120, 178, 214, 15, 184, 150, 26, 61, 57, 235,
        ];
        assert_eq!(CachingSha2::answer(b"secret", &CHALLENGE), known);
        assert!(CachingSha2::verify(b"secret", &CHALLENGE, &known));
        assert_eq!(CachingSha2::answer(b"", &CHALLENGE), b"");
    }

    #[test]
    fn a_password_that_the_server_knows_is_not_sent() {
        let turns = Case::new(Channel::Plain, ServerKey::Refuse).run(&[&[FAST]]);
        assert_eq!(turns[1], Ok(Turn::Wait));
    }

    #[test]
    fn a_password_is_sent_as_it_is_where_nobody_listens() {
        for channel in [Channel::Local, Channel::Encrypted, Channel::Verified] {
            let turns = Case::new(channel, ServerKey::Refuse).run(&[&[FULL]]);
            assert_eq!(turns[1], Ok(Turn::Send(b"secret\0".to_vec())));
        }
    }

    #[test]
    fn a_password_needs_a_key_where_somebody_may_listen() {
        let turns = Case::new(Channel::Plain, ServerKey::Refuse).run(&[&[FULL]]);
        assert_eq!(turns[1], Err(AuthError::PublicKeyRefused { plugin: NAME }));

        let encrypted = |key: &[u8]| {
            let plaintext = masked(&Secret::new("secret"), &CHALLENGE);
            Ok(Turn::Encrypt(Encrypt {
                public_key: key.to_vec(),
                plaintext,
            }))
        };
        let turns = Case::new(Channel::Plain, ServerKey::Pinned(b"pem".to_vec())).run(&[&[FULL]]);
        assert_eq!(turns[1], encrypted(b"pem"));

        let turns = Case::new(Channel::Plain, ServerKey::Fetch).run(&[&[FULL], b"its pem"]);
        assert_eq!(turns[1], Ok(Turn::Send(vec![WANT_KEY])));
        assert_eq!(turns[2], encrypted(b"its pem"));
    }

    #[test]
    fn the_plaintext_is_the_password_over_the_challenge() {
        let mut bytes = masked(&Secret::new("secret"), &CHALLENGE).expose().to_vec();
        xor(&mut bytes, &CHALLENGE);
        assert_eq!(bytes, b"secret\0");
    }

    #[test]
    fn nothing_else_is_understood() {
        let refused = Err(AuthError::Malformed {
            plugin: NAME,
            what: "message",
        });
        let case = Case::new(Channel::Verified, ServerKey::Fetch);
        for said in [&[][..], &[5], &[FAST, FAST], b"-----BEGIN PUBLIC KEY-----"] {
            assert_eq!(case.run(&[said])[1], refused);
        }
        assert_eq!(
            case.run(&[&[FAST], &[FULL]])[2],
            refused,
            "a password after the verdict"
        );
        assert_eq!(
            case.run(&[&[FULL], &[FULL]])[2],
            refused,
            "a password twice"
        );
    }
}
