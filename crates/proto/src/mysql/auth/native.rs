//! `mysql_native_password`: SHA-1, and what the server stores is as good as the password to whoever listened once.

use sha1::{Digest, Sha1};

use super::plugin::State;
use super::xor::xor;
use super::{AuthError, Login, Turn};

const NAME: &str = "mysql_native_password";

/// The state machine of the plugin: one answer to one challenge.
#[derive(Clone, Debug, Default)]
pub(crate) struct Native;

impl Native {
    /// What a client answers to a challenge of 20 bytes.
    pub(crate) fn answer(password: &[u8], challenge: &[u8]) -> Vec<u8> {
        if password.is_empty() {
            return Vec::new();
        }
        let mut answer = Sha1::digest(password);
        let stored = Sha1::digest(answer);
        xor(&mut answer, &over(challenge, &stored));
        answer.to_vec()
    }

    /// Whether `answer` is the answer to `challenge` of a client that knows the password: the server's side.
    pub(crate) fn verify(password: &[u8], challenge: &[u8], answer: &[u8]) -> bool {
        Self::answer(password, challenge) == answer
    }
}

fn over(challenge: &[u8], stored: &[u8]) -> [u8; 20] {
    Sha1::new()
        .chain_update(challenge)
        .chain_update(stored)
        .finalize()
        .into()
}

impl State for Native {
    fn start(&mut self, challenge: &[u8], login: &Login<'_>) -> Result<Turn, AuthError> {
        if challenge.len() != 20 {
            return Err(AuthError::Malformed {
                plugin: NAME,
                what: "challenge",
            });
        }
        Ok(Turn::Send(Self::answer(login.password.expose(), challenge)))
    }

    fn handle_data(&mut self, _data: &[u8], _login: &Login<'_>) -> Result<Turn, AuthError> {
        Err(AuthError::Malformed {
            plugin: NAME,
            what: "message",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHALLENGE: [u8; 20] = [
        70, 114, 92, 94, 1, 38, 11, 116, 63, 114, 23, 101, 126, 103, 26, 95, 81, 17, 24, 21,
    ];

    #[test]
    fn the_answer_is_that_of_other_clients() {
        let answer = Native::answer(b"secret", &CHALLENGE);
        let known = [
            53, 177, 140, 159, 251, 189, 127, 53, 109, 252, 172, 50, 211, 192, 240, 164, 26, 48,
            207, 45,
        ];
        assert_eq!(answer, known);
        assert!(Native::verify(b"secret", &CHALLENGE, &known));
        assert!(!Native::verify(b"Secret", &CHALLENGE, &known));
    }

    #[test]
    fn no_password_is_no_answer() {
        assert_eq!(Native::answer(b"", &CHALLENGE), b"");
        assert!(Native::verify(b"", &CHALLENGE, b""));
        assert!(!Native::verify(b"secret", &CHALLENGE, b""));
    }
}
