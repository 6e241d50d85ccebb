//! Who is let in, and what the refused are told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracing::{Event, Level, Metadata, Subscriber, span};

use super::pair::Pair;
use super::pki::Authority;
use crate::tls::{
    CertificateFault, ClientAuth, ClientConfig, Error, Identity, ServerConfig, Version,
};

/// The client's error and the code of the alert that reached the server.
fn refused(client: &ClientConfig, host: &str, identity: Identity) -> (Error, u8) {
    let server = ServerConfig::builder().identity(identity).build().unwrap();
    let mut pair = Pair::new(client, host, &server);
    pair.run();
    assert!(pair.client.pump.info().is_none());
    let Error::AlertReceived(alert) = pair.server.error() else {
        panic!("the server got {:?}", pair.server.error)
    };
    (pair.client.error().clone(), alert.code())
}

#[test]
fn an_unknown_authority_is_refused() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let (error, alert) = refused(
        &ours.client(),
        "localhost",
        theirs.issue(&["localhost"]).identity(),
    );
    // Both authorities have the same name, so that the signature gives it away.
    let fault = matches!(
        error,
        Error::Certificate(CertificateFault::UnknownIssuer | CertificateFault::BadSignature)
    );
    assert!(fault, "{error}");
    assert!([48, 51].contains(&alert), "{alert}");
}

#[test]
fn a_wrong_name_is_refused_and_both_names_are_told() {
    let authority = Authority::new();
    let identity = authority.issue(&["example.org"]).identity();
    let (error, alert) = refused(&authority.client(), "localhost", identity);
    let Error::Certificate(CertificateFault::NameMismatch { expected, .. }) = &error else {
        panic!("{error:?}")
    };
    assert_eq!(expected, "localhost");
    let text = error.to_string();
    assert!(
        text.contains("localhost") && text.contains("example.org"),
        "{text}"
    );
    assert_eq!(alert, 42);
}

#[test]
fn an_address_is_not_matched_by_a_name_or_another_address() {
    let authority = Authority::new();
    for (host, names) in [
        ("127.0.0.1", &["localhost"][..]),
        ("::1", &["127.0.0.1"][..]),
        ("127.0.0.1", &["127.0.0.2"][..]),
    ] {
        let (error, _) = refused(&authority.client(), host, authority.issue(names).identity());
        let mismatch = matches!(
            error,
            Error::Certificate(CertificateFault::NameMismatch { .. })
        );
        assert!(mismatch, "{host}: {error}");
    }
}

#[test]
fn certificates_out_of_their_time_are_refused() {
    let authority = Authority::new();
    let identity = authority.issue_expired(&["localhost"]).identity();
    let (error, alert) = refused(&authority.client(), "localhost", identity);
    assert!(
        matches!(error, Error::Certificate(CertificateFault::Expired)),
        "{error}"
    );
    assert_eq!(alert, 45);

    let identity = authority.issue_early(&["localhost"]).identity();
    let (error, _) = refused(&authority.client(), "localhost", identity);
    assert!(
        matches!(error, Error::Certificate(CertificateFault::NotYetValid)),
        "{error}"
    );
}

#[test]
fn a_client_that_accepts_anything_accepts_anything() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let client = ClientConfig::builder()
        .roots(ours.authorities())
        .dangerous_accept_any_certificate()
        .build()
        .unwrap();
    let server = ServerConfig::builder()
        .identity(theirs.issue_expired(&["example.org"]).identity())
        .build()
        .unwrap();
    let pair = Pair::connected(&client, "localhost", &server);
    assert_eq!(pair.client.info().peer_certificates.len(), 1);
}

/// A client that trusts `authority` and looks at no name.
fn any_name(authority: &Authority) -> ClientConfig {
    ClientConfig::builder()
        .roots(authority.authorities())
        .accept_any_name()
        .build()
        .unwrap()
}

