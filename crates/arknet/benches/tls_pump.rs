//! What a turn over TLS costs, without any socket: the record pump against rustls's buffered
//! connections, which is what sits below tokio-rustls; and what an idle connection holds.
//!
//! A turn: a client sends 16 messages of 1 KiB at once, the server sends them back.
//!
//! `cargo bench -p arknet --bench tls_pump` prints times. For instructions, run the binary
//! under `valgrind --tool=callgrind` as `tls_pump pump 1000` and `tls_pump pump 2000`, and
//! divide the difference by 1000; `tls_pump rustls N` likewise.

#![allow(missing_docs, reason = "a program")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use arknet::tls::{Authorities, ClientConfig, Identity, Pump, ServerConfig};
use bytes::BytesMut;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

const TURN: usize = 16 * 1024;

/// Counts what is allocated and what is held.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    match arguments.as_slice() {
        [which, turns] => {
            let pki = Pki::new();
            let turns = turns.parse().unwrap();
            match which.as_str() {
                "pump" => Pumps::new(&pki).turns(turns),
                _ => Buffered::new(&pki).turns(turns),
            }
        }
        // `cargo test` runs benches without this flag: only whether they work is asked then.
        _ if std::env::args().any(|argument| argument == "--bench") => report(7, 4_000),
        _ => report(1, 10),
    }
}

fn report(rounds: usize, turns: usize) {
    let pki = Pki::new();
    let (mut pumps, mut buffered) = (Pumps::new(&pki), Buffered::new(&pki));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        ours.push(nanoseconds_per_turn(turns, || pumps.turns(turns)));
        theirs.push(nanoseconds_per_turn(turns, || buffered.turns(turns)));
    }
    ours.sort_unstable();
    theirs.sort_unstable();
    let (ours, theirs) = (ours[rounds / 2], theirs[rounds / 2]);
    println!("turn of 16 KiB each way: pump {ours} ns, rustls buffered {theirs} ns");

    let before = ALLOCATIONS.load(Ordering::Relaxed);
    pumps.turns(turns);
    let pump = ALLOCATIONS.load(Ordering::Relaxed) - before;
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    buffered.turns(turns);
    let rustls = ALLOCATIONS.load(Ordering::Relaxed) - before;
    println!("allocations in {turns} turns: pump {pump}, rustls buffered {rustls}");

    let servers = 100;
    let held = |connect: &dyn Fn() -> Pump| {
        let before = HELD.load(Ordering::Relaxed);
        let pumps: Vec<Pump> = (0..servers).map(|_| connect()).collect();
        let held = HELD.load(Ordering::Relaxed) - before;
        drop(pumps);
        held / servers
    };
    let plain = held(&|| Pumps::new(&pki).server);
    let mutual = held(&|| Pumps::mutual(&pki).server);
    println!("heap of an idle server-side pump: {plain} B, with a client certificate {mutual} B");
}

fn nanoseconds_per_turn(turns: usize, run: impl FnOnce()) -> u128 {
    let start = Instant::now();
    run();
    start.elapsed().as_nanos() / turns as u128
}

struct Pki {
    certificate: String,
    key: String,
    server: ServerConfig,
    mutual: ServerConfig,
    client: ClientConfig,
}

impl Pki {
    fn new() -> Self {
        let issued = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let (certificate, key) = (issued.cert.pem(), issued.signing_key.serialize_pem());
        let identity = Identity::from_pem(&certificate, &key).unwrap();
        let authorities = Authorities::from_pem(&certificate).unwrap();
        let server = ServerConfig::builder().identity(identity.clone());
        let client_auth = arknet::tls::ClientAuth::Required(authorities.clone());
        Self {
            server: server.clone().build().unwrap(),
            mutual: server.client_auth(client_auth).build().unwrap(),
            client: ClientConfig::builder()
                .roots(authorities)
                .identity(identity)
                .build()
                .unwrap(),
            certificate,
            key,
        }
    }
}

struct Pumps {
    client: Pump,
    server: Pump,
    to_server: BytesMut,
    to_client: BytesMut,
    plain: BytesMut,
}

