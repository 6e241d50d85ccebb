//! How to reach a Redis server, and what may be expected of it.

mod url;

use std::fmt;
use std::time::Duration;

use arknet_proto::reconnect::{Backoff, ReconnectPolicy};
use arknet_proto::redis::ReplyLimits;
use arknet_proto::redis::exchange::{Login, Protocol};

use super::Error;
#[cfg(feature = "tls")]
use crate::link::Tls;
pub use crate::link::TlsMode;
use crate::link::{Address, Dialer, Keepalive, Place, TcpOptions, ToAddress};
#[cfg(feature = "tls")]
use crate::tls;

/// The port that servers listen on.
const PORT: u16 = 6379;

/// The longest name of a connection. A server takes more, and nobody reads it.
const MAX_CLIENT_NAME: usize = 256;

/// Before a client connects again for the first time. Most losses are those of one connection, and requests wait; the
/// half that is left to chance keeps the clients of a server from coming back at once.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// How to reach a server, how to log in, and how long anything may take. A value: make it once, clone it freely.
///
/// ```
/// use std::time::Duration;
/// use arknet::redis::Config;
///
/// let config = Config::new("cache.example.org:6379")?
///     .user("app")
///     .password("p@ss:/?#")
///     .database(2)
///     .request_timeout(Some(Duration::from_secs(1)));
/// // The same as a URL, where special characters of the password are percent-encoded:
/// let same = Config::from_url("redis://app:p%40ss%3A%2F%3F%23@cache.example.org:6379/2?request_timeout=1s")?;
/// assert_eq!(format!("{config:?}"), format!("{same:?}"));
/// # Ok::<(), arknet::redis::Error>(())
/// ```
#[derive(Clone)]
pub struct Config {
    pub(super) address: Address,
    pub(super) login: Login,
    pub(super) connect_timeout: Duration,
    pub(super) request_timeout: Option<Duration>,
    pub(super) limits: ReplyLimits,
    pub(super) reconnect: ReconnectPolicy,
    pub(super) ping_interval: Option<Duration>,
    pub(super) max_requests: usize,
    pub(super) max_queued_bytes: usize,
    pub(super) tcp: TcpOptions,
    #[cfg(feature = "tls")]
    pub(super) tls: Tls,
}

impl Config {
    /// The server at this address: `host:port`, `[::1]:6379`, `unix:/run/redis.sock`, a socket address, a host and a
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

    /// The server of this URL: `redis://[user][:password@]host[:port][/database]`, `rediss://` for TLS, or a Unix domain
    /// socket as `redis+unix://[user][:password@]/run/redis.sock` or `unix:/run/redis.sock`. The parts are
    /// percent-encoded; an IPv6 address stands in brackets. Without a host it is `localhost`, without a port 6379.
    ///
    /// Behind a `?`, joined by `&`: `user` and `password` (where a URL of a Unix domain socket has no other place for
    /// them), `db`, `client_name`, `protocol` (2 or 3), `connect_timeout` and `request_timeout`
    /// (`250ms`, `1.5s`; 0 is no limit), `tls` (`disabled`, `required`, `verify_ca`, `verify_full`), `tls_server_name`.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] says what is wrong with it, and shows none of its secrets.
    pub fn from_url(url: &str) -> Result<Self, Error> {
        url::read(url)
    }

    fn of(address: Address) -> Self {
        let library = Some(("arknet", env!("CARGO_PKG_VERSION")));
        Self {
            address,
            login: Login {
                library,
                ..Login::default()
            },
            connect_timeout: Duration::from_secs(10),
            request_timeout: Some(Duration::from_secs(5)),
            limits: ReplyLimits::default(),
            reconnect: ReconnectPolicy::backoff_with(Backoff {
                first: FIRST_PAUSE,
                ..Backoff::default()
            }),
            ping_interval: Some(Duration::from_secs(15)),
            max_requests: 64 * 1024,
            max_queued_bytes: 16 * 1024 * 1024,
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

    /// The user of an access control list. Default: `default`.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.login.user = Some(user.into()).filter(|user| !user.is_empty());
        self
    }

    /// The password, raw. Default: none. It is in no `Debug`, error or trace.
    #[must_use]
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.login.password = Some(password.into());
        self
    }

