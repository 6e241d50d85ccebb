//! Whom a client trusts: by DNS name and by IP address; and the words in which it refuses the rest.

use arknet::tcp::{ClientConfig, ServerConfig};
use arknet::tls::{self, Alert, Authorities, CertificateFault, Identity, Info};
use arknet::{CloseReason, Error, ErrorKind};
use arknet_testkit::certs::{
    Authority, ENCRYPTED_KEY_PASSPHRASE, ENCRYPTED_KEY_PEM, Identity as Issued, Usage, Validity,
};
use arknet_testkit::{process, skip};

use crate::support::{At, Carrier, Cell, Keys, Model, Rig, Serve, Style, What, ip};

in_every_secure_cell!(
    a_server_is_verified_by_name_and_by_address,
    what_cannot_be_trusted_is_refused_in_words,
);

/// What both ends agreed on, once both are open.
pub(crate) fn agreed(rig: &Rig, at: At) -> Info {
    rig.wait("what TLS agreed on", |facts| {
        facts.iter().find_map(|fact| match &fact.what {
            What::Opened { tls: Some(tls), .. } if fact.at == at => Some(Info::clone(tls)),
            _ => None,
        })
    })
}

pub(crate) fn a_server_is_verified_by_name_and_by_address(cell: Cell) {
    let rig = Rig::new(cell);
    let server = rig.echo();
    let port = ip(&server).port();
    let mut clients = Vec::new();
    // An IP address is no name of a server (RFC 6066, section 3): none is sent.
    for (host, server_name) in [("localhost", Some("localhost")), ("127.0.0.1", None)] {
        rig.log.clear();
        clients.push(rig.connect((host, port), rig.client_config(), &[b"hello"]));
        rig.wait_messages(At::Client, &[b"hello"]);
        for at in [At::Server, At::Client] {
            assert_eq!(agreed(&rig, at).server_name.as_deref(), server_name);
        }
        let info = agreed(&rig, At::Client);
        assert_eq!(info.version, tls::Version::Tls13);
        assert_eq!(info.peer_certificates, [rig.keys.server.cert_der()]);
    }
    rig.finish((server, clients));
}

