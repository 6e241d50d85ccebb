//! The proxy leaves nothing behind, in a process of its own: a single test, so that nothing else
//! opens files.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use arknet_testkit::alloc::Counting;
use arknet_testkit::leak::Snapshot;
use arknet_testkit::proxy::{FaultProxy, Plan, Side};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SOON: Duration = Duration::from_secs(10);

/// Connections under each plan.
const ROUNDS: usize = 50;

#[test]
fn no_fault_leaves_a_socket_a_thread_or_memory_behind() {
    // What the standard library makes once is made before the snapshot.
    break_connections(&Plan::pass());
    let before = Snapshot::take();
    for plan in [
        Plan::pass(),
        Plan::cut_after(2),
        Plan::stall_after(2),
        Plan::reset_after(2, Side::Client),
        Plan::reset_after(2, Side::Server),
        Plan::reset_after(2, Side::Both),
        Plan::half_close_after(2),
        Plan::black_hole(),
        Plan::pass().throttled(1),
        Plan::pass().delayed(Duration::MAX).one_byte_at_a_time(),
    ] {
        break_connections(&plan);
        before.assert_no_leaks(SOON);
    }
}

/// Half of the connections are still open when the proxy is dropped.
fn break_connections(plan: &Plan) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = FaultProxy::start(listener.local_addr().unwrap()).unwrap();
    proxy.set_both(plan.clone(), plan.clone());
    let mut kept = Vec::new();
    for round in 0..ROUNDS {
        let mut client = TcpStream::connect(proxy.addr()).unwrap();
        let mut server = listener.accept().unwrap().0;
        // Some of these meet a connection that the plan has broken already.
        let _ = client.write_all(b"to server");
        let _ = server.write_all(b"to client");
        if round % 2 == 0 {
            kept.push((client, server));
        }
    }
    proxy
        .wait_until(SOON, |counters| counters.accepted == ROUNDS as u64)
        .unwrap();
    drop(proxy);
    for (mut client, mut server) in kept {
        // Ends for everyone, in order or by a reset.
        for stream in [&mut client, &mut server] {
            stream.set_read_timeout(Some(SOON)).unwrap();
            let ended = stream.read_to_end(&mut Vec::new());
            assert!(!matches!(ended, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock));
        }
    }
}