    /// The database, from 0. Default 0.
    #[must_use]
    pub fn database(mut self, database: u32) -> Self {
        self.login.database = database;
        self
    }

    /// The connections' name in `CLIENT LIST`: up to 256 printable characters without spaces. Default: none. A server
    /// that refuses it is used without.
    #[must_use]
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.login.client_name = Some(name.into()).filter(|name| !name.is_empty());
        self
    }

    /// Which version of the protocol to speak. Default [`Protocol::Resp3WithFallback`].
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.login.protocol = protocol;
        self
    }

    /// How long it may take to connect, from the resolution of the name to the end of the login. Default 10 s.
    #[must_use]
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = limit;
        self
    }

    /// How long a request may take, from the call to its result: waiting for a connection, connecting, writing, reading.
    /// A command that blocks has its own time in addition. Default 5 s; `None` is no limit.
    #[must_use]
    pub fn request_timeout(mut self, limit: Option<Duration>) -> Self {
        self.request_timeout = limit;
        self
    }

    /// How much of a reply is accepted. Defaults are on [`ReplyLimits`].
    #[must_use]
    pub fn limits(mut self, limits: ReplyLimits) -> Self {
        self.limits = limits;
        self
    }

    /// When a shared client connects again after its connection was lost. Default: after delays that double from 100 ms to
    /// 30 s, half of each by chance, without end.
    #[must_use]
    pub fn reconnect(mut self, policy: ReconnectPolicy) -> Self {
        self.reconnect = policy;
        self
    }

    /// After how much silence a shared client asks the server whether it is there, while it waits for nothing: up to twice
    /// this. The server has [`request_timeout`](Self::request_timeout) to answer, 5 s where there is none, before another
    /// connection is made. Default 15 s; `None` is never: then a peer that is gone without a word is noticed by the next
    /// request, or by TCP's keepalive after a minute.
    #[must_use]
    pub fn ping_interval(mut self, interval: Option<Duration>) -> Self {
        self.ping_interval = interval.map(|interval| interval.max(Duration::from_millis(1)));
        self
    }

    /// How many requests may wait for their replies on a shared client, sent or not: more are refused at once. A
    /// pipeline that is larger is taken where nothing else waits. Default 65,536, which a server answers within a second.
    #[must_use]
    pub fn max_requests(mut self, limit: usize) -> Self {
        self.max_requests = limit.max(1);
        self
    }

    /// How many bytes of requests may wait to be sent on a shared client: more are refused at once. A single request
    /// that is larger is taken where nothing else waits. Default 16 MiB.
    #[must_use]
    pub fn max_queued_bytes(mut self, limit: usize) -> Self {
        self.max_queued_bytes = limit;
        self
    }

    /// Speaks TLS, in this mode. Default [`TlsMode::Disabled`], with `rediss://` [`TlsMode::VerifyFull`]. A server
    /// without TLS is then an error, before anything secret is sent.
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

    /// The certificate and key for a server that asks for one (mTLS). Default: none.
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

    /// How to connect: the address, the socket's options, TLS.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] for what cannot work, before anything is tried.
    pub(super) fn dialer(&self, place: Place) -> Result<Dialer, Error> {
        self.check()?;
        Ok(Dialer {
            address: self.address.clone(),
            options: self.tcp,
            place,
            #[cfg(feature = "tls")]
            tls: self.tls.client(&self.address).map_err(Error::config)?,
        })
    }

    fn check(&self) -> Result<(), Error> {
        let Some(name) = &self.login.client_name else {
            return Ok(());
        };
        // What a server allows (`CLIENT SETNAME`): all printable characters but spaces.
        if name.len() > MAX_CLIENT_NAME || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::config(format!(
                "a client name has at most {MAX_CLIENT_NAME} printable characters and no spaces"
            )));
        }
        Ok(())
    }

    /// Where the server is.
    pub fn address(&self) -> &Address {
        &self.address
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
            .field("login", &self.login)
            .field("connect_timeout", &self.connect_timeout)
            .field("request_timeout", &self.request_timeout);
        #[cfg(feature = "tls")]
        shown.field("tls", &self.tls.mode);
        shown.finish_non_exhaustive()
    }
}
