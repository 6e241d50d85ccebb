//! What is large takes memory while it is there, and not afterwards.

use arknet::Bytes;
use arknet::pool::PoolConfig;
use arknet::redis::{Client, Config, Lease, Pool, ReplyLimits, cmd};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};

use super::resident;
use crate::support::{Fake, PATIENCE, config, on_a_lane};

const HUGE: usize = 256 << 20;

/// What a connection may keep of it.
const KEPT: i64 = 2 << 20;

fn allowing(server: &RedisServer) -> Config {
    let limits = ReplyLimits::default().max_reply_bytes(HUGE + 1024);
    config(server.addr()).limits(limits)
}

fn huge(server: &RedisServer) {
    let last = (HUGE - 1).to_string();
    server.cli(&["SETRANGE", "huge", &last, "x"]);
    server.cli(&["SET", "small", "s"]);
}

#[test]
fn a_huge_reply_leaves_no_memory_behind_on_a_shared_connection() {
    let server = need!(RedisServer::start(Options::default()));
    huge(&server);
    on_a_lane(async |lanes| {
        let client = Client::connect(allowing(&server), lanes).await.unwrap();
        let patient = client.within(Some(PATIENCE));
        let small = async || {
            for _ in 0..100 {
                let value: String = patient.run(cmd("GET").arg("small")).await.unwrap();
                assert_eq!(value, "s");
            }
        };
        small().await;
        let before = resident();
        let value: Bytes = patient.run(cmd("GET").arg("huge")).await.unwrap();
        assert_eq!((value.len(), value.last()), (HUGE, Some(&b'x')));
        assert!(resident() - before >= HUGE as i64, "nothing was measured");
        drop(value);
        small().await;
        let kept = resident() - before;
        assert!(kept <= KEPT, "{kept} bytes are kept");
    });
}

async fn small(lease: &mut Lease) {
    for _ in 0..100 {
        let value: String = lease.run(cmd("GET").arg("small")).await.unwrap();
        assert_eq!(value, "s");
    }
}

#[test]
fn a_huge_reply_leaves_no_memory_behind_on_a_lease() {
    let server = need!(RedisServer::start(Options::default()));
    huge(&server);
    on_a_lane(async |lanes| {
        let one = PoolConfig::new().max_connections(1);
        let pool = Pool::new(allowing(&server), one, lanes).unwrap();
        let mut lease = pool.acquire().await.unwrap();
        lease.set_request_timeout(Some(PATIENCE));
        small(&mut lease).await;
        let before = resident();
        let value: Bytes = lease.run(cmd("GET").arg("huge")).await.unwrap();
        assert_eq!((value.len(), value.last()), (HUGE, Some(&b'x')));
        assert!(resident() - before >= HUGE as i64, "nothing was measured");
        drop(value);
        small(&mut lease).await;
        let kept = resident() - before;
        assert!(kept <= KEPT, "{kept} bytes are kept");
    });
}

#[test]
fn a_server_that_is_away_costs_no_memory_beyond_the_bounds() {
    const QUEUED: usize = 4 << 20;
    let nobody = Fake::start(|| |_: &[Vec<u8>], _: &mut std::net::TcpStream| ()).address();
    on_a_lane(async |lanes| {
        let bounded = config(nobody).max_queued_bytes(QUEUED);
        let client = Client::new(bounded, lanes).unwrap();
        let before = resident();
        let (value, mut refused) = ("v".repeat(1024), 0);
        for number in 0..100_000_u32 {
            let set = cmd::<()>("SET").arg(number).arg(&value);
            refused += u32::from(client.run_with(set, |_| ()).is_err());
        }
        assert!(refused > 95_000, "{refused}");
        assert!(client.stats().queued_bytes <= QUEUED);
        // A buffer that grows holds up to twice what is in it.
        let held = resident() - before;
        assert!(held <= 3 * QUEUED as i64, "{held} bytes");
    });
}
