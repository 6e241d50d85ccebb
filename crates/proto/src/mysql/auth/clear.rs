//! `mysql_clear_password`: the password as it is, for servers that hand it on (PAM, LDAP).

use super::plugin::State;
use super::{AuthError, Channel, Login, Turn};

/// The state machine of the plugin: it refuses everything but verified TLS, since it is the server that chooses the
/// plugin, and a false one would choose this.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clear;

impl State for Clear {
    fn start(&mut self, _challenge: &[u8], login: &Login<'_>) -> Result<Turn, AuthError> {
        if login.channel != Channel::Verified {
            return Err(AuthError::ClearPassword);
        }
        Ok(Turn::Send(login.password.with_zero()))
    }

    fn handle_data(&mut self, _data: &[u8], _login: &Login<'_>) -> Result<Turn, AuthError> {
        Err(AuthError::Malformed {
            plugin: "mysql_clear_password",
            what: "message",
        })
    }
}
