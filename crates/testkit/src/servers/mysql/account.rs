//! Whom a server knows: an account for each plugin, with a password and without.

use super::Product;

/// Somebody who may log in from everywhere, by TCP, TLS and the Unix socket.
///
/// All but [`Product::guest`] may do everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// The user's name.
    pub user: &'static str,
    /// The password in clear; it is nobody's secret.
    pub password: &'static str,
    /// The plugin's name on the server, such as `ed25519`.
    pub plugin: &'static str,
    /// What is demanded of the connection: nothing, `SSL` or `X509`.
    pub requires: Option<&'static str>,
}

const NATIVE: &str = "mysql_native_password";
const ED25519: &str = "ed25519";
const PARSEC: &str = "parsec";
const CACHING_SHA2: &str = "caching_sha2_password";
const SHA256: &str = "sha256_password";

const NATIVE_ACCOUNTS: &[Account] = &[
    Account::new("native", "pässword", NATIVE),
    Account::new("native_empty", "", NATIVE),
];
const ED25519_ACCOUNTS: &[Account] = &[
    Account::new("ed25519", "s3cret", ED25519),
    Account::new("ed25519_empty", "", ED25519),
];
const PARSEC_ACCOUNTS: &[Account] = &[
    Account::new("parsec", "s3cret", PARSEC),
    Account::new("parsec_empty", "", PARSEC),
];
const SHA2_ACCOUNTS: &[Account] = &[
    Account::new("cached", "pässword", CACHING_SHA2),
    Account::new("cached_empty", "", CACHING_SHA2),
    Account::new("sha256", "s3cret", SHA256),
    Account::new("sha256_empty", "", SHA256),
];

impl Account {
    const fn new(user: &'static str, password: &'static str, plugin: &'static str) -> Self {
        Self {
            user,
            password,
            plugin,
            requires: None,
        }
    }

    const fn requiring(mut self, what: &'static str) -> Self {
        self.requires = Some(what);
        self
    }

    /// One statement a line, as an init file wants it.
    fn statements(self, product: Product) -> [String; 2] {
        let Self {
            user,
            password,
            plugin,
            requires,
        } = self;
        let identified = match product {
            Product::MySql => format!("WITH {plugin} BY '{password}'"),
            Product::MariaDb | Product::MariaDb11 => {
                format!("VIA {plugin} USING PASSWORD('{password}')")
            }
        };
        let require = requires.map_or_else(String::new, |what| format!(" REQUIRE {what}"));
        let grant = match user {
            GUEST => format!("GRANT USAGE ON *.* TO '{user}'@'%';"),
            _ => format!("GRANT ALL ON *.* TO '{user}'@'%' WITH GRANT OPTION;"),
        };
        [
            format!("CREATE USER '{user}'@'%' IDENTIFIED {identified}{require};"),
            grant,
        ]
    }
}

const GUEST: &str = "guest";

impl Product {
    /// An account for each plugin of the server, with a password and with an empty one.
    #[must_use]
    pub fn accounts(self) -> Vec<Account> {
        let known: &[&[Account]] = match self {
            Self::MariaDb => &[NATIVE_ACCOUNTS, ED25519_ACCOUNTS],
            Self::MariaDb11 => &[NATIVE_ACCOUNTS, ED25519_ACCOUNTS, PARSEC_ACCOUNTS],
            Self::MySql => &[SHA2_ACCOUNTS],
        };
        known.concat()
    }

    /// For tests that care for no plugin: the server's usual one, with a password.
    #[must_use]
    pub fn app(self) -> Account {
        Account::new("app", "s3cret: /?#%@ é", self.usual_plugin())
    }

    /// One that the server refuses in clear, also on the Unix socket where it is MySQL's.
    #[must_use]
    pub fn tls_only(self) -> Account {
        Account::new("tls_only", "s3cret", self.usual_plugin()).requiring("SSL")
    }

    /// One that must show a certificate of [`authority`](super::MySqlServer::authority)'s.
    #[must_use]
    pub fn certified(self) -> Account {
        Account::new("certified", "s3cret", self.usual_plugin()).requiring("X509")
    }

    /// One that may do nothing, not even use a schema.
    #[must_use]
    pub fn guest(self) -> Account {
        Account::new(GUEST, "s3cret", self.usual_plugin())
    }

    fn usual_plugin(self) -> &'static str {
        match self {
            Self::MariaDb | Self::MariaDb11 => NATIVE,
            Self::MySql => CACHING_SHA2,
        }
    }

    /// What makes the accounts and the schema `test`, one statement a line.
    pub(super) fn setup(self) -> String {
        let more = [self.app(), self.tls_only(), self.certified(), self.guest()];
        let mut lines = vec![
            "CREATE DATABASE test CHARACTER SET utf8mb4;".to_owned(),
            // Without names, the loopback address is not `localhost`.
            "CREATE USER IF NOT EXISTS root@127.0.0.1;".to_owned(),
            "GRANT ALL ON *.* TO root@127.0.0.1 WITH GRANT OPTION;".to_owned(),
        ];
        for account in self.accounts().into_iter().chain(more) {
            lines.extend(account.statements(self));
        }
        lines.join("\n") + "\n"
    }
}