#[test]
fn a_client_that_accepts_any_name_forgives_nothing_else() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let client = any_name(&ours);
    let server = |identity| ServerConfig::builder().identity(identity).build().unwrap();
    let named = server(ours.issue(&["example.org"]).identity());
    let pair = Pair::connected(&client, "localhost", &named);
    assert_eq!(pair.client.info().peer_certificates.len(), 1);

    // A name that is wrong hides neither of these.
    let expired = ours.issue_expired(&["example.org"]).identity();
    let (error, _) = refused(&client, "localhost", expired);
    let Error::Certificate(fault) = error else {
        panic!("{error:?}")
    };
    assert_eq!(fault, CertificateFault::Expired);
    let foreign = theirs.issue(&["localhost"]).identity();
    let (error, _) = refused(&client, "localhost", foreign);
    assert!(matches!(error, Error::Certificate(_)), "{error}");
}

#[test]
fn accepting_anything_is_warned_about() {
    let warnings = Warnings::default();
    tracing::subscriber::with_default(warnings.clone(), || {
        ClientConfig::builder()
            .dangerous_accept_any_certificate()
            .build()
            .unwrap();
    });
    assert_eq!(warnings.0.load(Ordering::Relaxed), 1);
}

/// Counts the warnings of this thread.
#[derive(Clone, Default)]
struct Warnings(Arc<AtomicUsize>);

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN && metadata.target().starts_with("arknet::tls")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

fn mutual(authority: &Authority, client_auth: ClientAuth, version: Version) -> ServerConfig {
    ServerConfig::builder()
        .identity(authority.issue(&["localhost"]).identity())
        .client_auth(client_auth)
        .maximum_version(version)
        .build()
        .unwrap()
}

#[test]
fn a_client_certificate_is_verified_and_can_be_read() {
    let (authority, clients) = (Authority::new(), Authority::new());
    let client = ClientConfig::builder()
        .roots(authority.authorities())
        .identity(clients.issue(&["player-1"]).identity())
        .build()
        .unwrap();
    for version in [Version::Tls12, Version::Tls13] {
        for client_auth in [
            ClientAuth::Required(clients.authorities()),
            ClientAuth::Optional(clients.authorities()),
        ] {
            let server = mutual(&authority, client_auth, version);
            let pair = Pair::connected(&client, "localhost", &server);
            assert_eq!(pair.server.info().version, version);
            assert_eq!(pair.server.info().peer_certificates.len(), 1);
        }
    }
}

#[test]
fn a_missing_client_certificate_is_refused_where_required() {
    let authority = Authority::new();
    for (version, alert) in [(Version::Tls12, 40), (Version::Tls13, 116)] {
        let server = mutual(
            &authority,
            ClientAuth::Required(authority.authorities()),
            version,
        );
        let mut pair = Pair::new(&authority.client(), "localhost", &server);
        pair.run();
        assert!(
            matches!(pair.server.error(), Error::NoPeerCertificate),
            "{}",
            pair.server.error()
        );
        let Error::AlertReceived(told) = pair.client.error() else {
            panic!("{version}: {}", pair.client.error())
        };
        assert!(
            told.code() == alert || told.code() == 116,
            "{version}: {told}"
        );
        // In TLS 1.3 the client believed to be connected until then.
        assert_eq!(pair.client.pump.info().is_some(), version == Version::Tls13);
        assert!(pair.server.pump.info().is_none());
    }
}

#[test]
fn a_missing_client_certificate_is_accepted_where_optional() {
    let authority = Authority::new();
    for version in [Version::Tls12, Version::Tls13] {
        let server = mutual(
            &authority,
            ClientAuth::Optional(authority.authorities()),
            version,
        );
        let pair = Pair::connected(&authority.client(), "localhost", &server);
        assert!(pair.server.info().peer_certificates.is_empty());
    }
}

#[test]
fn a_client_certificate_of_another_authority_is_refused_even_where_optional() {
    let (authority, others) = (Authority::new(), Authority::new());
    let client = ClientConfig::builder()
        .roots(authority.authorities())
        .identity(others.issue_expired(&["player-1"]).identity())
        .build()
        .unwrap();
    let server = mutual(
        &authority,
        ClientAuth::Optional(others.authorities()),
        Version::Tls13,
    );
    let mut pair = Pair::new(&client, "localhost", &server);
    pair.run();
    let expired = matches!(
        pair.server.error(),
        Error::Certificate(CertificateFault::Expired)
    );
    assert!(expired, "{}", pair.server.error());
    let Error::AlertReceived(alert) = pair.client.error() else {
        panic!()
    };
    assert!(alert.is_about_certificate());
}
