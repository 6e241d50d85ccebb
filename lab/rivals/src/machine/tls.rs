//! The echo on tokio-rustls, as most users write it and as a careful user could.
//!
//! `tokio-rustls` reads into a roomy buffer and writes each message on its own: one record and one
//! `send` a message. `tokio-rustls-buffered` reads the socket 64 KiB at a time, takes everything
//! that is already there, and puts all answers of a turn into one write and one flush.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::thread;

use arknet_lab::measure::Measurement;
use arknet_lab::measure::conduct::conduct;
use arknet_lab::measure::config::{Protocol, TransportConfig};
use arknet_lab::measure::counters::Fault;
use arknet_lab::measure::native::buffer::Flat;
use arknet_lab::measure::native::ends::{ServerEnd, WindowedEnd};
use arknet_lab::measure::native::pairs;
use arknet_lab::measure::run::Run;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

use crate::failure::Failure;
use crate::load::Load;
use crate::sample::Sample;

/// What one read of the socket may take, in bytes.
const READ_ROOM: usize = 64 * 1024;

/// The name in the certificate that a run makes for itself.
const HOST: &str = "localhost";

/// Runs the load once, a write per message.
pub(crate) fn run_plain(load: &Load) -> Result<Sample, Failure> {
    run::<TcpStream>(load)
}

/// Runs the load once, a flush per turn.
pub(crate) fn run_buffered(load: &Load) -> Result<Sample, Failure> {
    run::<BufReader<TcpStream>>(load)
}

/// The transport below TLS, and with it the care that is taken above.
trait Below: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// Whether a turn's messages leave in one write.
    const COALESCE: bool;

    fn over(socket: TcpStream) -> Self;

    /// Whether bytes from the socket are waiting in user space.
    fn holds_bytes(&self) -> bool;
}

impl Below for TcpStream {
    const COALESCE: bool = false;

    fn over(socket: TcpStream) -> Self {
        socket
    }

    fn holds_bytes(&self) -> bool {
        false
    }
}

impl Below for BufReader<TcpStream> {
    const COALESCE: bool = true;

    fn over(socket: TcpStream) -> Self {
        Self::with_capacity(READ_ROOM, socket)
    }

    fn holds_bytes(&self) -> bool {
        !self.buffer().is_empty()
    }
}

fn run<S: Below>(load: &Load) -> Result<Sample, Failure> {
    if load.threads != 1 {
        return Err(Failure::Usage(
            "tokio-rustls is written for one thread".to_owned(),
        ));
    }
    let config = load.config();
    config
        .check()
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let config = TransportConfig {
        protocol: Protocol::Tcps,
        ..config
    };
    let run = Run::new(&config);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(Failure::io("starting a tokio runtime"))?;
    let pairs = runtime.block_on(connect::<S>(&config))?;
    let (wake, woken) = watch::channel(());
    let observed = thread::scope(|scope| {
        scope.spawn(|| runtime.block_on(serve(&run, &config, pairs, woken)));
        let observed = conduct(&run, &config, || wake.send_replace(()));
        run.stop();
        // Clients end when nobody can wake them any more, and their servers after them.
        drop(wake);
        observed
    });
    Sample::of(&Measurement::new(&config, "tokio-rustls", &run, &observed))
}

struct Pair<S> {
    client: TlsStream<S>,
    server: TlsStream<S>,
}

async fn connect<S: Below>(config: &TransportConfig) -> Result<Vec<Pair<S>>, Failure> {
    let (connector, acceptor) = configure()?;
    let name = ServerName::try_from(HOST).map_err(Failure::library("naming the server"))?;
    let mut encrypted = Vec::new();
    for pair in pairs::connect(config)? {
        let over = |socket| TcpStream::from_std(socket).map(S::over);
        let near = over(pair.client).map_err(Failure::io("registering a client's socket"))?;
        let far = over(pair.server).map_err(Failure::io("registering a server's socket"))?;
        let (client, server) =
            tokio::try_join!(connector.connect(name.clone(), near), acceptor.accept(far))
                .map_err(Failure::io("shaking hands over loopback"))?;
        encrypted.push(Pair {
            client: client.into(),
            server: server.into(),
        });
    }
    Ok(encrypted)
}

