//! What a server's idle connection holds, as the mean of five thousand that have talked and are silent for a second.
//!
//! The other ends are plain sockets of this process, which hold no heap; those of TLS are shaken hands with by rustls,
//! whose state is dropped when the first echo has come.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use arknet::tcp::{Framing, Server, ServerConfig};
use arknet::{Lanes, Session};
use arknet_testkit::alloc;

use crate::support::{Keys, PATIENCE, Style};

const CONNECTIONS: usize = 5_000;

/// How long the connections are silent before they are measured: that is part of the promise.
const IDLE: Duration = Duration::from_secs(1);

const PLAIN_LIMIT: usize = 4 * 1024;
const TLS_LIMIT: usize = 40 * 1024;

/// A length prefix and a payload.
const HELLO: &[u8] = b"\x05hello";

/// Bytes of heap, and of the resident set, which also has what aws-lc takes past the counting allocator.
#[derive(Clone, Copy)]
struct Held {
    heap: i64,
    resident: i64,
}

impl Held {
    fn now() -> Self {
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        let resident: i64 = pages
            .split(' ')
            .nth(1)
            .and_then(|pages| pages.parse().ok())
            .unwrap_or(0);
        Self {
            heap: alloc::counts().live_bytes,
            resident: resident * 4096,
        }
    }
}

fn server(lanes: &Lanes, style: Style, keys: Option<&Keys>) -> Server {
    let mut config = ServerConfig::new().framing(Framing::LengthPrefix);
    if let Some(keys) = keys {
        config = config.tls(keys.server_config());
    }
    match style {
        Style::Callbacks => Server::start(lanes, "127.0.0.1:0", config, |_| {
            |session: &mut Session, message: &[u8]| session.send(message).unwrap()
        }),
        Style::Async => Server::serve(lanes, "127.0.0.1:0", config, |mut connection| async move {
            while let Ok(Some(message)) = connection.recv().await {
                connection.send(message).await.unwrap();
            }
        }),
    }
    .unwrap()
}

/// A socket whose server has echoed once.
fn open(address: SocketAddr, tls: Option<&Arc<rustls::ClientConfig>>) -> TcpStream {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    match tls {
        None => talk(&mut socket),
        Some(config) => {
            let name = rustls::pki_types::ServerName::try_from("localhost").unwrap();
            let mut connection = rustls::ClientConnection::new(config.clone(), name).unwrap();
            talk(&mut rustls::Stream::new(&mut connection, &mut socket));
        }
    }
    socket
}

fn talk(stream: &mut (impl Read + Write)) {
    stream.write_all(HELLO).unwrap();
    let mut echo = [0; HELLO.len()];
    stream.read_exact(&mut echo).unwrap();
    assert_eq!(echo, HELLO);
}

fn client_config(keys: &Keys) -> Arc<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(keys.authority.cert_der().into()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

fn measure(what: &str, style: Style, keys: Option<&Keys>, limit: usize) {
    assert!(alloc::installed());
    let lanes = Lanes::sharded(2).unwrap();
    let server = server(&lanes, style, keys);
    let address = server.local_addr().ip().unwrap();
    let tls = keys.map(client_config);
    let mut sockets = Vec::with_capacity(CONNECTIONS);
    // What lanes keep for all connections is there before the first that is counted.
    for _ in 0..100 {
        sockets.push(open(address, tls.as_ref()));
    }
    sockets.clear();
    while !server.is_empty() {
        thread::sleep(Duration::from_millis(1));
    }
    let before = Held::now();
    for _ in 0..CONNECTIONS {
        sockets.push(open(address, tls.as_ref()));
    }
    thread::sleep(IDLE);
    let after = Held::now();
    assert_eq!(server.len(), CONNECTIONS);
    let mean = |after: i64, before: i64| (after - before) / CONNECTIONS as i64;
    let (heap, resident) = (
        mean(after.heap, before.heap),
        mean(after.resident, before.resident),
    );
    eprintln!("{what}: {heap} bytes of heap for each idle connection, {resident} resident");
    assert!(heap > 0 && heap <= limit as i64, "{what}: {heap} bytes");
    drop(sockets);
    let report = server.shutdown(PATIENCE).wait().unwrap();
    assert_eq!(report.stuck, 0);
}

#[test]
fn memory_of_idle_plain_callbacks() {
    measure("plain, callbacks", Style::Callbacks, None, PLAIN_LIMIT);
}

#[test]
fn memory_of_idle_plain_async() {
    measure("plain, async", Style::Async, None, PLAIN_LIMIT);
}

#[test]
fn memory_of_idle_tls_callbacks() {
    let keys = Keys::new();
    measure("tls, callbacks", Style::Callbacks, Some(&keys), TLS_LIMIT);
}

#[test]
fn memory_of_idle_tls_async() {
    let keys = Keys::new();
    measure("tls, async", Style::Async, Some(&keys), TLS_LIMIT);
}
