//! Configuration of servers and clients.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arknet_proto::buf::SendLimits;
use arknet_proto::framing::{Decoder, Framing};
use arknet_proto::reconnect::ReconnectPolicy;
use arknet_proto::session;
use bytes::Bytes;

use super::dial::Dialer;
use crate::endpoint::client::ClientSetup;
use crate::endpoint::server::ServerSetup;
use crate::endpoint::{Error, Event, Observer, SendFilter, SessionConfig};
use crate::io::tokio as io;
use crate::link::{self, Address, Place};

const MIB: usize = 1024 * 1024;

/// When the kernel asks a silent peer whether it is still there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Keepalive {
    /// Silence before the first question, in whole seconds. Default 60 s.
    pub idle: Duration,
    /// Time between questions, in whole seconds. Default 3 s.
    pub interval: Duration,
    /// Questions without an answer before the connection counts as lost. Default 3.
    pub probes: u32,
}

impl Default for Keepalive {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(60),
            interval: Duration::from_secs(3),
            probes: 3,
        }
    }
}

impl Keepalive {
    fn check(self) -> Result<io::Keepalive, Error> {
        // Linux's own limits (tcp(7)): it refuses less than a second, and more than its numbers hold.
        let fits = |time: Duration| (1..=32_767).contains(&time.as_secs());
        if !fits(self.idle) || !fits(self.interval) {
            return Err(Error::Config("keepalive times are 1 to 32,767 seconds"));
        }
        if !(1..=127).contains(&self.probes) {
            return Err(Error::Config("keepalive probes are 1 to 127"));
        }
        Ok(io::Keepalive {
            idle: self.idle,
            interval: self.interval,
            probes: self.probes,
        })
    }
}

/// What servers and clients have in common.
#[derive(Clone)]
struct Common {
    framing: Framing,
    message_limit: usize,
    send: SendLimits,
    idle: Option<Duration>,
    connect: Duration,
    close: Duration,
    keepalive: Option<Keepalive>,
    no_delay: bool,
    send_buffer: Option<usize>,
    receive_buffer: Option<usize>,
    filter: Option<SendFilter>,
    observer: Option<Observer>,
}

impl Default for Common {
    fn default() -> Self {
        let engine = session::Config::default();
        Self {
            framing: Framing::Raw,
            message_limit: 16 * MIB,
            send: engine.send,
            idle: engine.silence,
            connect: engine.connect,
            close: engine.close,
            keepalive: Some(Keepalive::default()),
            no_delay: true,
            send_buffer: None,
            receive_buffer: None,
            filter: None,
            observer: None,
        }
    }
}

impl Common {
    fn decoder(&self) -> Result<Decoder, Error> {
        Ok(Decoder::new(self.framing.clone(), self.message_limit)?)
    }

    fn session(&self) -> Result<SessionConfig, Error> {
        if self.send.operations == 0 || self.send.bytes == 0 {
            return Err(Error::Config(
                "a send queue holds at least one operation and one byte",
            ));
        }
        Ok(SessionConfig {
            framing: self.framing.clone(),
            engine: session::Config {
                send: self.send,
                silence: self.idle.filter(|idle| !idle.is_zero()),
                close: self.close,
                connect: self.connect,
            },
            filter: self.filter.clone(),
        })
    }

    fn options(&self) -> Result<io::TcpOptions, Error> {
        Ok(io::TcpOptions {
            no_delay: self.no_delay,
            keepalive: self.keepalive.map(Keepalive::check).transpose()?,
            send_buffer: self.send_buffer,
            receive_buffer: self.receive_buffer,
        })
    }
}

