//! openssl as client and as server, in both versions of TLS, with and without client certificates.

use std::process::Command;

use arknet::CloseReason;
use arknet::tcp::{Framing, Server};
use arknet::tls::{self, ClientAuth, Version};
use arknet_testkit::process::{Peer, which};
use arknet_testkit::{TempDir, skip};

use crate::support::{At, Carrier, Cell, Keys, Model, PATIENCE, Rig, Serve, Style, ip};
use crate::tls_verify::{agreed, failed_handshake};

const VERSIONS: [(&str, Version); 2] = [("-tls1_2", Version::Tls12), ("-tls1_3", Version::Tls13)];

fn cells() -> [Cell; 2] {
    [Style::Callbacks, Style::Async].map(|style| Cell::new(Carrier::Tcps, style, Model::Sharded4))
}

/// Lines, because both programs speak in lines.
fn lines() -> Framing {
    Framing::delimited("\n").unwrap()
}

fn line_server(rig: &Rig, auth: ClientAuth) -> Server {
    let tls = tls::ServerConfig::builder()
        .identity(Keys::identity(&rig.keys.server))
        .client_auth(auth)
        .build()
        .unwrap();
    let config = rig.server_config().framing(lines()).tls(tls);
    rig.serve(config, Serve::Echo)
}

/// `openssl s_client`, which sends its input and prints what comes.
fn s_client(rig: &Rig, folder: &TempDir, server: &Server, more: &[&str]) -> Peer {
    let authority = rig.keys.authority.write_to(folder, "authority").unwrap();
    let mut command = Command::new("openssl");
    command
        .args(["s_client", "-quiet", "-no_ign_eof", "-verify_return_error"])
        .args(["-verify_ip", "127.0.0.1", "-connect"])
        .arg(ip(server).to_string())
        .arg("-CAfile")
        .arg(authority)
        .args(more);
    Peer::spawn(command).unwrap()
}

#[test]
fn s_client_talks_to_our_server() {
    if which("openssl").is_none() {
        skip!("openssl is not installed");
    }
    for cell in cells() {
        for (option, version) in VERSIONS {
            let rig = Rig::new(cell);
            let folder = TempDir::new("arknet-peers").unwrap();
            let server = line_server(&rig, ClientAuth::None);
            let mut peer = s_client(&rig, &folder, &server, &[option]);
            peer.write(b"hello\n").unwrap();
            let line = peer.stdout().next_line(PATIENCE).unwrap();
            assert_eq!(line, "hello");
            assert_eq!(agreed(&rig, At::Server).version, version);
            peer.close_input();
            assert!(
                peer.wait(PATIENCE).unwrap().success(),
                "{}",
                peer.stderr().text()
            );
            let reason = rig.wait_ended(At::Server);
            assert!(matches!(reason, CloseReason::Peer), "{reason:?}");
            drop(peer);
            rig.finish(server);
        }
    }
}

#[test]
fn s_client_shows_its_certificate() {
    if which("openssl").is_none() {
        skip!("openssl is not installed");
    }
    for cell in cells() {
        for (option, _) in VERSIONS {
            let rig = Rig::new(cell);
            let folder = TempDir::new("arknet-peers").unwrap();
            let files = rig.keys.client.write_to(&folder, "client").unwrap();
            let server = line_server(&rig, ClientAuth::Required(rig.keys.authorities()));
            let (cert, key) = (files.cert.to_str().unwrap(), files.key.to_str().unwrap());
            let mut peer = s_client(
                &rig,
                &folder,
                &server,
                &[option, "-cert", cert, "-key", key],
            );
            peer.write(b"hello\n").unwrap();
            assert_eq!(peer.stdout().next_line(PATIENCE).unwrap(), "hello");
            let shown = agreed(&rig, At::Server).peer_certificates;
            // openssl sends the authority's too.
            assert_eq!(shown.first(), Some(&rig.keys.client.cert_der()));
            drop(peer);
            rig.finish(server);
        }
    }
}

