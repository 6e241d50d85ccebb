//! How to reach a MySQL or MariaDB server, and what may be expected of it.

mod url;

use std::fmt;
use std::time::Duration;

use arknet_proto::mysql::Limits;
use arknet_proto::mysql::auth::{Plugin, Plugins, Secret, ServerKey};
use arknet_proto::mysql::handshake;

use super::Error;
#[cfg(feature = "tls")]
use crate::link::Tls;
pub use crate::link::TlsMode;
use crate::link::{Address, Dialer, Keepalive, Place, TcpOptions, ToAddress};
#[cfg(feature = "tls")]
use crate::tls;

/// The port that servers listen on.
const PORT: u16 = 3306;

/// Statements that a connection keeps prepared. A server limits all of its connections together, to 16,382 by default: so
/// many keep 250 connections from it.
const STATEMENTS: usize = 64;

/// How to reach a server, how to log in, and how long anything may take. A value: make it once, clone it freely.
///
/// ```
/// use std::time::Duration;
/// use arknet::mysql::Config;
///
/// let config = Config::new("db.example.org:3306")?
///     .user("app")
///     .password("p@ss:/?#")
///     .database("shop")
///     .request_timeout(Some(Duration::from_secs(1)));
/// // The same as a URL, where special characters of the password are percent-encoded:
/// let same = Config::from_url("mysql://app:p%40ss%3A%2F%3F%23@db.example.org:3306/shop?request_timeout=1s")?;
/// assert_eq!(format!("{config:?}"), format!("{same:?}"));
/// # Ok::<(), arknet::mysql::Error>(())
/// ```
#[derive(Clone)]
pub struct Config {
    pub(super) address: Address,
    user: String,
    passwords: Vec<Secret>,
    pub(super) database: Option<String>,
    attributes: Vec<(String, String)>,
    plugins: Plugins,
    server_key: ServerKey,
    compressed: bool,
    options: handshake::Options,
    pub(super) connect_timeout: Duration,
    pub(super) request_timeout: Option<Duration>,
    pub(super) limits: Limits,
    pub(super) max_result: usize,
    pub(super) statements: usize,
    pub(super) kills: bool,
    pub(super) tcp: TcpOptions,
    #[cfg(feature = "tls")]
    pub(super) tls: Tls,
}

impl Config {
    /// The server at this address: `host:port`, `[::1]:3306`, `unix:/run/mysqld/mysqld.sock`, a socket address, a host and a
    /// port. A name is resolved at each connect anew. All else has its default, which is on each setting.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] if it is no address.
    pub fn new(address: impl ToAddress) -> Result<Self, Error> {
        let address = address
            .to_address()
            .map_err(|error| Error::config(error.to_string()))?;
        Ok(Self::of(address))
    }

    /// The server of this URL: `mysql://[user][:password@]host[:port][/schema]`, `mariadb://` likewise, or a Unix domain
    /// socket as `mysql+unix://[user][:password@]/run/mysqld/mysqld.sock` or `unix:/run/mysqld/mysqld.sock`. The parts are
    /// percent-encoded; an IPv6 address stands in brackets. Without a host it is `localhost`, without a port 3306.
    ///
    /// Behind a `?`, joined by `&`: `user`, `password` and `database` (where a URL of a Unix domain socket has no other place
    /// for them), `connect_timeout` and `request_timeout` (`250ms`, `1.5s`; 0 is no limit), `statements`, `compressed`,
    /// `multi_statements`, `found_rows`, `fetch_server_key`, `kill_abandoned` (each `true` or `false`), `tls` (`disabled`, `required`,
    /// `verify_ca`, `verify_full`), `tls_server_name`.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] says what is wrong with it, and shows none of its secrets.
    pub fn from_url(url: &str) -> Result<Self, Error> {
        url::read(url)
    }