macro_rules! common_settings {
    () => {
        /// How messages are told apart. Default [`Framing::Raw`]: whatever has arrived. Both ends must use the same.
        #[must_use]
        pub fn framing(mut self, framing: Framing) -> Self {
            self.common.framing = framing;
            self
        }

        /// The largest message that is received, in bytes, prefix and delimiter included. Default 16 MiB.
        #[must_use]
        pub fn max_message(mut self, bytes: usize) -> Self {
            self.common.message_limit = bytes;
            self
        }

        /// How much may wait to be sent: payload bytes and operations. Default 16 MiB and 1,024. The session's own sends
        /// and those of its handles are counted apart, each against these limits.
        #[must_use]
        pub fn send_queue(mut self, bytes: usize, operations: usize) -> Self {
            self.common.send = SendLimits { bytes, operations };
            self
        }

        /// How long a peer may be silent. Default 3,600 s; zero turns it off. The connection is closed between 1 and 9/8
        /// of this time after the last byte.
        #[must_use]
        pub fn idle_timeout(mut self, limit: Duration) -> Self {
            self.common.idle = Some(limit);
            self
        }

        /// How long a graceful close may take until it is cut. Default 30 s.
        #[must_use]
        pub fn close_timeout(mut self, limit: Duration) -> Self {
            self.common.close = limit;
            self
        }

        /// When the kernel asks a silent peer whether it is there. Default: after 60 s, every 3 s, 3 times. `None` turns
        /// it off. Unix domain sockets have none.
        #[must_use]
        pub fn keepalive(mut self, keepalive: Option<Keepalive>) -> Self {
            self.common.keepalive = keepalive;
            self
        }

        /// Whether small writes leave at once (`TCP_NODELAY`). Default on: what a turn sends leaves in one write anyway.
        #[must_use]
        pub fn no_delay(mut self, on: bool) -> Self {
            self.common.no_delay = on;
            self
        }

        /// The sizes of the kernel's send and receive buffers in bytes. Default: the system's.
        #[must_use]
        pub fn socket_buffers(mut self, send: Option<usize>, receive: Option<usize>) -> Self {
            self.common.send_buffer = send;
            self.common.receive_buffer = receive;
            self
        }

        /// Looks at each payload before it is queued, once, on the sender's thread, and may replace it; `None` leaves it
        /// as it is.
        #[must_use]
        pub fn send_filter(
            mut self,
            filter: impl Fn(&[u8]) -> Option<Bytes> + Send + Sync + 'static,
        ) -> Self {
            self.common.filter = Some(Arc::new(filter));
            self
        }

        /// Is told what belongs to no open session: failures to accept, refused connections, failed handshakes, and how
        /// each session ended. It runs on a lane and should not block.
        #[must_use]
        pub fn on_event(mut self, observer: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Self {
            self.common.observer = Some(Observer(Arc::new(observer)));
            self
        }
    };
}

/// By what sends and connections are admitted.
#[cfg(feature = "owner")]
pub(crate) struct Admission {
    pub(crate) framing: Framing,
    pub(crate) send: SendLimits,
    pub(crate) connections: usize,
}

/// How a server accepts and what its sessions may do.
#[derive(Clone)]
pub struct ServerConfig {
    common: Common,
    connections: usize,
    pub(super) backlog: i32,
    pub(super) v6_only: bool,
    #[cfg(feature = "tls")]
    tls: Option<crate::tls::ServerConfig>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self::new()
    }
}

impl ServerConfig {
    /// The defaults, which are on each setting.
    pub fn new() -> Self {
        Self {
            common: Common::default(),
            connections: 10_000,
            backlog: 1024,
            v6_only: true,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    common_settings!();

    /// How long a handshake may take. Default 30 s.
    #[must_use]
    pub fn handshake_timeout(mut self, limit: Duration) -> Self {
        self.common.connect = limit;
        self
    }

    /// How many sessions there may be at once, those that shake hands included. More are refused and counted. Default
    /// 10,000.
    #[must_use]
    pub fn max_connections(mut self, limit: usize) -> Self {
        self.connections = limit;
        self
    }

    /// How many connections the kernel may hold until they are accepted. Default 1,024; the system may cut it.
    #[must_use]
    pub fn backlog(mut self, connections: u16) -> Self {
        self.backlog = connections.into();
        self
    }

    /// Whether an IPv6 address takes IPv6 connections only. Default true, whatever the system's default is; with false,
    /// `[::]` takes both families.
    #[must_use]
    pub fn v6_only(mut self, only: bool) -> Self {
        self.v6_only = only;
        self
    }

    /// Speaks TLS.
    ///
    /// ```no_run
    /// use arknet::tcp::ServerConfig;
    /// use arknet::tls::{self, Identity};
    ///
    /// let identity = Identity::from_pem_files("server.pem", "server.key")?;
    /// let tls = tls::ServerConfig::builder().identity(identity).build()?;
    /// let config = ServerConfig::new().tls(tls.clone());
    /// // Kept for later: `tls.reload` renews the certificate without a restart.
    /// # Ok::<(), tls::Error>(())
    /// ```
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, tls: crate::tls::ServerConfig) -> Self {
        self.tls = Some(tls);
        self
    }

    /// What is to be known of it elsewhere.
    #[cfg(feature = "owner")]
    pub(crate) fn admission(&self) -> Admission {
        Admission {
            framing: self.common.framing.clone(),
            send: self.common.send,
            connections: self.connections,
        }
    }

    pub(super) fn setup(&self) -> Result<ServerSetup, Error> {
        if self.connections == 0 {
            return Err(Error::Config(
                "a server has room for at least one connection",
            ));
        }
        Ok(ServerSetup {
            session: self.common.session()?,
            decoder: self.common.decoder()?,
            options: self.common.options()?,
            connections: self.connections,
            observer: self.common.observer.clone(),
            #[cfg(feature = "tls")]
            tls: self.tls.clone(),
        })
    }
}

/// How a client connects and what its session may do.
#[derive(Clone)]
pub struct ClientConfig {
    common: Common,
    reconnect: ReconnectPolicy,
    #[cfg(feature = "tls")]
    tls: Option<(crate::tls::ClientConfig, Option<String>)>,
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self::new()
    }
}

