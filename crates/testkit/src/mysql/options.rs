//! What an embedded server is like.

use std::collections::BTreeMap;
use std::fmt;

use arknet_proto::mysql::auth::{Plugin, Secret};

/// What it says it is, unless it is to be MariaDB.
const MYSQL_VERSION: &str = "8.4.0-arknet";

const MARIADB_VERSION: &str = "11.8.0-MariaDB-arknet";

/// As many threads as a test machine bears; MySQL's own default is 151.
const MAX_CLIENTS: usize = 512;

/// How to start an [`EmbeddedServer`](super::EmbeddedServer). By default it resembles MySQL, knows `root`
/// without a password, and has no TLS.
#[derive(Clone)]
pub struct Options {
    pub(super) accounts: BTreeMap<String, (Plugin, Secret)>,
    pub(super) mariadb: bool,
    pub(super) tls: bool,
    pub(super) max_clients: usize,
}

impl Default for Options {
    fn default() -> Self {
        let root = (Plugin::CachingSha2Password, Secret::new(""));
        Self {
            accounts: BTreeMap::from([("root".to_owned(), root)]),
            mariadb: false,
            tls: false,
            max_clients: MAX_CLIENTS,
        }
    }
}

impl Options {
    /// An account of `mysql_native_password`.
    #[must_use]
    pub fn native(self, user: &str, password: &str) -> Self {
        self.account(user, Plugin::NativePassword, password)
    }

    /// An account of `caching_sha2_password`, whose password the server has not seen yet.
    #[must_use]
    pub fn caching_sha2(self, user: &str, password: &str) -> Self {
        self.account(user, Plugin::CachingSha2Password, password)
    }

    /// It resembles MariaDB, with that server's own capabilities.
    #[must_use]
    pub fn mariadb(mut self) -> Self {
        self.mariadb = true;
        self
    }

    /// It takes clients that ask for TLS, and shows a certificate for `localhost`, `127.0.0.1` and `::1`.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Clients at once; one more is told `Too many connections`. Default: 512.
    #[must_use]
    pub fn max_clients(mut self, clients: usize) -> Self {
        self.max_clients = clients;
        self
    }

    pub(super) fn version(&self) -> &'static str {
        if self.mariadb {
            MARIADB_VERSION
        } else {
            MYSQL_VERSION
        }
    }

    fn account(mut self, user: &str, plugin: Plugin, password: &str) -> Self {
        let known = (plugin, Secret::new(password));
        self.accounts.insert(user.to_owned(), known);
        self
    }
}

/// Names the accounts; never shows a password.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("accounts", &self.accounts.keys())
            .field("mariadb", &self.mariadb)
            .field("tls", &self.tls)
            .field("max_clients", &self.max_clients)
            .finish()
    }
}
