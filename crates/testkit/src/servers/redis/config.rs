//! What a test wants of its server, and the configuration file that says so.

use std::fmt::{self, Write};
use std::net::SocketAddr;
use std::path::Path;

use super::Product;

/// What to start. The default is Redis with TCP, TLS (which asks for no client certificate) and a Unix
/// socket, without a password, on 16 databases.
#[derive(Clone, Default)]
pub struct Options {
    pub(super) product: Product,
    pub(super) demand_client_certificates: bool,
    pub(super) password: Option<String>,
    users: Vec<(String, String)>,
    lines: Vec<String>,
}

impl Options {
    /// Another implementation than Redis.
    #[must_use]
    pub fn product(mut self, product: Product) -> Self {
        self.product = product;
        self
    }

    /// The TLS port refuses clients that show no certificate of the server's authority (mTLS).
    #[must_use]
    pub fn demand_client_certificates(mut self) -> Self {
        self.demand_client_certificates = true;
        self
    }

    /// The default user's password; [`RedisServer::cli`](super::RedisServer::cli) knows it.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self
    }

    /// A user who may do everything: `user NAME on >PASSWORD ~* &* +@all`.
    #[must_use]
    pub fn user(self, name: &str, password: &str) -> Self {
        self.user_with(name, password, &["~*", "&*", "+@all"])
    }

    /// A user with these rules of Redis's ACL, such as `~app:*` and `+get`.
    #[must_use]
    pub fn user_with(mut self, name: &str, password: &str, rules: &[&str]) -> Self {
        let rules: String = rules
            .iter()
            .map(|rule| format!(" {}", Quoted(rule)))
            .collect();
        let password = format!(">{password}");
        let user = format!("user {} on {}{rules}", Quoted(name), Quoted(&password));
        self.users.push((name.to_owned(), user));
        self
    }

    /// One more line of the configuration file, such as `maxclients 8`.
    #[must_use]
    pub fn line(mut self, line: &str) -> Self {
        self.lines.push(line.to_owned());
        self
    }

    /// The configuration file of a server that listens on these, with its files in `dir`.
    pub(super) fn file(&self, plain: SocketAddr, tls: SocketAddr, dir: &Path) -> String {
        let mut file = String::new();
        let dir = dir.to_string_lossy();
        let auth_clients = match self.demand_client_certificates {
            true => "yes",
            // A client may show one all the same, and then it must be good.
            false => "optional",
        };
        // Nothing outlives the server: no snapshots, no log of writes.
        let _ = writeln!(
            file,
            "bind 127.0.0.1\nport {}\ntls-port {}\nunixsocket {}\nunixsocketperm 600\n\
             tls-cert-file {}\ntls-key-file {}\ntls-ca-cert-file {}\ntls-auth-clients {auth_clients}\n\
             dir {}\nsave \"\"\nappendonly no\ndaemonize no\nlogfile \"\"\n\
             enable-debug-command local",
            plain.port(),
            tls.port(),
            Quoted(&format!("{dir}/s")),
            Quoted(&format!("{dir}/server.pem")),
            Quoted(&format!("{dir}/server-key.pem")),
            Quoted(&format!("{dir}/authority.pem")),
            Quoted(&dir),
        );
        if let Some(password) = &self.password {
            let _ = writeln!(file, "requirepass {}", Quoted(password));
        }
        for line in self.users.iter().map(|(_, line)| line).chain(&self.lines) {
            let _ = writeln!(file, "{line}");
        }
        file
    }
}

/// Names the users; never shows a password.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let users: Vec<_> = self.users.iter().map(|(name, _)| name).collect();
        f.debug_struct("Options")
            .field("product", &self.product)
            .field(
                "demand_client_certificates",
                &self.demand_client_certificates,
            )
            .field("users", &users)
            .field("lines", &self.lines)
            .finish_non_exhaustive()
    }
}

/// A word of the configuration file in double quotes, with the escapes that its reader knows.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for byte in self.0.bytes() {
            match byte {
                b'"' | b'\\' => write!(f, "\\{}", char::from(byte))?,
                b' '..=b'~' => f.write_char(char::from(byte))?,
                other => write!(f, "\\x{other:02x}")?,
            }
        }
        f.write_str("\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_any_bytes_is_quoted_as_the_server_reads_it() {
        assert_eq!(
            Quoted("pa ss\"\\#é").to_string(),
            "\"pa ss\\\"\\\\#\\xc3\\xa9\""
        );
    }

    #[test]
    fn debug_names_users_and_shows_no_password() {
        let options = Options::default().password("p1").user("app", "p2");
        let shown = format!("{options:?}");
        assert!(
            shown.contains("app") && !shown.contains("p1") && !shown.contains("p2"),
            "{shown}"
        );
    }
}
