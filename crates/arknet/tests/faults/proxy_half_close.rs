//! A peer that ends its stream after its request still gets its answer, when the handler has one to give.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;

use arknet::{CloseReason, tls};
use arknet_testkit::proxy::{Direction, Plan};

use crate::proxy_cut::assert_truncated;
use crate::support::{At, Cell, PATIENCE, Rig, Serve, What, ip, proxy_before};

in_every_cell!(
    an_answer_comes_after_the_end_of_the_request,
    the_proxy_ends_the_request_and_the_answer_comes,
);

/// A length prefix and five bytes.
const REQUEST: &[u8] = b"\x05hello";
const ANSWER: &[u8] = b"\x10received 5 bytes";

pub(crate) fn an_answer_comes_after_the_end_of_the_request(cell: Cell) {
    let rig = Rig::new(cell);
    let server = rig.serve(rig.server_config(), Serve::AnswerAtEnd);
    let address = ip(&server);
    let answer = if cell.is_secure() {
        let authority = rig.keys.authority.cert_der();
        rig.beside(move || ask_secure(address, &authority))
    } else {
        rig.beside(move || ask_plain(address))
    };
    assert_eq!(answer, ANSWER);
    rig.wait_messages(At::Server, &[b"hello"]);
    let reason = rig.wait_ended(At::Server);
    assert!(matches!(reason, CloseReason::Peer), "{reason:?}");
    rig.finish(server);
}

fn ask_plain(address: SocketAddr) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(REQUEST).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer
}

/// Says close_notify behind the request and reads on, as a half-close is in TLS (RFC 8446, section 6.1).
fn ask_secure(address: SocketAddr, authority: &[u8]) -> Vec<u8> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(authority.to_vec().into()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = rustls::pki_types::ServerName::try_from("localhost").unwrap();
    let connection = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut stream = rustls::StreamOwned::new(connection, socket);
    stream.write_all(REQUEST).unwrap();
    stream.conn.send_close_notify();
    stream.flush().unwrap();
    let mut answer = Vec::new();
    // An end without the server's close_notify would be an error here.
    stream.read_to_end(&mut answer).unwrap();
    answer
}

pub(crate) fn the_proxy_ends_the_request_and_the_answer_comes(cell: Cell) {
    let rig = Rig::new(cell);
    let server = rig.serve(rig.server_config(), Serve::AnswerAtEnd);
    let proxy = proxy_before(&server);
    let client = rig.connect(proxy.addr(), rig.client_config(), &[b"hello"]);
    rig.wait_messages(At::Server, &[b"hello"]);
    proxy.set(Direction::ToServer, Plan::half_close_after(0));
    let (server_reason, client_reason) = (rig.wait_ended(At::Server), rig.wait_ended(At::Client));
    if cell.is_secure() {
        // The end of the stream below, without close_notify, is no end of the stream above.
        assert_truncated(&server_reason);
        assert!(
            matches!(
                client_reason.error(),
                Some(
                    arknet::Error::Tls {
                        source: tls::Error::Truncated | tls::Error::AlertReceived(_),
                        ..
                    } | arknet::Error::Io { .. }
                )
            ),
            "{client_reason:?}"
        );
        rig.log.look(|facts| {
            assert!(
                !facts
                    .iter()
                    .any(|fact| matches!(fact.what, What::PeerEnded)),
                "a cut was taken for an end: {facts:?}"
            );
        });
    } else {
        assert!(
            matches!(server_reason, CloseReason::Peer),
            "{server_reason:?}"
        );
        assert!(
            matches!(client_reason, CloseReason::Peer),
            "{client_reason:?}"
        );
        rig.wait_messages(At::Client, &[b"received 5 bytes"]);
    }
    rig.finish((server, client, proxy));
}
