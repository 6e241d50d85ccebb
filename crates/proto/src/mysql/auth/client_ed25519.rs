//! `client_ed25519` of MariaDB: a signature of the challenge, with a key made of the password.

use super::ed25519::Signer;
use super::plugin::State;
use super::{AuthError, Login, Turn};

const NAME: &str = "client_ed25519";

/// The state machine of the plugin: one answer to one challenge of 32 bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientEd25519;

impl State for ClientEd25519 {
    fn start(&mut self, challenge: &[u8], login: &Login<'_>) -> Result<Turn, AuthError> {
        if challenge.len() != 32 {
            return Err(AuthError::Malformed {
                plugin: NAME,
                what: "challenge",
            });
        }
        let signature = Signer::new(login.password.expose()).sign(challenge);
        Ok(Turn::Send(signature.to_vec()))
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
    use super::super::{Channel, Secret, ServerKey};
    use super::*;

    /// The vector is that of the server's own tests.
    #[test]
    fn the_answer_is_that_of_other_clients() {
        let password = Secret::new("foobar");
        let login = Login {
            password: &password,
            channel: Channel::Plain,
            server_key: &ServerKey::Refuse,
            random: &[0; 32],
        };
        let known = [
            232, 61, 201, 63, 67, 63, 51, 53, 86, 73, 238, 35, 170, 117, 146, 214, 26, 17, 35, 9,
            8, 132, 245, 141, 48, 99, 66, 58, 36, 228, 48, 84, 115, 254, 187, 168, 88, 162, 249,
            57, 35, 85, 79, 238, 167, 106, 68, 117, 56, 135, 171, 47, 20, 14, 133, 79, 15, 229,
            124, 160, 176, 100, 138, 14,
        ];
        let turn = ClientEd25519.start(&[b'A'; 32], &login);
        assert_eq!(turn, Ok(Turn::Send(known.to_vec())));
        let malformed = Err(AuthError::Malformed {
            plugin: NAME,
            what: "challenge",
        });
        assert_eq!(ClientEd25519.start(&[b'A'; 20], &login), malformed);
    }
}
