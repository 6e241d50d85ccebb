//! socat as client and as server: TCP, Unix domain sockets, and OpenSSL.

use std::process::Command;

use arknet::CloseReason;
use arknet_testkit::process::{Peer, which};
use arknet_testkit::{TempDir, skip};

use crate::support::{At, Carrier, Cell, Model, PATIENCE, Rig, Serve, Style, ip};

fn cells(carrier: Carrier) -> [Cell; 2] {
    [Style::Callbacks, Style::Async].map(|style| Cell::new(carrier, style, Model::Sharded4))
}

/// A socat between its standard streams and `address`.
fn socat(address: &str) -> Peer {
    let mut command = Command::new("socat");
    command.args(["-t", "5", "-", address]);
    Peer::spawn(command).unwrap()
}

/// What socat sees of a server that echoes what it is sent.
fn expect_echo(rig: &Rig, mut peer: Peer, secure: bool) {
    peer.write(b"\x06hello\n").unwrap();
    let line = peer.stdout().next_line(PATIENCE).unwrap();
    assert_eq!(line, "\u{6}hello");
    rig.wait_messages(At::Server, &[b"hello\n"]);
    // socat ends its stream and reads on; what the server then ends, ends socat.
    peer.close_input();
    let status = peer.wait(PATIENCE).unwrap();
    assert!(status.success(), "{status}: {}", peer.stderr().text());
    let reason = rig.wait_ended(At::Server);
    if secure {
        assert!(reason.error().is_none(), "{reason:?}");
    } else {
        assert!(matches!(reason, CloseReason::Peer), "{reason:?}");
    }
}

#[test]
fn socat_talks_to_our_server() {
    if which("socat").is_none() {
        skip!("socat is not installed");
    }
    for cell in cells(Carrier::Tcp) {
        let rig = Rig::new(cell);
        let server = rig.echo();
        expect_echo(&rig, socat(&format!("TCP:{}", ip(&server))), false);
        rig.finish(server);
    }
}

#[test]
fn socat_talks_to_our_server_on_a_unix_socket() {
    if which("socat").is_none() {
        skip!("socat is not installed");
    }
    for cell in cells(Carrier::Unix) {
        let rig = Rig::new(cell);
        let server = rig.echo();
        let address = server.local_addr().to_string();
        let path = address.strip_prefix("unix:").unwrap();
        expect_echo(&rig, socat(&format!("UNIX-CONNECT:{path}")), false);
        rig.finish(server);
    }
}

#[test]
fn socat_talks_to_our_server_over_tls() {
    if which("socat").is_none() {
        skip!("socat is not installed");
    }
    for cell in cells(Carrier::Tcps) {
        let rig = Rig::new(cell);
        let folder = TempDir::new("arknet-peers").unwrap();
        let authority = rig.keys.authority.write_to(&folder, "authority").unwrap();
        let server = rig.echo();
        let address = format!(
            "OPENSSL:{},cafile={},commonname=localhost",
            ip(&server),
            authority.display()
        );
        expect_echo(&rig, socat(&address), true);
        rig.finish(server);
    }
}

/// A socat that listens and echoes through `cat`; its port comes from what it says about itself.
fn socat_server(listen: &str) -> Peer {
    let mut command = Command::new("socat");
    command.args(["-d", "-d", listen, "EXEC:cat"]);
    Peer::spawn(command).unwrap()
}

fn listening_on(peer: &Peer) -> String {
    let line = peer
        .stderr()
        .line_containing("listening on", PATIENCE)
        .unwrap();
    line.rsplit(' ').next().unwrap().to_owned()
}

fn talk_to(rig: &Rig, address: &str, config: arknet::tcp::ClientConfig) {
    let client = rig.connect(address, config, &[b"hello", b""]);
    rig.wait_messages(At::Client, &[b"hello", b""]);
    let report = rig.block_on("the client's end", client.shutdown(PATIENCE));
    assert_eq!((report.closed, report.forced), (1, 0), "{address}");
}

#[test]
fn our_client_talks_to_socat() {
    if which("socat").is_none() {
        skip!("socat is not installed");
    }
    for cell in cells(Carrier::Tcp) {
        let rig = Rig::new(cell);
        let peer = socat_server("TCP-LISTEN:0,bind=127.0.0.1");
        talk_to(&rig, &listening_on(&peer), rig.client_config());
        drop(peer);
        rig.finish(());
    }
}

#[test]
fn our_client_talks_to_socat_on_a_unix_socket() {
    if which("socat").is_none() {
        skip!("socat is not installed");
    }
    for cell in cells(Carrier::Unix) {
        let rig = Rig::new(cell);
        let folder = TempDir::new("arknet-peers").unwrap();
        let path = folder.join("socat");
        let peer = socat_server(&format!("UNIX-LISTEN:{}", path.display()));
        peer.stderr()
            .line_containing("listening on", PATIENCE)
            .unwrap();
        let address = format!("unix:{}", path.display());
        talk_to(&rig, &address, rig.client_config());
        drop(peer);
        rig.finish(());
    }
}

#[test]
fn our_client_talks_to_socat_over_tls() {
    if which("socat").is_none() {
        skip!("socat is not installed");
    }
    for cell in cells(Carrier::Tcps) {
        let rig = Rig::new(cell);
        let folder = TempDir::new("arknet-peers").unwrap();
        let files = rig.keys.server.write_to(&folder, "server").unwrap();
        let listen = format!(
            "OPENSSL-LISTEN:0,bind=127.0.0.1,verify=0,cert={},key={}",
            files.cert.display(),
            files.key.display()
        );
        let peer = socat_server(&listen);
        let address = listening_on(&peer);
        let client = rig.connect(&address, rig.client_config(), &[b"hello", b""]);
        rig.wait_messages(At::Client, &[b"hello", b""]);
        drop(peer);
        rig.finish(client);
    }
}

#[test]
fn socat_without_our_authority_refuses_our_server() {
    if which("socat").is_none() {
        skip!("socat is not installed");
    }
    let [cell, _] = cells(Carrier::Tcps);
    let rig = Rig::new(cell);
    let server = rig.serve(rig.server_config(), Serve::Echo);
    let mut peer = socat(&format!("OPENSSL:{},commonname=localhost", ip(&server)));
    let (error, text) = crate::tls_verify::failed_handshake(&rig);
    assert!(
        matches!(error, Some(arknet::tls::Error::AlertReceived(alert)) if alert.is_about_certificate()),
        "{text}"
    );
    assert!(!peer.wait(PATIENCE).unwrap().success());
    drop(peer);
    rig.finish(server);
}
