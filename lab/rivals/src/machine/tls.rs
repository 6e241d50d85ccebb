//! The echo on tokio-rustls, as most users write it and as a careful user could.
//!
//! `tokio-rustls` reads into a roomy buffer and writes each message on its own: one record and one
//! `send` a message. `tokio-rustls-buffered` reads the socket 64 KiB at a time, takes everything
//! that is already there, and puts all answers of a turn into one write and one flush.

use std::future::poll_fn;
use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use hdrhistogram::Histogram;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

use crate::failure::Failure;
use crate::load::{Load, READ_ROOM};
use crate::sample::{Sample, Stamp};
use crate::traffic::{Client, Input, Phase, Run, Server, round_trips};

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
        return Err(Failure::Unknown(
            "tokio-rustls: only one thread is written".to_owned(),
        ));
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::io("starting a tokio runtime"))?;
    runtime.block_on(measure::<S>(&Run::new(load)))
}

async fn measure<S: Below>(run: &Arc<Run>) -> Result<Sample, Failure> {
    let mut pairs = connect::<S>(run).await?;
    let mut servers = JoinSet::new();
    let mut clients = JoinSet::new();
    for (id, Pair { client, server }) in (0..).zip(pairs.drain(..)) {
        servers.spawn(serve(Arc::clone(run), server));
        clients.spawn(request(Arc::clone(run), Client::new(run, id), client));
    }
    tokio::time::sleep(run.load.warmup()).await;
    let begin = Stamp::now(run)?;
    run.enter(Phase::Measured);
    tokio::time::sleep(run.load.measured()).await;
    let end = Stamp::now(run)?;
    run.enter(Phase::Stopping);
    let trips = drain(run, servers, clients).await;
    Ok(Sample::between(run, &begin, &end, &trips))
}

/// Waits for every end to stop by itself, and counts those that failed.
async fn drain(
    run: &Run,
    servers: JoinSet<io::Result<()>>,
    clients: JoinSet<io::Result<Client>>,
) -> Histogram<u64> {
    let mut trips = round_trips();
    for outcome in clients.join_all().await {
        match outcome {
            Ok(client) => trips += client.into_round_trips(),
            Err(_) => run.fail(),
        }
    }
    for outcome in servers.join_all().await {
        if outcome.is_err() {
            run.fail();
        }
    }
    trips
}

struct Pair<S> {
    client: TlsStream<S>,
    server: TlsStream<S>,
}

async fn connect<S: Below>(run: &Run) -> Result<Vec<Pair<S>>, Failure> {
    let (connector, acceptor) = configure()?;
    let io = || Failure::io("connecting TLS over loopback");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .map_err(io())?;
    let address = listener.local_addr().map_err(io())?;
    let name = ServerName::try_from(HOST).map_err(tls("naming the server"))?;
    let mut pairs = Vec::new();
    for _ in 0..run.load.clients {
        let near = TcpStream::connect(address).await.map_err(io())?;
        let (far, _) = listener.accept().await.map_err(io())?;
        near.set_nodelay(true).map_err(io())?;
        far.set_nodelay(true).map_err(io())?;
        let (client, server) = tokio::try_join!(
            connector.connect(name.clone(), S::over(near)),
            acceptor.accept(S::over(far)),
        )
        .map_err(io())?;
        pairs.push(Pair {
            client: client.into(),
            server: server.into(),
        });
    }
    Ok(pairs)
}

/// A certificate made for this run, trusted by its client alone.
fn configure() -> Result<(TlsConnector, TlsAcceptor), Failure> {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed([HOST.to_owned()]).map_err(tls("making a certificate"))?;
    let key = PrivateKeyDer::Pkcs8(signing_key.serialize_der().into());
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    roots
        .add(cert.der().clone())
        .map_err(tls("trusting the certificate"))?;
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(tls("choosing protocol versions"))?
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .map_err(tls("configuring the server"))?;
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(tls("choosing protocol versions"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok((
        TlsConnector::from(Arc::new(client)),
        TlsAcceptor::from(Arc::new(server)),
    ))
}

fn tls<E: std::fmt::Display>(doing: &'static str) -> impl FnOnce(E) -> Failure {
    move |error| Failure::Tls {
        doing,
        why: error.to_string(),
    }
}

async fn serve<S: Below>(run: Arc<Run>, mut stream: TlsStream<S>) -> io::Result<()> {
    let server = Server::new(&run);
    let mut input = Input::new(&run.load);
    while fill(&mut stream, &mut input).await? > 0 {
        let whole = server.turn(input.filled());
        if whole > 0 {
            write(&run, &mut stream, &input.filled()[..whole]).await?;
            input.consume(whole);
        }
    }
    Ok(())
}

async fn request<S: Below>(
    run: Arc<Run>,
    mut client: Client,
    mut stream: TlsStream<S>,
) -> io::Result<Client> {
    let mut input = Input::new(&run.load);
    client.begin(Instant::now());
    while !client.finished() {
        if !client.output().is_empty() {
            write(&run, &mut stream, client.output()).await?;
            client.output().clear();
        }
        if fill(&mut stream, &mut input).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let whole = client.turn(input.filled(), Instant::now());
        input.consume(whole);
    }
    stream.shutdown().await?;
    Ok(client)
}

/// Reads once, and then on as long as that costs no system call; 0 is the end of the stream.
async fn fill<S: Below>(stream: &mut TlsStream<S>, input: &mut Input) -> io::Result<usize> {
    let mut total = stream.read(input.room()).await?;
    input.received(total);
    while total > 0 && stream.get_ref().0.holds_bytes() && !input.room().is_empty() {
        let n = read_now(stream, input.room()).await?;
        if n == 0 {
            break;
        }
        input.received(n);
        total += n;
    }
    Ok(total)
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
async fn write<S: Below>(run: &Run, stream: &mut TlsStream<S>, bytes: &[u8]) -> io::Result<()> {
    if S::COALESCE {
        stream.write_all(bytes).await?;
    } else {
        for message in bytes.chunks(run.load.payload) {
            stream.write_all(message).await?;
        }
    }
    stream.flush().await
}