impl Pumps {
    fn new(pki: &Pki) -> Self {
        Self::connect(&pki.client, &pki.server)
    }

    fn mutual(pki: &Pki) -> Self {
        Self::connect(&pki.client, &pki.mutual)
    }

    fn connect(client: &ClientConfig, server: &ServerConfig) -> Self {
        let mut pumps = Self {
            client: Pump::client(client, "localhost").unwrap(),
            server: Pump::server(server).unwrap(),
            to_server: BytesMut::new(),
            to_client: BytesMut::new(),
            plain: BytesMut::new(),
        };
        for _ in 0..4 {
            pumps.client_receives();
            pumps.server_receives();
        }
        assert!(!pumps.server.is_handshaking());
        pumps.to_server.reserve(2 * TURN);
        pumps.to_client.reserve(2 * TURN);
        pumps.plain.reserve(2 * TURN);
        pumps
    }

    fn client_receives(&mut self) {
        let Self {
            client,
            to_server,
            to_client,
            plain,
            ..
        } = self;
        client
            .receive(to_client, plain, usize::MAX, to_server)
            .unwrap();
    }

    fn server_receives(&mut self) {
        let Self {
            server,
            to_server,
            to_client,
            plain,
            ..
        } = self;
        server
            .receive(to_server, plain, usize::MAX, to_client)
            .unwrap();
    }

    fn turns(&mut self, turns: usize) {
        let messages = vec![7; TURN];
        for _ in 0..turns {
            self.client.seal(&messages, &mut self.to_server).unwrap();
            self.server_receives();
            self.server.seal(&self.plain, &mut self.to_client).unwrap();
            self.plain.clear();
            self.client_receives();
            assert_eq!(self.plain.len(), TURN);
            self.plain.clear();
        }
    }
}

struct Buffered {
    client: rustls::ClientConnection,
    server: rustls::ServerConnection,
}

impl Buffered {
    fn new(pki: &Pki) -> Self {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let certificate = CertificateDer::from_pem_slice(pki.certificate.as_bytes()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(pki.key.as_bytes()).unwrap();
        let mut roots = rustls::RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let server = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let client = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = "localhost".try_into().unwrap();
        let mut pair = Self {
            client: rustls::ClientConnection::new(Arc::new(client), name).unwrap(),
            server: rustls::ServerConnection::new(Arc::new(server)).unwrap(),
        };
        let (mut wire, mut plain) = (Vec::new(), vec![0; 2 * TURN]);
        for _ in 0..4 {
            deliver(&mut pair.client, &mut pair.server, &mut wire, &mut plain);
            deliver(&mut pair.server, &mut pair.client, &mut wire, &mut plain);
        }
        assert!(!pair.server.is_handshaking());
        pair
    }

    fn turns(&mut self, turns: usize) {
        let messages = vec![7; TURN];
        let (mut wire, mut plain) = (Vec::with_capacity(2 * TURN), vec![0; 2 * TURN]);
        for _ in 0..turns {
            self.client.writer().write_all(&messages).unwrap();
            let got = deliver(&mut self.client, &mut self.server, &mut wire, &mut plain);
            self.server.writer().write_all(&plain[..got]).unwrap();
            let got = deliver(&mut self.server, &mut self.client, &mut wire, &mut plain);
            assert_eq!(got, TURN);
        }
    }
}

/// As a driver with a 64 KiB read buffer would: everything there is, in one go.
fn deliver<A, B>(
    from: &mut rustls::ConnectionCommon<A>,
    to: &mut rustls::ConnectionCommon<B>,
    wire: &mut Vec<u8>,
    plain: &mut [u8],
) -> usize {
    wire.clear();
    while from.wants_write() {
        from.write_tls(wire).unwrap();
    }
    let (mut rest, mut got) = (&wire[..], 0);
    while !rest.is_empty() {
        to.read_tls(&mut rest).unwrap();
        to.process_new_packets().unwrap();
        while let Ok(read @ 1..) = to.reader().read(&mut plain[got..]) {
            got += read;
        }
    }
    got
}
