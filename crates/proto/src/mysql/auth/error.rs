//! Why a client does not go on with authentication.

/// The longest name of a plugin that an error quotes, in bytes.
const MAX_NAME: usize = 64;

/// Authentication ended on the client's side, without another byte being sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The server wants a plugin that is not known here.
    #[error("the server asks for the authentication plugin `{name}`, which is not supported")]
    UnknownPlugin {
        /// Its name, as the server wrote it.
        name: String,
    },
    /// The server wants a plugin that the configuration does not allow.
    #[error(
        "the server asks for the authentication plugin `{name}`, which the configuration does not allow"
    )]
    NotAllowed {
        /// Its name.
        name: &'static str,
    },
    /// The server wants the password as it is, and the channel is not one where the client knows whom it tells.
    #[error("the server asks for the password in clear, which is sent over verified TLS only")]
    ClearPassword,
    /// The server wants the password encrypted with its public key, and none may be used.
    #[error(
        "`{plugin}` needs TLS, a Unix socket, a pinned public key of the server, or leave to fetch it"
    )]
    PublicKeyRefused {
        /// The plugin's name.
        plugin: &'static str,
    },
    /// The server asks for one more factor than there are passwords.
    #[error("the server asks for a password number {factor}, and {configured} are configured")]
    NoPassword {
        /// The factor, from 1.
        factor: usize,
        /// How many passwords there are.
        configured: usize,
    },
    /// The server's data are not what the plugin defines.
    #[error("`{plugin}`: malformed {what} from the server")]
    Malformed {
        /// The plugin's name.
        plugin: &'static str,
        /// What was being read.
        what: &'static str,
    },
}

impl AuthError {
    pub(crate) fn unknown(name: &[u8]) -> Self {
        let name = name.get(..MAX_NAME).unwrap_or(name);
        Self::UnknownPlugin {
            name: String::from_utf8_lossy(name).into_owned(),
        }
    }
}
