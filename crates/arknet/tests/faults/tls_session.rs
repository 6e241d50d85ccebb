//! What a TLS session agrees on, remembers, and must see at its end.

use arknet::tls::{self, Info};
use arknet::{CloseReason, Error};
use arknet_testkit::certs::Usage;

use crate::support::{At, Cell, Keys, PATIENCE, Rig, Serve, ip};
use crate::tls_verify::{agreed, failed_handshake, received_alert};

in_every_secure_cell!(
    both_ends_agree_on_an_application_protocol,
    no_common_application_protocol_is_refused,
    a_second_client_resumes_the_session,
    a_new_certificate_is_shown_without_a_restart,
    an_end_with_close_notify_is_an_end_on_both_sides,
);

pub(crate) fn both_ends_agree_on_an_application_protocol(cell: Cell) {
    let rig = Rig::new(cell);
    let server = alpn_server(&rig);
    let tls = rig.keys.client_builder().alpn(["chat/1", "chat/2"]);
    let config = rig.client_config().tls(tls.build().unwrap());
    let client = rig.connect(ip(&server), config, &[b"hello"]);
    rig.wait_messages(At::Client, &[b"hello"]);
    // The server's preference decides.
    for at in [At::Server, At::Client] {
        assert_eq!(agreed(&rig, at).alpn.as_deref(), Some(&b"chat/2"[..]));
    }
    rig.finish((server, client));
}

/// "no application protocol" (RFC 7301, section 3.2).
const NO_APPLICATION_PROTOCOL: u8 = 120;

pub(crate) fn no_common_application_protocol_is_refused(cell: Cell) {
    let rig = Rig::new(cell);
    let server = alpn_server(&rig);
    let tls = rig.keys.client_builder().alpn(["mail/1"]);
    let config = rig.client_config().tls(tls.build().unwrap());
    let client = rig.connect(ip(&server), config, &[]);
    let (error, text) = failed_handshake(&rig);
    assert!(
        matches!(error, Some(tls::Error::NoCommonProtocol)),
        "{text}"
    );
    let alert = received_alert(&rig.wait_ended(At::Client));
    assert_eq!(alert.code(), NO_APPLICATION_PROTOCOL);
    rig.finish((server, client));
}

fn alpn_server(rig: &Rig) -> arknet::tcp::Server {
    let tls = tls::ServerConfig::builder()
        .identity(Keys::identity(&rig.keys.server))
        .alpn(["chat/2", "chat/1"])
        .build()
        .unwrap();
    rig.serve(rig.server_config().tls(tls), Serve::Echo)
}

pub(crate) fn a_second_client_resumes_the_session(cell: Cell) {
    let rig = Rig::new(cell);
    let server = rig.echo();
    // Clones of one configuration share what they remember.
    let tls = rig.keys.client_config();
    let mut resumed = Vec::new();
    let mut held = Vec::new();
    for _ in 0..3 {
        rig.log.clear();
        let config = rig.client_config().tls(tls.clone());
        held.push(rig.connect(ip(&server), config, &[b"hello"]));
        rig.wait_messages(At::Client, &[b"hello"]);
        let (at_server, at_client) = (agreed(&rig, At::Server), agreed(&rig, At::Client));
        assert_eq!(at_server.resumed, at_client.resumed);
        assert_eq!(at_client.peer_certificates, [rig.keys.server.cert_der()]);
        resumed.push(at_client.resumed);
    }
    assert_eq!(resumed, [false, true, true]);
    // Another configuration remembers nothing.
    rig.log.clear();
    held.push(rig.connect(ip(&server), rig.client_config(), &[b"hello"]));
    rig.wait_messages(At::Client, &[b"hello"]);
    assert!(!agreed(&rig, At::Client).resumed);
    rig.finish((server, held));
}

pub(crate) fn a_new_certificate_is_shown_without_a_restart(cell: Cell) {
    let rig = Rig::new(cell);
    let tls = rig.keys.server_config();
    let server = rig.serve(rig.server_config().tls(tls.clone()), Serve::Echo);
    let old = rig.connect(ip(&server), rig.client_config(), &[b"hello"]);
    rig.wait_messages(At::Client, &[b"hello"]);
    let renewed = rig
        .keys
        .authority
        .issue(&["127.0.0.1"], Usage::Server)
        .unwrap();
    tls.reload(Keys::identity(&renewed));
    rig.log.clear();
    let new = rig.connect(ip(&server), rig.client_config(), &[b"again"]);
    rig.wait_messages(At::Client, &[b"again"]);
    let Info {
        peer_certificates, ..
    } = agreed(&rig, At::Client);
    assert_eq!(peer_certificates, [renewed.cert_der()]);
    // The connection of before goes on.
    rig.log.clear();
    old.send(b"still here").unwrap();
    rig.wait_messages(At::Client, &[b"still here"]);
    rig.finish((server, old, new));
}

pub(crate) fn an_end_with_close_notify_is_an_end_on_both_sides(cell: Cell) {
    let rig = Rig::new(cell);
    let server = rig.echo();
    let client = rig.connect(ip(&server), rig.client_config(), &[b"hello"]);
    rig.wait_messages(At::Client, &[b"hello"]);
    let report = rig.block_on("the client's end", client.shutdown(PATIENCE));
    assert_eq!((report.closed, report.forced), (1, 0));
    let (at_client, at_server) = (rig.wait_ended(At::Client), rig.wait_ended(At::Server));
    assert!(matches!(at_client, CloseReason::Local), "{at_client:?}");
    assert!(matches!(at_server, CloseReason::Peer), "{at_server:?}");
    assert!(
        at_server
            .error()
            .is_none_or(|error: &Error| !error.is_closed())
    );
    rig.finish((server, client));
}
