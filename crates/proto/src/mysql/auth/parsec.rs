//! `parsec` of MariaDB 11.6 and later: a key derived from the password with a salt, and a signature of two challenges.

use super::ed25519::Signer;
use super::pbkdf2;
use super::plugin::State;
use super::{AuthError, Login, Turn};

const NAME: &str = "parsec";

/// Bytes of each side's challenge.
const CHALLENGE: usize = 32;

/// Bytes of the salt.
const SALT: usize = 18;

/// The most that the server may ask for, 1024 << 3 rounds: it costs the client some milliseconds.
const MAX_FACTOR: u8 = 3;

/// The state machine of the plugin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parsec {
    challenge: Vec<u8>,
}

impl State for Parsec {
    /// An empty answer asks for the salt.
    fn start(&mut self, challenge: &[u8], _login: &Login<'_>) -> Result<Turn, AuthError> {
        if challenge.len() != CHALLENGE {
            return Err(AuthError::Malformed {
                plugin: NAME,
                what: "challenge",
            });
        }
        self.challenge = challenge.to_vec();
        Ok(Turn::Send(Vec::new()))
    }

    fn handle_data(&mut self, data: &[u8], login: &Login<'_>) -> Result<Turn, AuthError> {
        let malformed = AuthError::Malformed {
            plugin: NAME,
            what: "salt",
        };
        let [b'P', factor @ 0..=MAX_FACTOR, salt @ ..] = data else {
            return Err(malformed);
        };
        if salt.len() != SALT || self.challenge.len() != CHALLENGE {
            return Err(malformed);
        }
        let key = pbkdf2::derive(login.password.expose(), salt, 1024 << factor);
        let mut message = std::mem::take(&mut self.challenge);
        message.extend_from_slice(login.random);
        let mut answer = login.random.to_vec();
        answer.extend_from_slice(&Signer::new(&key).sign(&message));
        Ok(Turn::Send(answer))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Channel, Secret, ServerKey};
    use super::*;

    fn run(said: &[&[u8]]) -> Vec<Result<Turn, AuthError>> {
        let password = Secret::new("secret");
        let login = Login {
            password: &password,
            channel: Channel::Plain,
            server_key: &ServerKey::Refuse,
            random: &[2; 32],
        };
        let mut plugin = Parsec::default();
        let mut turns = vec![plugin.start(&[1; 32], &login)];
        turns.extend(said.iter().map(|data| plugin.handle_data(data, &login)));
        turns
    }

    #[test]
    fn the_answer_is_the_clients_challenge_and_a_signature_of_both() {
        let mut salt = b"P\x01".to_vec();
        salt.extend([9; 18]);
        let turns = run(&[&salt, &salt]);
        assert_eq!(turns[0], Ok(Turn::Send(Vec::new())), "asks for the salt");
        let Ok(Turn::Send(answer)) = &turns[1] else {
            panic!("{turns:?}")
        };
        assert_eq!(answer.len(), 96);
        assert_eq!(answer[..32], [2; 32]);
        let signer = Signer::new(&pbkdf2::derive(b"secret", &[9; 18], 2048));
        assert_eq!(answer[32..], signer.sign(&[[1; 32], [2; 32]].concat()));
        assert!(turns[2].is_err(), "once");
    }

    #[test]
    fn a_salt_that_costs_too_much_is_refused() {
        for (head, len) in [
            (b"P\x04", 18),
            (b"Q\x00", 18),
            (b"P\x00", 17),
            (b"P\x00", 19),
        ] {
            let mut salt = head.to_vec();
            salt.extend(vec![9; len]);
            let malformed = AuthError::Malformed {
                plugin: NAME,
                what: "salt",
            };
            assert_eq!(run(&[&salt])[1], Err(malformed));
        }
    }
}
