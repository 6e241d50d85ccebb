//! Clients.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use super::{ClientConfig, ToAddress};
use crate::endpoint::style::{Callbacks, Style, Tasks};
use crate::endpoint::{
    self, Connection, Error, Handler, Payload, SendError, Session, SessionHandle, Shutdown,
};
use crate::io::after;
use crate::lanes::Lanes;

/// A client that connects, and connects again when the connection is lost, as its policy says.
///
/// Each connection is a new generation: what was accepted on one is never sent on another. Closing the session from this
/// side ends the client. Clones are the same client; dropping them all leaves it running.
#[derive(Clone)]
pub struct Client {
    inner: Arc<endpoint::client::Client>,
}

impl Client {
    /// Starts a client with callbacks. `handler` makes its handler, once; the handler stays from one connection to the
    /// next.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// use arknet::tcp::{Client, ClientConfig, Framing, ReconnectPolicy};
    /// use arknet::{Handler, Lanes, Session};
    ///
    /// struct Greeter {
    ///     answers: mpsc::Sender<String>,
    /// }
    ///
    /// impl Handler for Greeter {
    ///     fn on_open(&mut self, session: &mut Session) {
    ///         // Once for each connection: this is where a client introduces itself again.
    ///         if session.send(format!("connection {}", session.generation())).is_err() {
    ///             session.close();
    ///         }
    ///     }
    ///
    ///     fn on_message(&mut self, _: &mut Session, message: &[u8]) {
    ///         // Nobody may be listening any more.
    ///         let _ = self.answers.send(String::from_utf8_lossy(message).into_owned());
    ///     }
    /// }
    ///
    /// # let lanes = Lanes::sharded(1)?;
    /// # let server = arknet::tcp::Server::serve(
    /// #     &lanes,
    /// #     "127.0.0.1:0",
    /// #     arknet::tcp::ServerConfig::new().framing(Framing::LengthPrefix),
    /// #     |mut connection: arknet::Connection| async move {
    /// #         while let Ok(Some(message)) = connection.recv().await {
    /// #             if connection.send(message).await.is_err() {
    /// #                 return;
    /// #             }
    /// #         }
    /// #     },
    /// # )?;
    /// # let address = server.local_addr();
    /// let (answers, answered) = mpsc::channel();
    /// let config = ClientConfig::new()
    ///     .framing(Framing::LengthPrefix)
    ///     .reconnect(ReconnectPolicy::backoff().attempts(10));
    /// let client = Client::start(&lanes, address, config, move |_| Greeter { answers: answers.clone() })?;
    /// assert_eq!(answered.recv()?, "connection 1");
    /// client.shutdown(Duration::from_secs(1)).wait()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Address`], and [`Error::Config`] for a configuration that cannot work. That a connection cannot be made
    /// is told to the handler, by `on_connect_failed`.
    pub fn start<H: Handler>(
        lanes: &Lanes,
        address: impl ToAddress,
        config: ClientConfig,
        handler: impl Fn(&Session) -> H + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        Self::start_style(lanes, address, &config, Callbacks(handler))
    }