impl ClientConfig {
    /// The defaults, which are on each setting.
    pub fn new() -> Self {
        Self {
            common: Common::default(),
            reconnect: ReconnectPolicy::default(),
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    common_settings!();

    /// How long it may take to connect, from the resolution of the name to the last handshake. Default 30 s.
    #[must_use]
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.common.connect = limit;
        self
    }

    /// Whether and when a [`Client`](super::Client) connects again after a connection could not be made or was lost.
    /// Default: every second, without end. A connection of [`connect`](super::connect) is never made again.
    #[must_use]
    pub fn reconnect(mut self, policy: ReconnectPolicy) -> Self {
        self.reconnect = policy;
        self
    }

    /// Speaks TLS, and verifies the server under the host of the address. On a Unix domain socket there is none: use
    /// [`tls_with_name`](Self::tls_with_name).
    ///
    /// ```no_run
    /// use arknet::tcp::ClientConfig;
    /// use arknet::tls::{self, Authorities};
    ///
    /// // Against the roots of the system ...
    /// let config = ClientConfig::new().tls(tls::ClientConfig::new()?);
    ///
    /// // ... or against an authority of one's own.
    /// let authority = Authorities::from_pem_file("authority.pem")?;
    /// let config = ClientConfig::new().tls(tls::ClientConfig::builder().roots(authority).build()?);
    /// # Ok::<(), tls::Error>(())
    /// ```
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, tls: crate::tls::ClientConfig) -> Self {
        self.tls = Some((tls, None));
        self
    }

    /// Speaks TLS, and verifies the server under this name, whatever the address is.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls_with_name(mut self, tls: crate::tls::ClientConfig, name: impl Into<String>) -> Self {
        self.tls = Some((tls, Some(name.into())));
        self
    }

    /// What is to be known of it elsewhere.
    #[cfg(feature = "owner")]
    pub(crate) fn admission(&self) -> Admission {
        Admission {
            framing: self.common.framing.clone(),
            send: self.common.send,
            connections: 1,
        }
    }

    pub(super) fn setup(&self) -> Result<ClientSetup, Error> {
        Ok(ClientSetup {
            session: self.common.session()?,
            decoder: self.common.decoder()?,
            reconnect: self.reconnect.clone(),
            observer: self.common.observer.clone(),
        })
    }

    pub(super) fn dialer(&self, address: Address) -> Result<Dialer, Error> {
        #[cfg(feature = "tls")]
        let tls = match &self.tls {
            None => None,
            Some((tls, name)) => {
                let host = name
                    .clone()
                    .or_else(|| address.host())
                    .ok_or(Error::Config(
                        "TLS over a Unix domain socket needs the name to verify: tls_with_name",
                    ))?;
                Some((tls.clone(), host))
            }
        };
        Ok(Dialer {
            link: link::Dialer {
                address,
                options: self.common.options()?,
                place: Place::Here,
                #[cfg(feature = "tls")]
                tls,
            },
            within: self.common.connect,
        })
    }
}

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerConfig")
            .field("framing", &self.common.framing)
            .field("max_connections", &self.connections)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ClientConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientConfig")
            .field("framing", &self.common.framing)
            .field("reconnect", &self.reconnect)
            .finish_non_exhaustive()
    }
}