/// A server's certificate that a client must refuse, why, and the alert that tells the server.
type Refused = (Issued, fn(&CertificateFault) -> bool, &'static str, u8);

fn refused(keys: &Keys) -> Vec<Refused> {
    let stranger = Authority::new("faults").unwrap();
    let names = &["localhost", "127.0.0.1"];
    vec![
        (
            stranger.issue(names, Usage::Server).unwrap(),
            |fault| {
                matches!(
                    fault,
                    CertificateFault::UnknownIssuer | CertificateFault::BadSignature
                )
            },
            // Of the same name as the trusted one: only the signature tells them apart.
            "verify the peer's certificate",
            0,
        ),
        (
            Issued::self_signed(names, Usage::Server).unwrap(),
            |fault| matches!(fault, CertificateFault::UnknownIssuer),
            "issued by an unknown authority",
            48,
        ),
        (
            keys.authority
                .issue(&["other.test"], Usage::Server)
                .unwrap(),
            |fault| {
                matches!(fault, CertificateFault::NameMismatch { expected, .. }
                    if expected == "localhost")
            },
            "not valid for the name localhost, only for",
            42,
        ),
        (
            keys.authority
                .issue_valid(names, Usage::Server, Validity::Expired)
                .unwrap(),
            |fault| matches!(fault, CertificateFault::Expired),
            "expired",
            45,
        ),
        (
            keys.authority
                .issue_valid(names, Usage::Server, Validity::NotYet)
                .unwrap(),
            |fault| matches!(fault, CertificateFault::NotYetValid),
            "not valid yet",
            0,
        ),
        (
            keys.authority.issue(names, Usage::Client).unwrap(),
            |fault| matches!(fault, CertificateFault::WrongPurpose),
            "not issued for this purpose",
            0,
        ),
    ]
}

pub(crate) fn what_cannot_be_trusted_is_refused_in_words(cell: Cell) {
    let rig = Rig::new(cell);
    let mut held = Vec::new();
    let mut texts = Vec::new();
    for (issued, is_right, says, code) in refused(&rig.keys) {
        rig.log.clear();
        let identity = Keys::identity(&issued);
        let tls = tls::ServerConfig::builder().identity(identity).build();
        let server = rig.serve(rig.server_config().tls(tls.unwrap()), Serve::Echo);
        let address = ("localhost", ip(&server).port());
        let client = rig.connect(address, rig.client_config(), &[]);
        let reason = rig.wait_ended(At::Client);
        let Some(Error::Tls {
            source: tls::Error::Certificate(fault),
            ..
        }) = reason.error()
        else {
            panic!("{issued:?}: {reason:?}");
        };
        assert!(is_right(fault), "{issued:?}: {fault:?}");
        let text = reason.to_string();
        assert!(text.contains(says), "{text}");
        texts.push(fault.to_string());
        // The server learns of the refusal from the alert.
        let (alert, text) = failed_handshake(&rig);
        let Some(tls::Error::AlertReceived(alert)) = alert else {
            panic!("{issued:?}: {text}");
        };
        assert!(code == 0 || alert.code() == code, "{issued:?}: {alert}");
        assert!(text.contains("the peer ended TLS with the alert"), "{text}");
        held.push((server, client));
    }
    texts.sort();
    texts.dedup();
    assert!(
        texts.len() >= 5,
        "reasons that cannot be told apart: {texts:?}"
    );
    rig.finish(held);
}

/// What the server reported of the handshake that failed.
pub(crate) fn failed_handshake(rig: &Rig) -> (Option<tls::Error>, String) {
    let (kind, tls, text) = rig.wait("the event of the failed handshake", |facts| {
        facts.iter().find_map(|fact| match &fact.what {
            What::HandshakeFailed { kind, tls, text } => Some((*kind, tls.clone(), text.clone())),
            _ => None,
        })
    });
    assert_eq!(kind, ErrorKind::Tls, "{text}");
    (tls.map(|error| *error), text)
}

#[test]
fn an_encrypted_key_is_refused_and_the_words_name_the_way_out() {
    let keys = Keys::new();
    let error = Identity::from_pem(keys.server.cert_pem(), ENCRYPTED_KEY_PEM).unwrap_err();
    assert!(matches!(error, tls::Error::EncryptedKey), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("encrypted with a passphrase"), "{text}");
    assert!(text.contains("openssl pkey"), "{text}");
    assert!(!text.contains(ENCRYPTED_KEY_PASSPHRASE), "{text}");
}

#[test]
fn an_encrypted_key_of_openssl_is_refused() {
    if process::which("openssl").is_none() {
        skip!("openssl is not installed");
    }
    let keys = Keys::new();
    let pem = keys.server.encrypted_key_pem("secret").unwrap();
    let error = Identity::from_pem(keys.server.cert_pem(), pem).unwrap_err();
    assert!(matches!(error, tls::Error::EncryptedKey), "{error:?}");
}

#[test]
fn nothing_but_certificates_is_no_authority() {
    let error = Authorities::from_pem("nothing of the kind").unwrap_err();
    assert!(
        matches!(error, tls::Error::NoCertificate { .. }),
        "{error:?}"
    );
}

#[test]
fn tls_over_a_unix_socket_needs_a_name() {
    let rig = Rig::new(Cell::new(Carrier::Unix, Style::Callbacks, Model::Shared1));
    let tls = rig.keys.client_config();
    let refused = arknet::tcp::Client::start(
        &rig.lanes,
        rig.address(),
        ClientConfig::new().tls(tls),
        |_| |_: &mut arknet::Session, _: &[u8]| {},
    );
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("tls_with_name"), "{error}");
    rig.finish(());
}

#[test]
fn tls_over_a_unix_socket_verifies_the_name_that_it_is_given() {
    for style in [Style::Callbacks, Style::Async] {
        let rig = Rig::new(Cell::new(Carrier::Unix, style, Model::Sharded4));
        let config: ServerConfig = rig.server_config().tls(rig.keys.server_config());
        let server = rig.serve(config, Serve::Echo);
        let tls = rig.keys.client_config();
        let config = rig.client_config().tls_with_name(tls.clone(), "localhost");
        let good = rig.connect(server.local_addr(), config, &[b"hello"]);
        rig.wait_messages(At::Client, &[b"hello"]);
        assert_eq!(
            agreed(&rig, At::Server).server_name.as_deref(),
            Some("localhost")
        );
        rig.log.clear();
        let config = rig.client_config().tls_with_name(tls, "other.test");
        let bad = rig.connect(server.local_addr(), config, &[]);
        let reason = rig.wait_ended(At::Client);
        assert!(
            matches!(
                reason.error(),
                Some(Error::Tls {
                    source: tls::Error::Certificate(CertificateFault::NameMismatch { .. }),
                    ..
                })
            ),
            "{reason:?}"
        );
        rig.finish((server, good, bad));
    }
}

/// An alert that the peer sent, or what else ended the session.
pub(crate) fn received_alert(reason: &CloseReason) -> Alert {
    match reason.error() {
        Some(Error::Tls {
            source: tls::Error::AlertReceived(alert),
            ..
        }) => *alert,
        _ => panic!("no alert: {reason:?}"),
    }
}