    /// Starts a client with async code: `run` makes a task for each connection. When the task ends on its own account the
    /// client ends; when the connection was lost, the client connects again.
    ///
    /// ```
    /// use arknet::tcp::{Client, ClientConfig, Framing};
    /// use arknet::{Connection, Lanes};
    ///
    /// # let lanes = Lanes::sharded(1)?;
    /// # let server = arknet::tcp::Server::serve(
    /// #     &lanes,
    /// #     "127.0.0.1:0",
    /// #     arknet::tcp::ServerConfig::new().framing(Framing::LengthPrefix),
    /// #     |mut connection: arknet::Connection| async move {
    /// #         while let Ok(Some(message)) = connection.recv().await {
    /// #             if connection.send(message).await.is_err() {
    /// #                 return;
    /// #             }
    /// #         }
    /// #     },
    /// # )?;
    /// # let address = server.local_addr();
    /// let config = ClientConfig::new().framing(Framing::LengthPrefix);
    /// let client = Client::run(&lanes, address, config, |mut connection: Connection| async move {
    ///     if connection.send("hello").await.is_err() {
    ///         return;
    ///     }
    ///     if let Ok(Some(answer)) = connection.recv().await {
    ///         println!("{}", String::from_utf8_lossy(&answer));
    ///     }
    ///     // The task ends, and with it the client.
    /// })?;
    /// lanes.block_on(client.handle().closed())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn run<T>(
        lanes: &Lanes,
        address: impl ToAddress,
        config: ClientConfig,
        run: impl Fn(Connection) -> T + Send + Sync + 'static,
    ) -> Result<Self, Error>
    where
        T: Future<Output = ()> + Send + 'static,
    {
        Self::start_style(lanes, address, &config, Tasks(run))
    }

    pub(crate) fn start_style(
        lanes: &Lanes,
        address: impl ToAddress,
        config: &ClientConfig,
        style: impl Style,
    ) -> Result<Self, Error> {
        let dialer = config.dialer(address.to_address()?)?;
        let inner = endpoint::client::Client::start(config.setup()?, lanes, dialer, style);
        Ok(Self { inner })
    }

    /// The handle of the client's session; it stays valid from one connection to the next.
    pub fn handle(&self) -> &SessionHandle {
        self.inner.handle()
    }

    /// Sends a message on the present connection, or refuses it at once.
    ///
    /// # Errors
    ///
    /// As [`SessionHandle::send`]: [`SendError::NotConnected`] between connections.
    pub fn send<'a>(&self, payload: impl Into<Payload<'a>>) -> Result<(), SendError> {
        self.handle().send(payload)
    }

    /// Waits until the client is connected; `false` if it has ended before.
    ///
    /// Dropping this future changes nothing.
    pub async fn connected(&self) -> bool {
        self.handle().connected().await
    }

    /// Shuts the client down: hands over what was accepted and closes, for at most `within`, then cuts. It connects no
    /// more.
    ///
    /// It begins at once and goes on by itself: await the result for the report, or drop it.
    pub fn shutdown(&self, within: Duration) -> Shutdown {
        self.inner.shutdown(after(within))
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Client").field(self.handle()).finish()
    }
}

/// Makes one connection, for a caller who owns it. It is not made again when it is lost.
///
/// The connection runs on one of `lanes` and is used from the caller's task, one hop away; for a task on the lane itself,
/// use [`Client::run`].
///
/// Dropping this future gives the connection up.
///
/// ```
/// use arknet::Lanes;
/// use arknet::tcp::{ClientConfig, Framing, connect};
///
/// # let lanes = Lanes::sharded(1)?;
/// # let server = arknet::tcp::Server::serve(
/// #     &lanes,
/// #     "127.0.0.1:0",
/// #     arknet::tcp::ServerConfig::new().framing(Framing::LengthPrefix),
/// #     |mut connection: arknet::Connection| async move {
/// #         while let Ok(Some(message)) = connection.recv().await {
/// #             if connection.send(message).await.is_err() {
/// #                 return;
/// #             }
/// #         }
/// #     },
/// # )?;
/// # let address = server.local_addr();
/// lanes.block_on(async {
///     let config = ClientConfig::new().framing(Framing::LengthPrefix);
///     let mut connection = connect(&lanes, address, config).await?;
///     connection.send("hello").await?;
///     assert_eq!(connection.recv().await?.as_deref(), Some(&b"hello"[..]));
///     connection.close().await;
///     Ok::<(), Box<dyn std::error::Error>>(())
/// })??;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::Connect`], [`Error::ConnectTimeout`], [`Error::Resolve`], [`Error::Tls`] and what [`Client::start`] says.
pub async fn connect(
    lanes: &Lanes,
    address: impl ToAddress,
    config: ClientConfig,
) -> Result<Connection, Arc<Error>> {
    let address = address.to_address().map_err(Error::from)?;
    let dialer = config.dialer(address)?;
    endpoint::client::connect(config.setup()?, lanes, dialer).await
}
