//! Certificates, judged by an implementation that is not ours: `openssl verify`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::path::Path;
use std::process::Command;

use arknet_testkit::certs::{
    Authority, ENCRYPTED_KEY_PASSPHRASE, ENCRYPTED_KEY_PEM, Error, Identity, Usage, Validity,
};
use arknet_testkit::process::which;
use arknet_testkit::{TempDir, skip};

#[test]
fn openssl_accepts_the_good_and_refuses_each_bad_one() {
    let Some(openssl) = which("openssl") else {
        skip!("openssl is not installed")
    };
    let dir = TempDir::new("arknet-certs").unwrap();
    let authority = Authority::new("Arknet Test").unwrap();
    let stranger = Authority::new("Arknet Test").unwrap();
    let trusted = authority.write_to(&dir, "authority").unwrap();
    let judge = |name: &str, identity: &Identity, options: &[&str]| -> Result<(), String> {
        let cert = identity.write_to(&dir, name).unwrap().cert;
        verify(&openssl, &trusted, &cert, options)
    };
    let names = ["localhost", "*.arknet.test", "127.0.0.1", "::1"];
    let server = authority.issue(&names, Usage::Server).unwrap();

    judge("server", &server, &["-purpose", "sslserver"]).unwrap();
    judge("server", &server, &["-verify_hostname", "localhost"]).unwrap();
    judge("server", &server, &["-verify_hostname", "a.arknet.test"]).unwrap();
    judge("server", &server, &["-verify_ip", "127.0.0.1"]).unwrap();
    judge("server", &server, &["-verify_ip", "::1"]).unwrap();

    let said = judge("server", &server, &["-verify_hostname", "other.test"]).unwrap_err();
    assert!(said.contains("hostname mismatch"), "{said}");
    let said = judge("server", &server, &["-verify_ip", "127.0.0.2"]).unwrap_err();
    assert!(said.contains("IP address mismatch"), "{said}");
    let said = judge("server", &server, &["-purpose", "sslclient"]).unwrap_err();
    assert!(said.contains("purpose"), "{said}");

    let client = authority.issue(&["client"], Usage::Client).unwrap();
    judge("client", &client, &["-purpose", "sslclient"]).unwrap();
    let both = authority.issue(&["peer"], Usage::Both).unwrap();
    judge("both", &both, &["-purpose", "sslclient"]).unwrap();
    judge("both", &both, &["-purpose", "sslserver"]).unwrap();

    let issue = |validity| {
        authority
            .issue_valid(&names, Usage::Server, validity)
            .unwrap()
    };
    let said = judge("expired", &issue(Validity::Expired), &[]).unwrap_err();
    assert!(said.contains("expired"), "{said}");
    let said = judge("early", &issue(Validity::NotYet), &[]).unwrap_err();
    assert!(said.contains("not yet valid"), "{said}");

    let alone = Identity::self_signed(&names, Usage::Server).unwrap();
    let said = judge("alone", &alone, &[]).unwrap_err();
    assert!(
        said.contains("self-signed") || said.contains("self signed"),
        "{said}"
    );
    let foreign = stranger.issue(&names, Usage::Server).unwrap();
    let said = judge("foreign", &foreign, &[]).unwrap_err();
    assert!(
        said.contains("unable to get local issuer") || said.contains("signature"),
        "{said}"
    );
}

#[test]
fn an_encrypted_key_opens_with_its_passphrase_only() {
    let Some(openssl) = which("openssl") else {
        skip!("openssl is not installed")
    };
    let dir = TempDir::new("arknet-certs").unwrap();
    let identity = Identity::self_signed(&["localhost"], Usage::Server).unwrap();
    let made = identity.encrypted_key_pem("open sesame").unwrap();
    for (pem, passphrase) in [
        (made.as_str(), "open sesame"),
        (ENCRYPTED_KEY_PEM, ENCRYPTED_KEY_PASSPHRASE),
    ] {
        assert!(
            pem.starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----"),
            "{pem}"
        );
        let file = dir.join("key.pem");
        std::fs::write(&file, pem).unwrap();
        let open = |passphrase: &str| {
            let mut command = Command::new(&openssl);
            command.args([
                "pkey",
                "-noout",
                "-passin",
                &format!("pass:{passphrase}"),
                "-in",
            ]);
            command.arg(&file).output().unwrap().status.success()
        };
        assert!(open(passphrase));
        assert!(!open("wrong"));
    }
}

#[test]
fn both_forms_are_of_the_same_certificate_and_key() {
    let identity = Identity::self_signed(&["localhost"], Usage::Server).unwrap();
    assert!(
        identity
            .cert_pem()
            .starts_with("-----BEGIN CERTIFICATE-----")
    );
    assert!(
        identity
            .key_pem()
            .starts_with("-----BEGIN PRIVATE KEY-----")
    );
    // A DER document is one SEQUENCE, whose length (here in its two-byte form) tells its end.
    let cert = identity.cert_der();
    assert_eq!(cert.get(..2).unwrap(), [0x30, 0x82]);
    assert_eq!(
        usize::from(cert[2]) * 256 + usize::from(cert[3]) + 4,
        cert.len()
    );
    let key = identity.key_der();
    assert_eq!(key.first(), Some(&0x30));
}

#[test]
fn the_private_key_is_neither_shown_nor_readable_by_others() {
    let dir = TempDir::new("arknet-certs").unwrap();
    let identity = Identity::self_signed(&["localhost"], Usage::Server).unwrap();
    assert_eq!(
        format!("{identity:?}"),
        "Identity { subject: \"localhost\", .. }"
    );
    let files = identity.write_to(&dir, "server").unwrap();
    assert_eq!(
        std::fs::read_to_string(&files.cert).unwrap(),
        identity.cert_pem()
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&files.key).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn a_failure_names_the_subject_or_the_file() {
    let authority = Authority::new("Arknet Test").unwrap();
    let error = authority.issue(&["näme.test"], Usage::Server).unwrap_err();
    assert!(matches!(error, Error::Generate { .. }));
    assert!(error.to_string().contains("näme.test"), "{error}");
    let error = authority
        .write_to("/no/such/folder", "authority")
        .unwrap_err();
    assert!(
        error.to_string().contains("/no/such/folder/authority.pem"),
        "{error}"
    );
}

fn verify(openssl: &Path, trusted: &Path, cert: &Path, options: &[&str]) -> Result<(), String> {
    let output = Command::new(openssl)
        .args([
            "verify",
            "-x509_strict",
            "-no-CApath",
            "-no-CAstore",
            "-CAfile",
        ])
        .arg(trusted)
        .args(options)
        .arg(cert)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&said).into_owned())
    }
}
