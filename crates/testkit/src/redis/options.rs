//! What an embedded server is like.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use arknet_proto::redis::server::RequestLimits;

/// The version that it says it is: the first that knows all that it does.
pub(super) const VERSION: &str = "7.2.0";

/// What a Redis has by default.
const DATABASES: usize = 16;

/// Far more than a test writes, far less than a machine has.
const MAX_MEMORY: usize = 256 * 1024 * 1024;

/// As Redis has it.
const MAX_CLIENTS: usize = 10_000;

/// How to start an [`EmbeddedServer`](super::EmbeddedServer).
#[derive(Clone)]
pub struct Options {
    pub(super) password: Option<String>,
    pub(super) users: BTreeMap<String, String>,
    pub(super) databases: usize,
    pub(super) max_memory: usize,
    pub(super) max_clients: usize,
    pub(super) limits: RequestLimits,
    pub(super) tls: bool,
    pub(super) demand_client_certificates: bool,
    pub(super) refused: BTreeSet<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            password: None,
            users: BTreeMap::new(),
            databases: DATABASES,
            max_memory: MAX_MEMORY,
            max_clients: MAX_CLIENTS,
            limits: RequestLimits::default(),
            tls: false,
            demand_client_certificates: false,
            refused: BTreeSet::new(),
        }
    }
}

impl Options {
    /// The default user's password. Default: none is asked for.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self
    }

    /// A user who may do everything.
    #[must_use]
    pub fn user(mut self, name: &str, password: &str) -> Self {
        self.users.insert(name.to_owned(), password.to_owned());
        self
    }

    /// The number of databases. Default: 16.
    #[must_use]
    pub fn databases(mut self, databases: usize) -> Self {
        self.databases = databases.max(1);
        self
    }

    /// Bytes of all keys and values, beyond which writes are refused as `OOM`. Default: 256 MiB.
    #[must_use]
    pub fn max_memory(mut self, bytes: usize) -> Self {
        self.max_memory = bytes;
        self
    }

    /// Clients at once; one more is told so and closed. Default: 10,000.
    #[must_use]
    pub fn max_clients(mut self, clients: usize) -> Self {
        self.max_clients = clients;
        self
    }

    /// How large a request may be.
    #[must_use]
    pub fn limits(mut self, limits: RequestLimits) -> Self {
        self.limits = limits;
        self
    }

    /// It listens with TLS too. Default: it does not, and no certificate is made.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// It listens with TLS too, and refuses clients there that show no certificate of its authority.
    #[must_use]
    pub fn demand_client_certificates(mut self) -> Self {
        self.tls = true;
        self.demand_client_certificates = true;
        self
    }

    /// It does not know this command, or subcommand such as `CLIENT SETINFO`, as managed servers do not
    /// know all of them.
    #[must_use]
    pub fn refuse_command(mut self, command: &str) -> Self {
        self.refused.insert(command.to_ascii_lowercase());
        self
    }

    pub(super) fn settings(&self) -> Settings {
        Settings {
            password: self.password.clone(),
            users: self.users.clone(),
            max_memory: self.max_memory,
            refused: self.refused.clone(),
            loading: false,
            read_only: false,
        }
    }
}

/// Names the users; never shows a password.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("users", &self.users.keys())
            .field("databases", &self.databases)
            .field("max_memory", &self.max_memory)
            .field("max_clients", &self.max_clients)
            .field("tls", &self.tls)
            .field(
                "demand_client_certificates",
                &self.demand_client_certificates,
            )
            .field("refused", &self.refused)
            .finish_non_exhaustive()
    }
}

/// What commands ask of the options, some of which a test changes while the server runs.
pub(super) struct Settings {
    pub(super) password: Option<String>,
    users: BTreeMap<String, String>,
    pub(super) max_memory: usize,
    pub(super) refused: BTreeSet<String>,
    pub(super) loading: bool,
    pub(super) read_only: bool,
}

impl Settings {
    /// Whether `user` may come in with `password`.
    pub(super) fn admits(&self, user: &str, password: &[u8]) -> bool {
        let known = match user {
            // Without a password any will do.
            "default" if self.password.is_none() => return true,
            "default" => self.password.as_ref(),
            user => self.users.get(user),
        };
        known.is_some_and(|known| known.as_bytes() == password)
    }

    /// Whether it does as if it did not know `command`, in lower case.
    pub(super) fn refuses(&self, command: &str) -> bool {
        !self.refused.is_empty() && self.refused.contains(command)
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("refused", &self.refused)
            .field("loading", &self.loading)
            .field("read_only", &self.read_only)
            .finish_non_exhaustive()
    }
}
