//! Servers that are broken, or mean harm.

use arknet::mysql::{Conn, Error, ErrorKind, TlsMode, query};
use arknet::{Blame, Outcome};
use arknet_proto::mysql::handshake::{Greeting, HandshakeError};
use arknet_proto::mysql::packet::PacketWriter;
use arknet_proto::mysql::server::Responder;
use arknet_proto::mysql::{Capabilities, ProtocolError};

use super::support::{ABILITIES, Script, column, greeting, on_a_lane, put_text, session};

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut wire = Vec::new();
    let mut packet = PacketWriter::begin(&mut wire, sequence);
    packet.payload().extend_from_slice(payload);
    packet.finish();
    wire
}

/// The bytes of a greeting.
fn greets(greeting: Greeting) -> Vec<u8> {
    use arknet_proto::mysql::server::{Config, Handshake, Step};

    let mut handshake = Handshake::new(Config::new(greeting, *b"tsrqponmlkjihgfedcba"));
    let mut wire = Vec::new();
    assert_eq!(handshake.poll_step(&mut wire), Step::Write);
    wire
}

/// What comes of connecting to a server that says this first; it is to hear no password.
fn refused(says: Vec<u8>, tls: TlsMode) -> Error {
    on_a_lane(async |lanes| {
        let says = says.clone();
        let script = Script::start([session(move |mut peer| {
            peer.say(&says);
            let heard = peer.listen();
            assert!(heard.len() <= 36, "more than a request for TLS: {heard:?}");
        })]);
        let config = script.config().user("app").password("s3cret").tls(tls);
        Conn::connect(config, lanes).await.unwrap_err()
    })
}

fn protocol(error: &Error) -> &ProtocolError {
    let Error::Handshake { source, .. } = error else {
        panic!("{error}");
    };
    let HandshakeError::Protocol(error) = &**source else {
        panic!("{source}");
    };
    error
}

#[test]
fn too_many_connections_is_told_as_what_it_is() {
    let error = refused(
        packet(0, b"\xff\x10\x04Too many connections"),
        TlsMode::Disabled,
    );
    assert_eq!(error.kind(), ErrorKind::Handshake);
    let said = error.server().unwrap();
    assert_eq!(
        (said.code(), said.message()),
        (1040, "Too many connections")
    );
    assert_eq!(error.outcome(), Outcome::NotSent);
}

#[test]
fn a_server_without_tls_is_refused_where_tls_is_wanted() {
    for mode in [TlsMode::Required, TlsMode::VerifyCa, TlsMode::VerifyFull] {
        let error = refused(greets(greeting(ABILITIES)), mode);
        let Error::Handshake { source, .. } = &error else {
            panic!("{error}");
        };
        assert!(matches!(**source, HandshakeError::NoTls), "{error}");
        assert_eq!(error.blame(), Blame::Peer);
    }
}

#[test]
fn what_comes_in_clear_behind_the_request_for_tls_is_refused() {
    let mut says = greets(greeting(ABILITIES.with(Capabilities::SSL)));
    says.extend_from_slice(&packet(2, b"\0\0\0\x02\0\0\0"));
    let error = refused(says, TlsMode::Required);
    assert!(
        matches!(protocol(&error), ProtocolError::Unsolicited { .. }),
        "{error}"
    );
}

#[test]
fn a_greeting_that_is_none_is_an_error() {
    for says in [
        packet(0, b"HTTP/1.1 400 Bad Request"),
        packet(0, b""),
        packet(7, b"\x0a5.7"),
        packet(0, b"\x0a5.7"),
        vec![0xff, 0xff, 0xff, 0],
    ] {
        let error = refused(says.clone(), TlsMode::Disabled);
        assert_eq!(error.kind(), ErrorKind::Handshake, "{says:?}: {error}");
    }
}

#[test]
fn a_server_that_ends_in_the_middle_of_the_login_is_an_error() {
    let greeting = greets(greeting(ABILITIES));
    for cut in [0, 1, 4, 20, greeting.len() - 1] {
        on_a_lane(async |lanes| {
            let says = greeting[..cut].to_vec();
            let script = Script::start([session(move |mut peer| peer.say(&says))]);
            let error = Conn::connect(script.config(), lanes).await.unwrap_err();
            let kinds = [ErrorKind::Handshake, ErrorKind::Connect];
            assert!(kinds.contains(&error.kind()), "{cut}: {error}");
        });
    }
}

/// What comes of a query that is answered so.
fn answered(says: &[u8]) -> Error {
    on_a_lane(async |lanes| {
        let says = says.to_vec();
        let script = Script::start([session(move |peer| {
            let mut peer = peer.log_in();
            peer.hear("SELECT 1");
            peer.say(&says);
            peer.listen();
        })]);
        let mut conn = Conn::connect(script.config(), lanes).await.unwrap();
        let error = conn
            .run(query::<Vec<String>>("SELECT 1"))
            .await
            .unwrap_err();
        let late = conn.run(query::<()>("SELECT 2")).await.unwrap_err();
        assert_eq!(late.outcome(), Outcome::NotSent);
        error
    })
}

#[test]
fn an_answer_that_breaks_the_protocol_ends_the_connection() {
    for (says, what) in [
        (packet(2, b"\x01"), "out of sequence"),
        (packet(1, b"\xfd\xff\xff\xff"), "millions of columns"),
        (packet(1, b"\x00"), "no columns"),
        (packet(1, b""), "nothing"),
        (packet(1, b"\xfb/etc/passwd"), "a local file"),
        (packet(1, b"\xfe\0\0\x02\0"), "an end before the beginning"),
        (
            [packet(1, b"\x01"), packet(2, b"\x03def")].concat(),
            "half a column",
        ),
    ] {
        let error = answered(&says);
        assert_eq!(error.kind(), ErrorKind::Protocol, "{what}: {error}");
        assert_eq!(error.outcome(), Outcome::Unknown, "{what}");
        assert_eq!(error.blame(), Blame::Peer, "{what}");
    }
}

#[test]
fn a_row_that_is_not_as_its_columns_say_ends_the_connection() {
    let mut says = Vec::new();
    let mut to = Responder::new(&mut says, ABILITIES, 1);
    to.columns(&[column()]);
    to.raw(b"\x05abc");
    let error = answered(&says);
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Lost, Outcome::Unknown),
        "{error}"
    );
}

#[test]
fn what_nobody_asked_for_ends_the_connection() {
    on_a_lane(async |lanes| {
        let script = Script::start([session(|peer| {
            let mut peer = peer.log_in();
            peer.hear("SELECT 1");
            let mut wire = Vec::new();
            for text in ["one", "and two"] {
                put_text(&mut Responder::new(&mut wire, ABILITIES, 1), text);
            }
            // Together, so that the second is there before anything else is asked.
            peer.say(&wire);
            peer.listen();
        })]);
        let mut conn = Conn::connect(script.config(), lanes).await.unwrap();
        let one: Option<String> = conn.run(query("SELECT 1")).await.unwrap();
        assert_eq!(one.as_deref(), Some("one"));
        let error = conn
            .run(query::<Option<String>>("SELECT 2"))
            .await
            .unwrap_err();
        assert_eq!(error.outcome(), Outcome::NotSent, "{error}");
    });
}