    fn of(address: Address) -> Self {
        let own = [
            ("_client_name", "arknet"),
            ("_client_version", env!("CARGO_PKG_VERSION")),
            ("_os", std::env::consts::OS),
            ("_platform", std::env::consts::ARCH),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self {
            address,
            user: "root".to_owned(),
            passwords: Vec::new(),
            database: None,
            attributes: own.into(),
            plugins: Plugins::default(),
            server_key: ServerKey::Refuse,
            compressed: false,
            options: handshake::Options::default(),
            connect_timeout: Duration::from_secs(10),
            request_timeout: Some(Duration::from_secs(30)),
            limits: Limits::default(),
            max_result: 256 << 20,
            statements: STATEMENTS,
            kills: false,
            tcp: TcpOptions {
                no_delay: true,
                keepalive: Some(Keepalive {
                    idle: Duration::from_secs(60),
                    interval: Duration::from_secs(3),
                    probes: 3,
                }),
                send_buffer: None,
                receive_buffer: None,
            },
            #[cfg(feature = "tls")]
            tls: Tls::default(),
        }
    }

    /// The account's name. Default: `root`.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.user = user.into();
        self
    }

    /// The password, raw. Default: none. It is in no `Debug`, error or trace. For an account with several factors, called
    /// once for each of them, in order.
    #[must_use]
    pub fn password(mut self, password: impl Into<Vec<u8>>) -> Self {
        self.passwords.push(Secret::new(password));
        self
    }

    /// The schema that each session begins in. Default: none.
    #[must_use]
    pub fn database(mut self, database: impl Into<String>) -> Self {
        self.database = Some(database.into()).filter(|name| !name.is_empty());
        self
    }

