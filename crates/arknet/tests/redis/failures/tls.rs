//! Who the server has to be, and what it learns of the name.

use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use arknet::pool::PoolConfig;
use arknet::redis::{Client, Config, Doing, Error, ErrorKind, Pool, TlsMode, cmd};
use arknet::tls::Authorities;
use arknet_testkit::certs::{Authority, Usage, Validity};
use arknet_testkit::servers::redis::{Options, RedisServer};
use arknet_testkit::{TempDir, need};

use crate::support::{PATIENCE, on_a_lane};

/// What a client says first, in clear, to a server that goes away then.
fn client_hello(config: impl FnOnce(SocketAddr) -> Config) -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut head = [0; 5];
        stream.read_exact(&mut head).unwrap();
        // A record of a handshake (RFC 8446 section 5.1).
        assert_eq!(head[0], 22);
        let len = u16::from_be_bytes([head[3], head[4]]);
        let mut hello = vec![0; len.into()];
        stream.read_exact(&mut hello).unwrap();
        hello
    });
    let config = config(address).tls(TlsMode::Required);
    on_a_lane(async |lanes| {
        let error = Client::connect(config.clone(), lanes).await.unwrap_err();
        let known = matches!(error.kind(), ErrorKind::Tls | ErrorKind::Connect);
        assert!(known, "{error}");
    });
    server.join().unwrap()
}

fn says(hello: &[u8], name: &str) -> bool {
    hello
        .windows(name.len())
        .any(|part| part == name.as_bytes())
}

#[test]
fn the_name_of_the_server_is_sent_and_an_address_is_not() {
    let named = client_hello(|at| Config::new(format!("localhost:{}", at.port())).unwrap());
    assert!(says(&named, "localhost"));
    let addressed = client_hello(|at| Config::new(at).unwrap());
    assert!(!says(&addressed, "127.0.0.1"));
    let other = client_hello(|at| {
        Config::new(at)
            .unwrap()
            .tls_server_name("cache.example.org")
    });
    assert!(says(&other, "cache.example.org"));
}

#[test]
fn a_certificate_that_has_expired_is_refused() {
    let folder = TempDir::new("arknet-expired").unwrap();
    let authority = Authority::new("somebody who is trusted").unwrap();
    let server_at = |stem: &str, validity| {
        let names = ["localhost", "127.0.0.1"];
        let identity = authority
            .issue_valid(&names, Usage::Server, validity)
            .unwrap();
        let files = identity.write_to(folder.path(), stem).unwrap();
        let options = Options::default()
            .line(&format!("tls-cert-file {}", files.cert.display()))
            .line(&format!("tls-key-file {}", files.key.display()));
        RedisServer::start(options)
    };
    let expired = need!(server_at("expired", Validity::Expired));
    let valid = need!(server_at("valid", Validity::Now));
    on_a_lane(async |lanes| {
        let config = |server: &RedisServer| {
            let roots = Authorities::from_pem(authority.cert_pem()).unwrap();
            let config = Config::new(server.tls_addr()).unwrap().tls_roots(roots);
            config.tls(TlsMode::VerifyFull)
        };
        let client = Client::connect(config(&valid), lanes).await.unwrap();
        client.run(cmd::<()>("PING")).await.unwrap();
        let error = Client::connect(config(&expired), lanes).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tls, "{error}");
        assert!(
            error.to_string().to_lowercase().contains("expired"),
            "{error}"
        );
        // It will not go away by itself, so nobody waits for it.
        let pool = Pool::new(config(&expired), PoolConfig::new(), lanes).unwrap();
        let start = Instant::now();
        let error = pool.acquire_within(PATIENCE).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Tls, "{error}");
        assert!(start.elapsed() < PATIENCE / 2);
    });
}

#[test]
fn a_handshake_that_goes_nowhere_is_given_up_with_the_connect() {
    const LIMIT: Duration = Duration::from_millis(200);
    // It accepts, in the kernel, and says nothing.
    let deaf = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = Config::new(deaf.local_addr().unwrap()).unwrap();
    let config = config.tls(TlsMode::Required).connect_timeout(LIMIT);
    on_a_lane(async |lanes| {
        let start = Instant::now();
        let error = Client::connect(config.clone(), lanes).await.unwrap_err();
        let known = matches!(
            error,
            Error::Timeout {
                doing: Doing::Connect,
                within: LIMIT,
                ..
            }
        );
        assert!(known, "{error:?}");
        assert!((LIMIT..PATIENCE).contains(&start.elapsed()));
    });
}
