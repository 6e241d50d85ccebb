//! mTLS: the server asks who its clients are.

use arknet::CloseReason;
use arknet::tls::{self, CertificateFault, ClientAuth, Version};
use arknet_testkit::certs::{Authority, Usage};

use crate::support::{At, Cell, Keys, Rig, Serve, What, ip};
use crate::tls_verify::{agreed, failed_handshake, received_alert};

in_every_secure_cell!(
    both_ends_show_who_they_are,
    a_client_without_a_certificate_is_refused,
    a_client_of_another_authority_is_refused,
    an_optional_certificate_may_be_left_out,
);

const VERSIONS: [Version; 2] = [Version::Tls12, Version::Tls13];

/// "certificate required" of TLS 1.3, and "handshake failure" of TLS 1.2, which has no better word.
const CERTIFICATE_REQUIRED: u8 = 116;

fn server(rig: &Rig, auth: ClientAuth) -> arknet::tcp::Server {
    let tls = tls::ServerConfig::builder()
        .identity(Keys::identity(&rig.keys.server))
        .client_auth(auth)
        .build()
        .unwrap();
    rig.serve(rig.server_config().tls(tls), Serve::Echo)
}

pub(crate) fn both_ends_show_who_they_are(cell: Cell) {
    let rig = Rig::new(cell);
    let server = server(&rig, ClientAuth::Required(rig.keys.authorities()));
    let mut held = Vec::new();
    for version in VERSIONS {
        rig.log.clear();
        let tls = rig
            .keys
            .client_builder()
            .identity(Keys::identity(&rig.keys.client))
            .maximum_version(version);
        let config = rig.client_config().tls(tls.build().unwrap());
        held.push(rig.connect(ip(&server), config, &[b"hello"]));
        rig.wait_messages(At::Client, &[b"hello"]);
        let (at_server, at_client) = (agreed(&rig, At::Server), agreed(&rig, At::Client));
        assert_eq!((at_server.version, at_client.version), (version, version));
        assert_eq!(at_server.peer_certificates, [rig.keys.client.cert_der()]);
        assert_eq!(at_client.peer_certificates, [rig.keys.server.cert_der()]);
    }
    rig.finish((server, held));
}

pub(crate) fn a_client_without_a_certificate_is_refused(cell: Cell) {
    let rig = Rig::new(cell);
    let server = server(&rig, ClientAuth::Required(rig.keys.authorities()));
    let mut held = Vec::new();
    for version in VERSIONS {
        rig.log.clear();
        let tls = rig.keys.client_builder().maximum_version(version);
        let config = rig.client_config().tls(tls.build().unwrap());
        held.push(rig.connect(ip(&server), config, &[]));
        let (error, text) = failed_handshake(&rig);
        assert!(
            matches!(error, Some(tls::Error::NoPeerCertificate)),
            "{text}"
        );
        assert!(text.contains("the peer presented none"), "{text}");
        let reason = rig.wait_ended(At::Client);
        let alert = received_alert(&reason);
        // In TLS 1.3 the client's handshake is over when it is refused: it was open, and learns it late.
        let opened = rig.log.look(|facts| {
            facts
                .iter()
                .any(|fact| fact.at == At::Client && matches!(fact.what, What::Opened { .. }))
        });
        assert_eq!(opened, version == Version::Tls13);
        if version == Version::Tls13 {
            assert_eq!(alert.code(), CERTIFICATE_REQUIRED);
        }
    }
    rig.finish((server, held));
}

pub(crate) fn a_client_of_another_authority_is_refused(cell: Cell) {
    let rig = Rig::new(cell);
    let server = server(&rig, ClientAuth::Required(rig.keys.authorities()));
    let stranger = Authority::new("stranger").unwrap();
    let identity = stranger.issue(&["client.test"], Usage::Client).unwrap();
    let tls = rig
        .keys
        .client_builder()
        .identity(Keys::identity(&identity));
    let config = rig.client_config().tls(tls.build().unwrap());
    let client = rig.connect(ip(&server), config, &[]);
    let (error, text) = failed_handshake(&rig);
    assert!(
        matches!(
            error,
            Some(tls::Error::Certificate(CertificateFault::UnknownIssuer))
        ),
        "{text}"
    );
    let alert = received_alert(&rig.wait_ended(At::Client));
    assert!(alert.is_about_certificate(), "{alert}");
    rig.finish((server, client));
}

pub(crate) fn an_optional_certificate_may_be_left_out(cell: Cell) {
    let rig = Rig::new(cell);
    let server = server(&rig, ClientAuth::Optional(rig.keys.authorities()));
    let client = rig.connect(ip(&server), rig.client_config(), &[b"hello"]);
    rig.wait_messages(At::Client, &[b"hello"]);
    assert_eq!(
        agreed(&rig, At::Server).peer_certificates,
        Vec::<Vec<u8>>::new()
    );
    rig.block_on(
        "the client's end",
        client.shutdown(crate::support::PATIENCE),
    );
    let reason = rig.wait_ended(At::Server);
    assert!(matches!(reason, CloseReason::Peer), "{reason:?}");
    rig.finish((server, client));
}