/// Runs a task for every end until all have ended.
async fn serve<S: Below>(
    run: &Arc<Run>,
    config: &TransportConfig,
    pairs: Vec<Pair<S>>,
    woken: watch::Receiver<()>,
) {
    let mut tasks = JoinSet::new();
    for (id, Pair { client, server }) in (0..).zip(pairs) {
        tasks.spawn(answer(
            server,
            ServerEnd::new(run, config.traffic),
            config.payload,
        ));
        tasks.spawn(ask(
            client,
            WindowedEnd::new(run, id),
            config.payload,
            woken.clone(),
        ));
    }
    drop(woken);
    while let Some(ended) = tasks.join_next().await {
        if ended.is_err() {
            run.fault(Fault::CallbackExceptions, "a task panicked");
        }
    }
}

/// A certificate made for this run, trusted by its client alone.
fn configure() -> Result<(TlsConnector, TlsAcceptor), Failure> {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed([HOST.to_owned()])
        .map_err(Failure::library("making a certificate"))?;
    let key = PrivateKeyDer::Pkcs8(signing_key.serialize_der().into());
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    roots
        .add(cert.der().clone())
        .map_err(Failure::library("trusting the certificate"))?;
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(Failure::library("choosing protocol versions"))?
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .map_err(Failure::library("configuring the server"))?;
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(Failure::library("choosing protocol versions"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok((
        TlsConnector::from(Arc::new(client)),
        TlsAcceptor::from(Arc::new(server)),
    ))
}

/// A server, until its client ends.
async fn answer<S: Below>(mut stream: TlsStream<S>, mut end: ServerEnd, payload: usize) {
    if let Err(error) = answer_all(&mut stream, &mut end, payload).await {
        end.on_disconnect(&error);
    }
}

async fn answer_all<S: Below>(
    stream: &mut TlsStream<S>,
    end: &mut ServerEnd,
    payload: usize,
) -> io::Result<()> {
    loop {
        receive(stream, &mut end.received).await?;
        let whole = end.on_received()?;
        let answers = end.received.filled().get(..whole).unwrap_or_default();
        send(stream, answers, payload).await?;
        end.received.consume(whole);
    }
}

/// A client, phase for phase, until nobody can wake it any more.
async fn ask<S: Below>(
    mut stream: TlsStream<S>,
    mut end: WindowedEnd,
    payload: usize,
    mut woken: watch::Receiver<()>,
) {
    while woken.changed().await.is_ok() {
        end.begin();
        while !end.traffic.is_finished() {
            if let Err(error) = exchange(&mut stream, &mut end, payload).await {
                return end
                    .traffic
                    .on_disconnect(&format!("a client's connection: {error}"));
            }
            end.on_received();
        }
    }
}

/// Sends what is queued and waits for bytes. The harness keeps a window well below what the sockets'
/// buffers take, so the two ends cannot wait for each other.
async fn exchange<S: Below>(
    stream: &mut TlsStream<S>,
    end: &mut WindowedEnd,
    payload: usize,
) -> io::Result<()> {
    send(stream, end.out.filled(), payload).await?;
    end.out.consume(end.out.filled().len());
    receive(stream, &mut end.received).await
}

/// Reads once, and then on as long as that costs no system call.
async fn receive<S: Below>(stream: &mut TlsStream<S>, buffer: &mut Flat) -> io::Result<()> {
    let n = stream.read(buffer.room()).await?;
    if n == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    buffer.fill(n);
    while stream.get_ref().0.holds_bytes() {
        let n = read_now(stream, buffer.room()).await?;
        if n == 0 {
            break;
        }
        buffer.fill(n);
    }
    Ok(())
}

/// Reads what is there; 0 when nothing is.
async fn read_now<S: Below>(stream: &mut TlsStream<S>, room: &mut [u8]) -> io::Result<usize> {
    poll_fn(|context| {
        let mut buffer = ReadBuf::new(room);
        match Pin::new(&mut *stream).poll_read(context, &mut buffer) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Ready(Ok(buffer.filled().len())),
        }
    })
    .await
}

/// Writes whole messages, together or one by one, and flushes once.
async fn send<S: Below>(stream: &mut TlsStream<S>, bytes: &[u8], payload: usize) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let size = if S::COALESCE { bytes.len() } else { payload };
    for messages in bytes.chunks(size) {
        stream.write_all(messages).await?;
    }
    stream.flush().await
}
