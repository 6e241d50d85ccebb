//! Python's sockets and ssl as client and as server: raw and length-prefixed, plain and TLS.

use std::process::Command;

use arknet::CloseReason;
use arknet::tcp::Framing;
use arknet::tls::{self, ClientAuth, Version};
use arknet_testkit::process::{Peer, python_peer};
use arknet_testkit::{TempDir, skip};

use crate::support::{At, Carrier, Cell, Keys, Model, PATIENCE, Rig, Serve, Style, ip};
use crate::tls_verify::agreed;

fn cells(carrier: Carrier) -> [Cell; 2] {
    [Style::Callbacks, Style::Async].map(|style| Cell::new(carrier, style, Model::Sharded4))
}

/// What the Python client is told beside the port, until it has checked its echoes.
fn echoed(rig: &Rig, mut command: Command, port: u16, options: &[&str]) {
    command
        .args([
            "connect",
            "--max-seconds",
            "12",
            "--messages",
            "60",
            "--window",
            "16",
        ])
        .args(["--port", &port.to_string()])
        .args(options);
    let mut peer = Peer::spawn(command).unwrap();
    let status = peer.wait(PATIENCE).unwrap();
    assert!(
        status.success(),
        "{options:?}: {status}: {}",
        peer.stderr().text()
    );
    let line = peer.stdout().next_line(PATIENCE).unwrap();
    assert!(line.starts_with("ok messages=60 "), "{line}");
    let reason = rig.wait_ended(At::Server);
    assert!(
        matches!(reason, CloseReason::Peer),
        "{options:?}: {reason:?}"
    );
}

#[test]
fn python_talks_to_our_server() {
    if python_peer().is_none() {
        skip!("python3 is not installed");
    }
    for cell in cells(Carrier::Tcp) {
        for (name, framing) in [("raw", Framing::Raw), ("length", Framing::LengthPrefix)] {
            for half_close in [false, true] {
                let rig = Rig::new(cell);
                let config = rig.server_config().framing(framing.clone());
                let server = rig.serve(config, Serve::Echo);
                let mut options = vec!["--framing", name];
                if half_close {
                    options.push("--half-close");
                }
                let command = python_peer().expect("looked for above");
                echoed(&rig, command, ip(&server).port(), &options);
                rig.finish(server);
            }
        }
    }
}

#[test]
fn python_talks_to_our_server_over_tls() {
    if python_peer().is_none() {
        skip!("python3 is not installed");
    }
    for cell in cells(Carrier::Tcps) {
        for (name, version) in [("1.2", Version::Tls12), ("1.3", Version::Tls13)] {
            let rig = Rig::new(cell);
            let folder = TempDir::new("arknet-peers").unwrap();
            let authority = rig.keys.authority.write_to(&folder, "authority").unwrap();
            let files = rig.keys.client.write_to(&folder, "client").unwrap();
            let tls = tls::ServerConfig::builder()
                .identity(Keys::identity(&rig.keys.server))
                .client_auth(ClientAuth::Required(rig.keys.authorities()))
                .alpn(["echo/1"])
                .build()
                .unwrap();
            let server = rig.serve(rig.server_config().tls(tls), Serve::Echo);
            let options = [
                "--framing",
                "length",
                "--tls",
                name,
                "--alpn",
                "other/1,echo/1",
                "--cafile",
                authority.to_str().unwrap(),
                "--cert",
                files.cert.to_str().unwrap(),
                "--key",
                files.key.to_str().unwrap(),
            ];
            let command = python_peer().expect("looked for above");
            echoed(&rig, command, ip(&server).port(), &options);
            let info = agreed(&rig, At::Server);
            assert_eq!(info.version, version);
            assert_eq!(info.alpn.as_deref(), Some(&b"echo/1"[..]));
            // Python sends the authority's too.
            let shown = info.peer_certificates.first();
            assert_eq!(shown, Some(&rig.keys.client.cert_der()));
            rig.finish(server);
        }
    }
}

/// The Python server, and its port.
fn python_server(mut command: Command, options: &[&str]) -> (Peer, u16) {
    command
        .args(["serve", "--max-seconds", "12", "--connections", "1"])
        .args(options);
    let peer = Peer::spawn(command).unwrap();
    let port = peer.stdout().next_line(PATIENCE).unwrap().parse().unwrap();
    (peer, port)
}

/// Sizes around each boundary between prefixes, and a message of many records and reads.
fn messages() -> Vec<Vec<u8>> {
    [0, 1, 253, 254, 65_535, 65_536, 300_000]
        .into_iter()
        .map(|length| (0..length).map(|index| (index % 251) as u8).collect())
        .collect()
}

fn talk_to_python(rig: &Rig, mut peer: Peer, port: u16, config: arknet::tcp::ClientConfig) {
    let messages = messages();
    let messages: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
    let client = rig.connect(("127.0.0.1", port), config, &messages);
    rig.wait_messages(At::Client, &messages);
    let report = rig.block_on("the client's end", client.shutdown(PATIENCE));
    assert_eq!((report.closed, report.forced), (1, 0));
    // The peer requires the same order of us: close_notify, and an end behind a whole message.
    let status = peer.wait(PATIENCE).unwrap();
    assert!(status.success(), "{status}: {}", peer.stderr().text());
}

#[test]
fn our_client_talks_to_python() {
    if python_peer().is_none() {
        skip!("python3 is not installed");
    }
    for cell in cells(Carrier::Tcp) {
        let rig = Rig::new(cell);
        let command = python_peer().expect("looked for above");
        let (peer, port) = python_server(command, &["--framing", "length"]);
        talk_to_python(&rig, peer, port, rig.client_config());
        rig.finish(());
    }
}

#[test]
fn our_client_talks_to_python_over_tls() {
    if python_peer().is_none() {
        skip!("python3 is not installed");
    }
    for cell in cells(Carrier::Tcps) {
        for name in ["1.2", "1.3"] {
            let rig = Rig::new(cell);
            let folder = TempDir::new("arknet-peers").unwrap();
            let authority = rig.keys.authority.write_to(&folder, "authority").unwrap();
            let files = rig.keys.server.write_to(&folder, "server").unwrap();
            let options = [
                "--framing",
                "length",
                "--tls",
                name,
                "--cafile",
                authority.to_str().unwrap(),
                "--cert",
                files.cert.to_str().unwrap(),
                "--key",
                files.key.to_str().unwrap(),
            ];
            let command = python_peer().expect("looked for above");
            let (peer, port) = python_server(command, &options);
            let tls = rig
                .keys
                .client_builder()
                .identity(Keys::identity(&rig.keys.client));
            let config = rig.client_config().tls(tls.build().unwrap());
            talk_to_python(&rig, peer, port, config);
            rig.finish(());
        }
    }
}