    /// Something that the server shows beside the connection, in `performance_schema.session_connect_attrs`: a name and a
    /// value, such as `program_name`. In addition to what this library says of itself.
    #[must_use]
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.attributes.push((name.into(), value.into()));
        self
    }

    /// The ways of authentication that the server may ask for. Default: all but the password in clear, which is only ever
    /// sent over TLS with a verified certificate and name.
    #[must_use]
    pub fn plugins(mut self, plugins: impl IntoIterator<Item = Plugin>) -> Self {
        self.plugins = plugins.into_iter().fold(Plugins::none(), Plugins::with);
        self
    }

    /// The server's RSA key in PEM form, for `caching_sha2_password` and `sha256_password` over plain TCP. Default: none, and
    /// then these need TLS or a Unix domain socket wherever they would send the password itself.
    #[must_use]
    pub fn server_key(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.server_key = ServerKey::Pinned(pem.into());
        self
    }

    /// Takes the server's RSA key from the server itself: whoever stands in between can send another one, and learn the
    /// password. Default off.
    #[must_use]
    pub fn fetch_server_key(mut self, allowed: bool) -> Self {
        self.server_key = if allowed {
            ServerKey::Fetch
        } else {
            ServerKey::Refuse
        };
        self
    }

    /// Compresses what is sent both ways by zlib, where the server can. It saves bytes of slow networks and costs time on
    /// both sides. Default off.
    #[must_use]
    pub fn compressed(mut self, wanted: bool) -> Self {
        self.compressed = wanted;
        self
    }

    /// Allows several statements in one text query. Default off, since it makes every injection worse.
    #[must_use]
    pub fn multi_statements(mut self, allowed: bool) -> Self {
        self.options.multi_statements = allowed;
        self
    }

    /// Counts in `affected_rows` what an update has found, and not what it has changed. Default off.
    #[must_use]
    pub fn found_rows(mut self, wanted: bool) -> Self {
        self.options.found_rows = wanted;
        self
    }

    /// How long it may take to connect, from the resolution of the name to the end of the login. Default 10 s.
    #[must_use]
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// How long a request may take, from the call to its result: waiting for a connection, connecting, writing, reading.
    /// Default 30 s; `None` is no limit.
    ///
    /// The server is not told: what it has begun it goes on with, unless [`kill_abandoned`](Self::kill_abandoned) says
    /// otherwise.
    #[must_use]
    pub fn request_timeout(mut self, limit: Option<Duration>) -> Self {
        self.request_timeout = limit;
        self
    }

    /// Ends what nobody waits for any more: where the deadline of a request has passed, or its future was dropped after it was
    /// sent, the server is told to stop it, by `KILL QUERY` on another connection. Its own connection is of no more use then,
    /// since the end may come late and meet another statement. It costs a round trip for each connection that is made, to ask
    /// for its number. Default off.
    #[must_use]
    pub fn kill_abandoned(mut self, wanted: bool) -> Self {
        self.kills = wanted;
        self
    }

    /// How much of an answer is accepted. Defaults are on [`Limits`].
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How many bytes of rows are collected for one request, as the server sends them. What is larger is to be streamed.
    /// Default 256 MiB.
    #[must_use]
    pub fn max_result(mut self, bytes: usize) -> Self {
        self.max_result = bytes;
        self
    }

    /// How many statements a connection keeps prepared, the least recently used one giving way. 0 keeps none. Default 64.
    #[must_use]
    pub fn statements(mut self, limit: usize) -> Self {
        self.statements = limit;
        self
    }

    /// Speaks TLS, in this mode. Default [`TlsMode::Disabled`]. A server without TLS is then an error, before anything
    /// secret is sent.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, mode: TlsMode) -> Self {
        self.tls.mode = mode;
        self
    }

    /// Whom to trust to vouch for the server. Default: whom the operating system trusts.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls_roots(mut self, roots: impl Into<tls::Roots>) -> Self {
        self.tls.roots = roots.into();
        self
    }

    /// The certificate and key for a server that asks for one (`REQUIRE X509`). Default: none.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls_identity(mut self, identity: tls::Identity) -> Self {
        self.tls.identity = Some(identity);
        self
    }

    /// The name to verify, whatever the address is. Default: the host of the address; a Unix domain socket has none.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls_server_name(mut self, name: impl Into<String>) -> Self {
        self.tls.name = Some(name.into());
        self
    }

    /// Where the server is.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// How to connect: the address and the socket's options. TLS comes later in this protocol.
    pub(super) fn dialer(&self) -> Dialer {
        Dialer {
            address: self.address.clone(),
            options: self.tcp,
            place: Place::Anywhere,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Whether both certificate and name of the server are verified.
    pub(super) fn verifies(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.tls.mode == TlsMode::VerifyFull;
        #[cfg(not(feature = "tls"))]
        false
    }

    /// What the handshake is to be like, without its random bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] for what cannot be sent.
    pub(super) fn handshake(&self) -> Result<handshake::Config, Error> {
        let mut config = handshake::Config::new(self.user.clone(), [0; 32]);
        config.passwords.clone_from(&self.passwords);
        config.database.clone_from(&self.database);
        config.attributes.clone_from(&self.attributes);
        config.plugins = self.plugins;
        config.server_key = self.server_key.clone();
        config.options = self.options;
        config.local = matches!(self.address, Address::Unix(_));
        config.max_packet = u32::try_from(self.limits.max_packet).unwrap_or(u32::MAX);
        if self.compressed {
            config.compression = handshake::Compression::Zlib;
        }
        #[cfg(feature = "tls")]
        if self.tls.mode != TlsMode::Disabled {
            config.tls = handshake::Tls::Required;
        }
        handshake::Handshake::new(config.clone())
            .map_err(|error| Error::config(error.to_string()))?;
        Ok(config)
    }
}

impl std::str::FromStr for Config {
    type Err = Error;

    fn from_str(url: &str) -> Result<Self, Error> {
        Self::from_url(url)
    }
}

/// Shows no secret.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Config");
        shown
            .field("address", &self.address.to_string())
            .field("user", &self.user)
            .field("passwords", &self.passwords)
            .field("database", &self.database)
            .field("connect_timeout", &self.connect_timeout)
            .field("request_timeout", &self.request_timeout);
        #[cfg(feature = "tls")]
        shown.field("tls", &self.tls.mode);
        shown.finish_non_exhaustive()
    }
}
