//! The endpoints of arknet, used as any application would use them, in either style.
//!
//! Length-prefixed messages over TCP or TLS; a client's messages are written straight into the
//! send buffer, a server answers with the bytes it was given. Sends ask for no completion, so that
//! what could go wrong with one shows as a disconnect, and the counters of completions stay zero.

mod callbacks;
mod seats;
mod tasks;
mod tls;
mod turn;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arknet::tcp::{Client, ClientConfig, Framing, ReconnectPolicy, Server, ServerConfig};
use arknet::{CloseReason, ErrorKind, Lanes};

use self::seats::Seats;
use super::conduct::conduct;
use super::config::{Execution, IoModel, Protocol, TransportConfig};
use super::counters::Fault;
use super::run::Run;
use super::{Error, Measurement};

/// How long a connection over loopback may take, its handshake included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the end may take: a lane may be in a message's work.
const SHUTDOWN: Duration = Duration::from_secs(2);

/// The queue's defaults, which a larger window needs more than.
const QUEUE_BYTES: usize = 16 * 1024 * 1024;
const QUEUE_OPERATIONS: usize = 1024;

/// Measures the endpoints as the configuration asks for.
///
/// # Errors
/// As [`measure::transport`](super::transport) does.
pub fn run(config: &TransportConfig) -> Result<Measurement, Error> {
    config.check()?;
    let run = Run::new(config);
    let lanes = lanes(config).map_err(Error::setup("start lanes"))?;
    let result = match config.execution {
        Execution::Callback => measure(&callbacks::Callbacks, &run, config, &lanes),
        Execution::Async => measure(&tasks::Tasks::new(), &run, config, &lanes),
    };
    run.stop();
    let ended = lanes.block_on(lanes.shutdown(SHUTDOWN));
    ended.map_err(Error::setup("end the lanes"))?;
    let (observed, unpaired) = result?;
    let mut record = Measurement::new(config, backend(config), &run, &observed);
    record.unpaired_connections = unpaired;
    Ok(record)
}

/// What is below the endpoints: lanes with a thread of their own poll their sockets themselves, where they can.
fn backend(config: &TransportConfig) -> &'static str {
    let own_thread = config.io_model == IoModel::Sharded || config.io_threads == 1;
    if own_thread && cfg!(target_os = "linux") {
        "direct"
    } else {
        "tokio"
    }
}

/// One style: how its ends start, and how clients are told of a phase.
trait Style {
    fn server(
        &self,
        run: &Arc<Run>,
        lanes: &Lanes,
        at: SocketAddr,
        config: ServerConfig,
        seats: &Seats,
    ) -> Result<Server, arknet::Error>;

    fn client(
        &self,
        run: &Arc<Run>,
        lanes: &Lanes,
        server: &Server,
        config: ClientConfig,
        seat: (u32, &Seats),
    ) -> Result<Client, arknet::Error>;

    /// Makes every client look for a phase that was opened.
    fn wake(&self, run: &Run, clients: &[Client]);
}

fn measure(
    style: &impl Style,
    run: &Arc<Run>,
    config: &TransportConfig,
    lanes: &Lanes,
) -> Result<(super::conduct::Observed, Option<usize>), Error> {
    let (server, client) = configurations(config)?;
    let at = SocketAddr::new(config.address_family.loopback(), 0);
    let mut seats = Seats::new();
    let server = style
        .server(run, lanes, at, server, &seats)
        .map_err(Error::setup("start the server"))?;
    let mut clients = Vec::new();
    for (id, k) in (0_u32..).zip(0..config.clients) {
        let start = |seats: &Seats| {
            let what = format!("start client {k}");
            style
                .client(run, lanes, &server, client.clone(), (id, seats))
                .map_err(Error::setup(what))
        };
        clients.push(seats.fill(lanes, k, start)?);
    }
    let observed = conduct(run, config, || style.wake(run, &clients));
    let sharded = config.io_model == IoModel::Sharded;
    Ok((observed, sharded.then_some(seats.unpaired())))
}

fn lanes(config: &TransportConfig) -> Result<Lanes, arknet::LanesError> {
    match config.io_model {
        IoModel::Shared => Lanes::shared(config.io_threads),
        IoModel::Sharded => Lanes::sharded(config.io_threads),
    }
}

fn configurations(config: &TransportConfig) -> Result<(ServerConfig, ClientConfig), Error> {
    let bytes = QUEUE_BYTES.max(config.window * config.payload);
    let operations = QUEUE_OPERATIONS.max(config.window);
    let server = ServerConfig::new()
        .framing(Framing::LengthPrefix)
        .send_queue(bytes, operations);
    let client = ClientConfig::new()
        .framing(Framing::LengthPrefix)
        .send_queue(bytes, operations)
        .connect_timeout(CONNECT_TIMEOUT)
        .reconnect(ReconnectPolicy::off());
    match config.protocol {
        Protocol::Tcp => Ok((server, client)),
        Protocol::Tcps => {
            let (server_tls, client_tls) = tls::configurations(config.address_family)?;
            Ok((server.tls(server_tls), client.tls(client_tls)))
        }
    }
}

/// Counts the end of a server's session that was not the client's wish.
fn server_ended(run: &Run, reason: &CloseReason) {
    if panicked(run, reason) || run.is_stopping() {
        return;
    }
    if let CloseReason::Error(error) = reason {
        run.fault(
            Fault::DisconnectErrors,
            &format!("a server's session: {error}"),
        );
    }
}

/// Counts a handler that panicked; says whether one did.
fn panicked(run: &Run, reason: &CloseReason) -> bool {
    let panicked = reason
        .error()
        .is_some_and(|error| error.kind() == ErrorKind::Panic);
    if panicked {
        run.fault(Fault::CallbackExceptions, &reason.to_string());
    }
    panicked
}
