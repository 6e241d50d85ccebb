//! Tasks on tokio: one multi-thread runtime when threads share the connections, one current-thread
//! runtime a thread when they do not.
//!
//! Reads go through `AsyncRead::poll_read` with more room than is needed: tokio forgets readiness
//! after a short read there (and not in `try_read`), which saves the second `recv` of a turn.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::{self, Runtime};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::buffer::Flat;
use super::ends::{BatchEnd, ServerEnd, WindowedEnd};
use super::mio_machine::join;
use super::pairs::{self, Pair};
use crate::measure::conduct::conduct;
use crate::measure::config::{IoModel, Traffic, TransportConfig};
use crate::measure::counters::Fault;
use crate::measure::error::Error;
use crate::measure::measurement::Measurement;
use crate::measure::run::Run;

/// How long a runtime may take to end its threads: one may be in a message's work.
const SHUTDOWN: Duration = Duration::from_secs(5);

/// Measures with tokio runtimes as the configuration asks for.
///
/// # Errors
/// As [`measure::transport`](crate::measure::transport) does.
pub fn run(config: &TransportConfig) -> Result<Measurement, Error> {
    let run = Run::new(config);
    let (wake, woken) = watch::channel(Command::Go);
    let lanes = lanes(&run, config, pairs::connect(config)?, &woken);
    drop(woken);
    let machine = match config.io_model {
        IoModel::Shared if config.io_threads > 1 => Machine::shared(&run, config, lanes)?,
        IoModel::Shared | IoModel::Sharded => Machine::sharded(&run, lanes)?,
    };
    let observed = conduct(&run, config, || command(&wake, Command::Go));
    run.stop();
    command(&wake, Command::Stop);
    machine.join(&run);
    Ok(Measurement::new(config, "tokio", &run, &observed))
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Command {
    Go,
    Stop,
}

fn command(wake: &watch::Sender<Command>, command: Command) {
    // Without receivers every client has ended, and its results say so.
    let _ = wake.send(command);
}

/// The connections that stay together, and where commands come from.
struct Lane {
    run: Arc<Run>,
    pairs: Vec<(u32, Pair)>,
    traffic: Traffic,
    woken: watch::Receiver<Command>,
}

fn lanes(
    run: &Arc<Run>,
    config: &TransportConfig,
    pairs: Vec<Pair>,
    woken: &watch::Receiver<Command>,
) -> Vec<Lane> {
    let lane = || Lane {
        run: run.clone(),
        pairs: Vec::new(),
        traffic: config.traffic,
        woken: woken.clone(),
    };
    let count = config.io_contexts();
    let mut lanes: Vec<Lane> = (0..count).map(|_| lane()).collect();
    for (id, pair) in (0_u32..).zip(pairs) {
        if let Some(lane) = lanes.get_mut(id as usize % count) {
            lane.pairs.push((id, pair));
        }
    }
    lanes
}

enum Machine {
    Shared(Runtime),
    Sharded(Vec<JoinHandle<io::Result<()>>>),
}

impl Machine {
    fn shared(run: &Arc<Run>, config: &TransportConfig, lanes: Vec<Lane>) -> Result<Self, Error> {
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(config.io_threads)
            .thread_name("io")
            .enable_io()
            .build()
            .map_err(Error::setup("build a tokio runtime"))?;
        for lane in lanes {
            let run = run.clone();
            runtime.spawn(async move {
                if let Err(e) = lane.serve().await {
                    run.fault(
                        Fault::CallbackExceptions,
                        &format!("register a socket: {e}"),
                    );
                }
            });
        }
        Ok(Machine::Shared(runtime))
    }

    fn sharded(run: &Arc<Run>, lanes: Vec<Lane>) -> Result<Self, Error> {
        let mut threads = Vec::new();
        for (k, lane) in lanes.into_iter().enumerate() {
            let thread = Builder::new().name(format!("io-{k}")).spawn(move || {
                let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
                runtime.block_on(lane.serve())
            });
            match thread {
                Ok(thread) => threads.push(thread),
                Err(e) => {
                    // The lanes that run have to end before their sockets' run is given up.
                    run.stop();
                    return Err(Error::setup("start an io thread")(e));
                }
            }
        }
        Ok(Machine::Sharded(threads))
    }

    fn join(self, run: &Run) {
        match self {
            Machine::Shared(runtime) => runtime.shutdown_timeout(SHUTDOWN),
            Machine::Sharded(threads) => {
                threads.into_iter().for_each(|thread| join(run, thread));
            }
        }
    }
}

impl Lane {
    /// Runs the lane's tasks until they end or the run stops; dropping them ends their clients.
    async fn serve(self) -> io::Result<()> {
        let Lane {
            run,
            pairs,
            traffic,
            mut woken,
        } = self;
        let mut tasks = JoinSet::new();
        for (id, Pair { client, server }) in pairs {
            let (client, server) = (TcpStream::from_std(client)?, TcpStream::from_std(server)?);
            tasks.spawn(answer(server, ServerEnd::new(&run, traffic)));
            match traffic {
                Traffic::Windowed => {
                    tasks.spawn(ask(client, WindowedEnd::new(&run, id), woken.clone()))
                }
                Traffic::Batch => {
                    tasks.spawn(ask_batches(client, BatchEnd::new(&run, id), woken.clone()))
                }
            };
        }
        let ended = async {
            while let Some(ended) = tasks.join_next().await {
                if ended.is_err_and(|e| e.is_panic()) {
                    run.fault(Fault::CallbackExceptions, "a task panicked");
                }
            }
        };
        tokio::select! {
            () = ended => {}
            _ = woken.wait_for(|command| *command == Command::Stop) => {}
        }
        tasks.shutdown().await;
        Ok(())
    }
}

/// A client that keeps its window full.
async fn ask(mut stream: TcpStream, mut end: WindowedEnd, mut woken: watch::Receiver<Command>) {
    while woken.changed().await.is_ok() {
        end.begin();
        while !end.traffic.is_finished() {
            match poll_fn(|cx| exchange(&mut stream, &mut end, cx)).await {
                Ok(()) => end.on_received(),
                Err(e) => {
                    return end.traffic.on_disconnect(&e);
                }
            }
        }
    }
}

/// Sends what is queued as far as there is room, and waits for bytes at the same time: a server
/// that is stuck with its answer reads nothing more.
fn exchange(
    stream: &mut TcpStream,
    end: &mut WindowedEnd,
    cx: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    while !end.out.is_empty() {
        match Pin::new(&mut *stream).poll_write(cx, end.out.filled()) {
            Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            Poll::Ready(Ok(n)) => end.out.consume(n),
            Poll::Ready(Err(e)) => return Poll::Ready(Err(e)),
            Poll::Pending => break,
        }
    }
    poll_receive(stream, &mut end.received, cx)
}

/// A client that sends batches.
async fn ask_batches(
    mut stream: TcpStream,
    mut end: BatchEnd,
    mut woken: watch::Receiver<Command>,
) {
    while woken.changed().await.is_ok() {
        if end.begin()
            && let Err(e) = exchange_batches(&mut stream, &mut end).await
        {
            return end.traffic.on_disconnect(&e);
        }
    }
}

async fn exchange_batches(stream: &mut TcpStream, end: &mut BatchEnd) -> io::Result<()> {
    loop {
        send(stream, &end.batch).await?;
        while !end.on_received() {
            if end.traffic.is_finished() {
                return Ok(());
            }
            receive(stream, &mut end.received).await?;
        }
        end.fill();
    }
}

/// A server, until its client ends.
async fn answer(mut stream: TcpStream, mut end: ServerEnd) {
    if let Err(e) = answer_all(&mut stream, &mut end).await {
        end.on_disconnect(&e);
    }
}

async fn answer_all(stream: &mut TcpStream, end: &mut ServerEnd) -> io::Result<()> {
    loop {
        receive(stream, &mut end.received).await?;
        let whole = end.on_received()?;
        send(
            stream,
            end.received.filled().get(..whole).unwrap_or_default(),
        )
        .await?;
        end.received.consume(whole);
    }
}

async fn send(stream: &mut TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    poll_fn(|cx| {
        while !bytes.is_empty() {
            let n = ready!(Pin::new(&mut *stream).poll_write(cx, bytes))?;
            match bytes.get(n..) {
                Some(rest) if n > 0 => bytes = rest,
                _ => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            }
        }
        Poll::Ready(Ok(()))
    })
    .await
}

async fn receive(stream: &mut TcpStream, buffer: &mut Flat) -> io::Result<()> {
    poll_fn(|cx| poll_receive(stream, buffer, cx)).await
}

/// Reads once; a read of nothing is the peer's end.
fn poll_receive(
    stream: &mut TcpStream,
    buffer: &mut Flat,
    cx: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    let mut room = ReadBuf::new(buffer.room());
    ready!(Pin::new(stream).poll_read(cx, &mut room))?;
    match room.filled().len() {
        0 => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
        n => {
            buffer.fill(n);
            Poll::Ready(Ok(()))
        }
    }
}