#[test]
fn s_client_without_a_certificate_reads_the_alert() {
    if which("openssl").is_none() {
        skip!("openssl is not installed");
    }
    for cell in cells() {
        for (option, _) in VERSIONS {
            let rig = Rig::new(cell);
            let folder = TempDir::new("arknet-peers").unwrap();
            let server = line_server(&rig, ClientAuth::Required(rig.keys.authorities()));
            let mut peer = s_client(&rig, &folder, &server, &[option]);
            let (error, text) = failed_handshake(&rig);
            assert!(
                matches!(error, Some(tls::Error::NoPeerCertificate)),
                "{text}"
            );
            peer.stderr().line_containing("alert", PATIENCE).unwrap();
            assert!(!peer.wait(PATIENCE).unwrap().success());
            drop(peer);
            rig.finish(server);
        }
    }
}

#[test]
fn s_client_of_tls_1_1_is_refused() {
    if which("openssl").is_none() {
        skip!("openssl is not installed");
    }
    for cell in cells() {
        let rig = Rig::new(cell);
        let folder = TempDir::new("arknet-peers").unwrap();
        let server = line_server(&rig, ClientAuth::None);
        // Level 0, without which openssl itself refuses to speak so old a version.
        let old = ["-tls1_1", "-cipher", "DEFAULT:@SECLEVEL=0"];
        let mut peer = s_client(&rig, &folder, &server, &old);
        let (error, text) = failed_handshake(&rig);
        assert!(matches!(error, Some(tls::Error::Incompatible(_))), "{text}");
        peer.stderr().line_containing("alert", PATIENCE).unwrap();
        assert!(!peer.wait(PATIENCE).unwrap().success());
        drop(peer);
        rig.finish(server);
    }
}

/// `openssl s_server` in the mode in which it answers each line backwards, and its address.
fn s_server(rig: &Rig, folder: &TempDir, more: &[&str]) -> (Peer, String) {
    let files = rig.keys.server.write_to(folder, "server").unwrap();
    let mut command = Command::new("openssl");
    command
        .args(["s_server", "-rev", "-accept", "127.0.0.1:0", "-cert"])
        .arg(files.cert)
        .arg("-key")
        .arg(files.key)
        .args(more);
    let peer = Peer::spawn(command).unwrap();
    let line = peer.stdout().line_containing("ACCEPT ", PATIENCE).unwrap();
    let address = line.trim_start_matches("ACCEPT ").to_owned();
    (peer, address)
}

#[test]
fn our_client_talks_to_s_server() {
    if which("openssl").is_none() {
        skip!("openssl is not installed");
    }
    for cell in cells() {
        for (option, version) in VERSIONS {
            let rig = Rig::new(cell);
            let folder = TempDir::new("arknet-peers").unwrap();
            let (peer, address) = s_server(&rig, &folder, &[option]);
            let config = rig.client_config().framing(lines());
            let client = rig.connect(&address, config, &[b"hello\n"]);
            rig.wait_messages(At::Client, &[b"olleh\n"]);
            let info = agreed(&rig, At::Client);
            assert_eq!(info.version, version);
            assert_eq!(info.peer_certificates, [rig.keys.server.cert_der()]);
            drop(peer);
            rig.finish(client);
        }
    }
}

#[test]
fn our_client_shows_its_certificate_to_s_server() {
    if which("openssl").is_none() {
        skip!("openssl is not installed");
    }
    for cell in cells() {
        for (option, _) in VERSIONS {
            let rig = Rig::new(cell);
            let folder = TempDir::new("arknet-peers").unwrap();
            let authority = rig.keys.authority.write_to(&folder, "authority").unwrap();
            let authority = authority.to_str().unwrap();
            let demand = [
                option,
                "-Verify",
                "2",
                "-verify_return_error",
                "-CAfile",
                authority,
            ];
            let (peer, address) = s_server(&rig, &folder, &demand);
            let tls = rig
                .keys
                .client_builder()
                .identity(Keys::identity(&rig.keys.client));
            let config = rig
                .client_config()
                .framing(lines())
                .tls(tls.build().unwrap());
            let client = rig.connect(&address, config, &[b"hello\n"]);
            rig.wait_messages(At::Client, &[b"olleh\n"]);
            drop(peer);
            rig.finish(client);
        }
    }
}
