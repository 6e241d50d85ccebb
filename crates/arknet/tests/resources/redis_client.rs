//! In the steady state a request on a shared Redis client costs no allocation, whatever its caller makes of the reply.

use std::sync::mpsc;
use std::time::Duration;

use arknet::Lanes;
use arknet::redis::commands::strings::{get, set};
use arknet::redis::{Client, Config, cmd};
use arknet_testkit::alloc;
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};
use futures_util::future::join_all;

const TASKS: usize = 64;
const WARM_UP: usize = 200;
const COUNTED: usize = 500;

/// A debug build on a busy machine, many times over.
const WITHIN: Duration = Duration::from_secs(50);

/// The promise: one allocation in so many requests.
const REQUESTS_PER_ALLOCATION: u64 = 1_000;

async fn rounds(client: &Client, count: usize) {
    let ask = async |_| {
        for _ in 0..count {
            let number = client.run(get::<u64>("number")).await.unwrap();
            assert_eq!(number, 42);
        }
    };
    join_all((0..TASKS).map(ask)).await;
}

#[test]
fn a_request_allocates_nothing() {
    assert!(alloc::installed());
    let server = need!(RedisServer::start(Options::default()));
    let lanes = Lanes::sharded(1).unwrap();
    let (done, counted) = mpsc::channel();
    let (address, lane) = (server.addr(), lanes.clone());
    // Where a server's own code is: on the lane.
    lanes.spawn(async move {
        let client = Client::connect(Config::new(address).unwrap(), &lane).await;
        let client = client.unwrap();
        client.run(set("number", 42)).await.unwrap();
        rounds(&client, WARM_UP).await;
        let before = alloc::counts();
        rounds(&client, COUNTED).await;
        done.send(alloc::counts().since(&before)).unwrap();
    });
    let counts = counted.recv_timeout(WITHIN).unwrap();
    let requests = (TASKS * COUNTED) as u64;
    eprintln!("{} allocations in {requests} requests", counts.allocations);
    // Those of the tasks themselves.
    let allowed = requests / REQUESTS_PER_ALLOCATION + 2 * TASKS as u64;
    assert!(counts.allocations <= allowed, "{counts:?}");
}

#[test]
fn the_memory_of_a_huge_reply_goes_with_it() {
    assert!(alloc::installed());
    let server = need!(RedisServer::start(Options::default()));
    let lanes = Lanes::sharded(1).unwrap();
    lanes
        .block_on(async {
            let config = Config::new(server.addr()).unwrap();
            let client = Client::connect(config, &lanes).await.unwrap();
            let fill = cmd::<()>("SETRANGE").arg("huge").arg(60 << 20).arg("x");
            client.run(fill).await.unwrap();
            client.run(set("number", 42)).await.unwrap();
            rounds(&client, 10).await;
            let before = alloc::counts().live_bytes;
            let huge = client.run(get::<Vec<u8>>("huge")).await.unwrap();
            assert_eq!(huge.len(), (60 << 20) + 1);
            drop(huge);
            rounds(&client, 10).await;
            let left = alloc::counts().live_bytes - before;
            eprintln!("{left} bytes left");
            assert!(left < 2 << 20, "{left}");
        })
        .unwrap();
}
