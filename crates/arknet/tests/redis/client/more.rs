//! Scripts, scans and pipelines on a shared client.

use std::collections::BTreeSet;
use std::time::Duration;

use arknet::Outcome;
use arknet::redis::commands::scripts::Script;
use arknet::redis::commands::strings::{get, incr, set};
use arknet::redis::commands::{ScanOptions, keys};
use arknet::redis::{Client, Error, cmd, pipeline};
use arknet_testkit::need;
use arknet_testkit::proxy::{Direction, FaultProxy, Plan};
use arknet_testkit::servers::redis::{Options, RedisServer};
use futures_util::future::join;

use crate::support::{config, on_a_lane, on_all_lanes, until};

#[test]
fn a_script_runs_once_whether_or_not_the_server_has_it() {
    let server = need!(RedisServer::start(Options::default()));
    on_a_lane(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        let script = Script::new("return redis.call('INCRBY', KEYS[1], ARGV[1])");
        for total in [5, 10] {
            let sum = client.call(script.call::<i64>("sum", 5)).await;
            assert_eq!(sum.unwrap(), total);
        }
        server.cli(&["SCRIPT", "FLUSH"]);
        let sum = client.call(script.call::<i64>("sum", 5)).await;
        assert_eq!(sum.unwrap(), 15);
        // An error of the script itself is no reason to run it again.
        server.cli(&["SET", "sum", "text"]);
        let before = client.stats().submitted;
        let failed = client.call(script.call::<i64>("sum", 5)).await;
        assert!(failed.unwrap_err().server().is_some());
        assert_eq!(client.stats().submitted, before + 1);
    });
}

#[test]
fn what_a_client_does_can_be_done_in_a_task_of_any_lane() {
    fn is_send<F: Future + Send>(_: &F) {}
    let server = need!(RedisServer::start(Options::default()));
    on_a_lane(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        let script = Script::new("return 1");
        let call = client.call(script.call::<i64>("k", "a"));
        is_send(&call);
        call.await.unwrap();
        let mut scan = client.scan(keys::scan::<String>(ScanOptions::new()));
        let next = scan.next();
        is_send(&next);
        assert!(next.await.is_none());
        is_send(&client.run(cmd::<()>("PING")));
        is_send(&client.close(Duration::ZERO));
    });
}

#[test]
fn a_scan_gives_every_key() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        let names: BTreeSet<String> = (0..1000).map(|number| format!("user:{number}")).collect();
        for name in &names {
            client.run(set(name, 1)).await.unwrap();
        }
        client.run(set("other", 1)).await.unwrap();
        let options = ScanOptions::new().matching("user:*").count(50);
        let mut scan = client.scan(keys::scan::<String>(options));
        let mut found = BTreeSet::new();
        while let Some(name) = scan.next().await {
            found.insert(name.unwrap());
        }
        assert_eq!(found, names);
    });
}

#[test]
fn a_pipeline_has_a_result_for_each_request() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        client.run(set("text", "x")).await.unwrap();
        let batch = pipeline()
            .add(get::<String>("text"))
            .add(incr("text"))
            .add(cmd::<String>("PING"));
        let (text, wrong, pong) = client.run(batch).await;
        assert_eq!(text.unwrap(), "x");
        assert!(wrong.unwrap_err().server().is_some());
        assert_eq!(pong.unwrap(), "PONG");
    });
}

#[test]
fn pipelines_that_are_dropped_leave_nothing_for_others() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        for number in 0..200_u64 {
            let gets = pipeline().extend((0..100).map(|at| cmd::<String>("ECHO").arg(at)));
            let time = Duration::from_micros(number % 60);
            super::cancellation::for_a_while(client.run(gets), time).await;
            let said = format!("e{number}");
            let heard = client.run(cmd::<String>("ECHO").arg(&said)).await;
            assert_eq!(heard.unwrap(), said);
        }
        assert_eq!(client.stats().connects, 1);
    });
}

#[test]
fn each_request_of_a_pipeline_that_is_cut_has_its_own_outcome() {
    let server = need!(RedisServer::start(Options::default()));
    let proxy = FaultProxy::start(server.addr()).unwrap();
    on_a_lane(async |lanes| {
        let client = Client::connect(config(proxy.addr()), lanes).await.unwrap();
        // The first is answered, the second is too large for the buffers between, and the third is never begun.
        proxy.set(Direction::ToServer, Plan::stall_after(1_000_000));
        let batch = pipeline()
            .add(incr("one"))
            .add(set("two", "v".repeat(64 << 20)))
            .add(incr("three"));
        let running = client.run(batch);
        let cut = async {
            until("the first is done", || {
                server.cli(&["EXISTS", "one"]).integer() == 1
            })
            .await;
            until("the reply has come", || client.stats().replies == 1).await;
            proxy.cut_all();
            proxy.set(Direction::ToServer, Plan::pass());
        };
        let ((one, two, three), ()) = join(running, cut).await;
        assert_eq!(one.unwrap(), 1);
        let outcome = |error: Error| error.outcome();
        assert_eq!(outcome(two.unwrap_err()), Outcome::Unknown);
        assert_eq!(outcome(three.unwrap_err()), Outcome::NotSent);
    });
}

#[test]
fn an_atomic_pipeline_runs_as_a_whole_beside_others() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        server.cli(&["DEL", "a", "b"]);
        let rounds = async || {
            for _ in 0..50 {
                let both = pipeline().add(incr("a")).add(incr("b")).atomic();
                let (a, b) = client.run(both).await.unwrap();
                assert_eq!(a.unwrap(), b.unwrap());
            }
        };
        let others = async {
            for _ in 0..200 {
                client.run(cmd::<()>("PING")).await.unwrap();
            }
        };
        let (_, ()) = join(
            futures_util::future::join_all((0..10).map(|_| rounds())),
            others,
        )
        .await;
        assert_eq!(client.run(get::<i64>("a")).await.unwrap(), 500);
    });
}
