//! What a session begins with.

use std::fmt;

use crate::redis::Command;

/// Which version of the protocol is spoken.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Protocol {
    /// RESP3, and RESP2 with a server that does not know it. The default.
    #[default]
    Resp3WithFallback,
    /// RESP3 only: a server that does not know it is refused.
    Resp3,
    /// RESP2 only.
    Resp2,
}

/// The version that a session has agreed on.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Speaks {
    /// The older one: messages of subscriptions look like replies.
    Resp2,
    /// The newer one: messages are pushes.
    Resp3,
}

/// Who logs in, to which database, under which name, and what the client calls itself.
#[derive(Clone, Default, Eq, PartialEq)]
pub struct Login {
    /// Which version to speak.
    pub protocol: Protocol,
    /// The user of an access control list; none is `default`.
    pub user: Option<String>,
    /// The password; none with a user is an empty one, none without a user is no authentication.
    pub password: Option<String>,
    /// The connection's name in `CLIENT LIST`.
    pub client_name: Option<String>,
    /// The database, from 0.
    pub database: u32,
    /// The library's name and version for `CLIENT SETINFO`, which servers from 7.2 on show in `CLIENT LIST`.
    pub library: Option<(&'static str, &'static str)>,
}

impl Login {
    /// The user and the password, if there is to be authentication.
    fn credentials(&self) -> Option<(&str, &str)> {
        if self.user.is_none() && self.password.is_none() {
            return None;
        }
        Some((
            self.user.as_deref().unwrap_or("default"),
            self.password.as_deref().unwrap_or_default(),
        ))
    }

    /// `HELLO 3`, with all that it can do at once.
    pub(super) fn hello(&self) -> Command {
        let mut hello = Command::new("HELLO").arg(3);
        if let Some((user, password)) = self.credentials() {
            hello = hello.arg("AUTH").arg(user).arg(password);
        }
        match &self.client_name {
            Some(name) => hello.arg("SETNAME").arg(name.as_str()),
            None => hello,
        }
    }

    /// `AUTH`, which before access control lists takes no user.
    pub(super) fn auth(&self) -> Option<Command> {
        let (user, password) = self.credentials()?;
        let auth = Command::new("AUTH");
        Some(match &self.user {
            Some(_) => auth.arg(user).arg(password),
            None => auth.arg(password),
        })
    }

    pub(super) fn set_name(&self) -> Option<Command> {
        let name = self.client_name.as_deref()?;
        Some(Command::new("CLIENT SETNAME").arg(name))
    }

    /// A new session is in database 0 already.
    pub(super) fn select(&self) -> Option<Command> {
        (self.database != 0).then(|| Command::new("SELECT").arg(self.database))
    }

    pub(super) fn set_info(&self) -> impl Iterator<Item = Command> {
        let pairs = self
            .library
            .map(|(name, version)| [("LIB-NAME", name), ("LIB-VER", version)]);
        pairs
            .into_iter()
            .flatten()
            .map(|(key, value)| Command::new("CLIENT SETINFO").arg(key).arg(value))
    }
}

/// Shows no secret.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login")
            .field("protocol", &self.protocol)
            .field("user", &self.user)
            .field("password", &self.password.is_some())
            .field("client_name", &self.client_name)
            .field("database", &self.database)
            .finish_non_exhaustive()
    }
}
