//! Ten thousand connections, opened, used once and closed, leave nothing: not a byte for each.

use std::time::Duration;

use arknet::tcp::{ClientConfig, Framing, Server, connect};
use arknet_testkit::leak::Snapshot;
use futures_util::future::join_all;

use crate::support::{Carrier, Cell, Model, Rig, Style};

/// Connections of each style.
const CONNECTIONS: usize = 5_000;

/// Open at once: many, and far from the descriptors that a process may have.
const BATCH: usize = 250;

/// A batch is done in well under this on any machine.
const BATCH_WITHIN: Duration = Duration::from_secs(60);

fn open_and_close(rig: &Rig, server: &Server, config: &ClientConfig, connections: usize) {
    for _ in 0..connections.div_ceil(BATCH) {
        let one = || async {
            let mut connection = connect(&rig.lanes, server.local_addr(), config.clone())
                .await
                .unwrap();
            connection.send(b"hello").await.unwrap();
            let echo = connection.recv().await.unwrap().unwrap();
            assert_eq!(&echo[..], b"hello");
            connection.close().await;
        };
        let batch = join_all((0..BATCH).map(|_| one()));
        let bounded = async { tokio::time::timeout(BATCH_WITHIN, batch).await };
        rig.lanes.block_on(bounded).unwrap().unwrap();
        // A session is gone a moment after its client.
        rig.wait_until("the sessions' end", || server.is_empty());
    }
}

fn ten_thousand(carrier: Carrier) {
    for style in [Style::Callbacks, Style::Async] {
        let rig = Rig::new(Cell::new(carrier, style, Model::Sharded4));
        // No log: it would grow with each connection.
        let mut config = arknet::tcp::ServerConfig::new().framing(Framing::LengthPrefix);
        let mut client = ClientConfig::new().framing(Framing::LengthPrefix);
        if rig.cell.is_secure() {
            config = config.tls(rig.keys.server_config());
            client = client.tls(rig.keys.client_config());
        }
        let server = match style {
            Style::Callbacks => Server::start(&rig.lanes, rig.address(), config, |_| {
                |session: &mut arknet::Session, message: &[u8]| session.send(message).unwrap()
            }),
            Style::Async => Server::serve(
                &rig.lanes,
                rig.address(),
                config,
                |mut connection| async move {
                    while let Ok(Some(message)) = connection.recv().await {
                        connection.send(message).await.unwrap();
                    }
                },
            ),
        };
        let server = server.unwrap();
        // What lanes keep, and what a client remembers of a server, is there after some.
        open_and_close(&rig, &server, &client, 4 * BATCH);
        let before = Snapshot::take();
        let accepted = server.accepted();
        open_and_close(&rig, &server, &client, CONNECTIONS);
        assert_eq!(server.accepted() - accepted, CONNECTIONS as u64);
        before.assert_no_leaks(crate::support::PATIENCE);
        rig.finish((server, client));
    }
}

#[test]
fn ten_thousand_tcp_connections_come_and_go() {
    ten_thousand(Carrier::Tcp);
}

#[test]
fn ten_thousand_tcps_connections_come_and_go() {
    ten_thousand(Carrier::Tcps);
}

#[test]
fn ten_thousand_unix_connections_come_and_go() {
    ten_thousand(Carrier::Unix);
}
