//! What a test wants of its server.

use std::path::Path;

use super::Product;
use super::product::argument;

/// What to start. The default is the system's MariaDB.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub(super) product: Product,
    without_tls: bool,
    arguments: Vec<String>,
}

impl Options {
    /// This server as it comes, with TLS for whoever asks.
    #[must_use]
    pub fn new(product: Product) -> Self {
        Self {
            product,
            ..Self::default()
        }
    }

    /// A server that offers no TLS at all.
    #[must_use]
    pub fn without_tls(mut self) -> Self {
        self.without_tls = true;
        self
    }

    /// One more argument, such as `--character-set-server=latin1`; later ones override earlier ones.
    ///
    /// What changes how data lie on disk (a page size, names in lower case) is not for a server
    /// whose data come from a template.
    #[must_use]
    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// All that is said of TLS, with files in `dir`, and the test's own arguments last.
    pub(super) fn arguments(&self, dir: &Path) -> Vec<String> {
        let mut arguments = match (self.without_tls, self.product) {
            (false, _) => vec![
                argument("ssl-ca", &dir.join("authority.pem")),
                argument("ssl-cert", &dir.join("server.pem")),
                argument("ssl-key", &dir.join("server-key.pem")),
            ],
            (true, Product::MySql) => vec!["--tls-version=".to_owned()],
            (true, _) => vec!["--skip-ssl".to_owned()],
        };
        arguments.extend(self.arguments.iter().cloned());
        arguments
    }
}
