//! Many connections, opened and closed.

use arknet::tcp::connect;

use crate::harness::{Cell, Host, Role, eventually, wait};

in_every_cell![five_hundred_connections_open_and_close];

const CONNECTIONS: usize = 500;
const AT_ONCE: usize = 20;

fn five_hundred_connections_open_and_close(cell: Cell) {
    let host = Host::new(cell);
    let (server, _, seen) = host.server(host.server_config(), Role::Echo);
    let exchange = async |number: usize| {
        let config = host.client_config();
        let mut connection = connect(&host.lanes, server.local_addr(), config)
            .await
            .unwrap();
        let message = number.to_le_bytes();
        connection.send(&message).await.unwrap();
        assert_eq!(connection.recv().await.unwrap().unwrap(), message[..]);
        connection.close().await;
    };
    for batch in 0..CONNECTIONS / AT_ONCE {
        let numbers = (0..AT_ONCE).map(|index| exchange(batch * AT_ONCE + index));
        wait("a batch", futures_util::future::join_all(numbers));
    }
    for _ in 0..CONNECTIONS {
        let reason = seen.ended();
        assert!(matches!(reason, arknet::CloseReason::Peer), "{reason}");
    }
    eventually("no session is left", || server.is_empty());
    assert_eq!(server.accepted(), CONNECTIONS as u64);
    host.finish();
    assert!(seen.has_ended().is_none(), "each ends once");
}
