//! What is refused when a configuration is built, and in which words.

use super::pki::Authority;
use crate::tls::{
    Authorities, ClientConfig, Error, ErrorKind, Identity, Pump, ServerConfig, Version,
};

#[test]
fn a_key_of_another_certificate_is_refused() {
    let authority = Authority::new();
    let (one, other) = (
        authority.issue(&["localhost"]),
        authority.issue(&["localhost"]),
    );
    let error = Identity::from_pem(&one.certificate, &other.key).unwrap_err();
    assert!(matches!(error, Error::KeyMismatch), "{error}");
    assert_eq!(error.kind(), ErrorKind::Configuration);
}

#[test]
fn encrypted_keys_are_refused_and_the_way_out_is_told() {
    let issued = Authority::new().issue(&["localhost"]);
    for key in [
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n\
         MIIB\n-----END RSA PRIVATE KEY-----\n",
    ] {
        let error = Identity::from_pem(&issued.certificate, key).unwrap_err();
        assert!(matches!(error, Error::EncryptedKey), "{error}");
        assert!(error.to_string().contains("openssl pkey"));
    }
}

#[test]
fn text_without_certificate_or_key_is_refused() {
    let issued = Authority::new().issue(&["localhost"]);
    let error = Identity::from_pem("", &issued.key).unwrap_err();
    assert!(matches!(error, Error::NoCertificate { .. }), "{error}");
    let error = Identity::from_pem(&issued.certificate, &issued.certificate).unwrap_err();
    assert!(matches!(error, Error::NoPrivateKey), "{error}");
    let error = Authorities::from_pem(&issued.key).unwrap_err();
    assert!(matches!(error, Error::NoCertificate { .. }), "{error}");
}

#[test]
fn damaged_text_is_refused_without_quoting_it() {
    let issued = Authority::new().issue(&["localhost"]);
    let damaged = issued.key.replace("-----END PRIVATE KEY-----", "");
    let error = Identity::from_pem(&issued.certificate, &damaged).unwrap_err();
    assert!(matches!(error, Error::InvalidPem { .. }), "{error}");
    let secret = issued.key.lines().nth(1).unwrap();
    assert!(!format!("{error} {error:?}").contains(&secret[..16]));

    let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let error = Identity::from_pem(garbage, &issued.key).unwrap_err();
    assert!(matches!(error, Error::InvalidIdentity(_)), "{error}");
    let error = Authorities::from_pem(garbage).unwrap_err();
    assert!(
        matches!(error, Error::InvalidAuthority { index: 0, .. }),
        "{error}"
    );
}

#[test]
fn files_are_read_and_missing_ones_are_named() {
    let issued = Authority::new().issue(&["localhost"]);
    let directory = std::env::temp_dir().join(format!("arknet-tls-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let (chain, key) = (directory.join("chain.pem"), directory.join("key.pem"));
    std::fs::write(&chain, &issued.certificate).unwrap();
    std::fs::write(&key, &issued.key).unwrap();
    let read = Identity::from_pem_files(&chain, &key);
    let missing = Identity::from_pem_files(&chain, directory.join("none.pem"));
    std::fs::remove_dir_all(&directory).unwrap();
    read.unwrap();
    let error = missing.unwrap_err();
    assert!(matches!(error, Error::ReadFile { .. }), "{error}");
    assert!(error.to_string().contains("none.pem"));
}

#[test]
fn a_server_needs_an_identity() {
    assert!(matches!(
        ServerConfig::builder().build(),
        Err(Error::NoIdentity)
    ));
}

#[test]
fn impossible_protocols_and_versions_are_refused() {
    let authority = Authority::new();
    let client = || ClientConfig::builder().roots(authority.authorities());
    assert!(matches!(
        client().alpn([""]).build(),
        Err(Error::InvalidAlpn { length: 0 })
    ));
    let long = "x".repeat(256);
    assert!(matches!(
        client().alpn([long]).build(),
        Err(Error::InvalidAlpn { length: 256 })
    ));
    let crossed = client()
        .minimum_version(Version::Tls13)
        .maximum_version(Version::Tls12);
    assert!(matches!(crossed.build(), Err(Error::NoVersion)));
}

#[test]
fn hosts_that_are_neither_name_nor_address_are_refused() {
    let client = Authority::new().client();
    for host in [
        "",
        "local\0host",
        "two words",
        "a..b",
        "-",
        "[",
        "[]",
        "exämple.org",
    ] {
        let error = Pump::client(&client, host).unwrap_err();
        assert!(
            matches!(error, Error::InvalidServerName { .. }),
            "{host:?}: {error}"
        );
    }
    let error = Pump::client(&client, "local\0host").unwrap_err();
    assert!(error.to_string().contains("NUL"), "{error}");
    let error = Pump::client(&client, "").unwrap_err();
    assert!(error.to_string().contains("empty"), "{error}");
}

#[test]
fn debug_output_holds_no_key() {
    let authority = Authority::new();
    let issued = authority.issue(&["localhost"]);
    let server = ServerConfig::builder().identity(issued.identity());
    let client = ClientConfig::builder()
        .roots(authority.authorities())
        .identity(issued.identity());
    let text = format!(
        "{server:?} {:?} {client:?} {:?} {:?}",
        server.clone().build().unwrap(),
        client.clone().build().unwrap(),
        Pump::server(&server.clone().build().unwrap()).unwrap(),
    );
    assert!(text.contains("Identity"), "{text}");
    for word in ["PRIVATE", "CertifiedKey", "SigningKey", "secret"] {
        assert!(!text.contains(word), "{word} in {text}");
    }
}

#[test]
fn the_roots_of_the_system_refuse_a_stranger() {
    let authority = Authority::new();
    // Some machines have no roots; then that is what is said.
    let client = match ClientConfig::new() {
        Ok(client) => client,
        Err(error) => return assert!(matches!(error, Error::PlatformRoots(_)), "{error}"),
    };
    let mut pair = super::pair::Pair::new(&client, "localhost", &authority.server());
    pair.run();
    assert_eq!(pair.client.error().kind(), ErrorKind::Certificate);

    let client = ClientConfig::builder()
        .roots(crate::tls::Roots::PlatformAnd(
            Authorities::from_pem(authority.pem()).unwrap(),
        ))
        .build()
        .unwrap();
    super::pair::Pair::connected(&client, "localhost", &authority.server());
}
