//! The clients of Redis count requests, bytes, connections and pushes.

use std::time::Duration;

use arknet::Lanes;
use arknet::pool::PoolConfig;
use arknet::redis::commands::strings::{get, incr, set};
use arknet::redis::{Client, Config, Overflow, Pool, Subscriber, SubscriberConfig, cmd, pipeline};
use arknet_testkit::redis::{EmbeddedServer, Options, Rule};

use crate::recorder::Notes;
use crate::{PATIENCE, until};

fn start() -> (EmbeddedServer, Config) {
    let server = EmbeddedServer::start(Options::default()).unwrap();
    let config = Config::new(server.addr()).unwrap();
    (server, config.request_timeout(Some(PATIENCE)))
}

#[test]
fn a_shared_client_counts_what_it_does() {
    let (server, config) = start();
    let (notes, lanes) = (Notes::default(), Lanes::sharded(1).unwrap());
    let client = notes.while_making(|| Client::new(config, &lanes).unwrap());
    let value = |name: &str| notes.value(&format!("arknet_redis_{name}_total"), &["shared"]);
    let pushes = client.pushes(1, Overflow::DropNewest).unwrap();
    lanes
        .block_on(async {
            client.run(set("number", 1)).await.unwrap();
            assert_eq!((value("requests"), value("replies")), (1.0, 1.0));
            assert_eq!(value("connects"), 1.0);
            let both = pipeline().add(incr("number")).add(get::<u64>("number"));
            let (two, also_two) = client.run(both).await;
            assert_eq!((two.unwrap(), also_two.unwrap()), (2, 2));
            assert_eq!((value("requests"), value("replies")), (3.0, 3.0));
            let sent = value("sent_bytes");
            client.run(cmd::<()>("PING")).await.unwrap();
            assert_eq!(
                value("sent_bytes") - sent,
                "*1\r\n$4\r\nPING\r\n".len() as f64
            );
            assert_eq!(value("errors"), 0.0);
            client.run(cmd::<()>("NONSENSE")).await.unwrap_err();
            assert_eq!(value("errors"), 1.0);
            server.push(*b">2\r\n+invalidate\r\n_\r\n>2\r\n+invalidate\r\n_\r\n");
            client.run(cmd::<()>("PING")).await.unwrap();
        })
        .unwrap();
    until("a push is dropped", || {
        (value("pushes"), value("pushes_dropped")) == (2.0, 1.0)
    });
    assert!(value("received_bytes") > 0.0);
    drop(pushes);

    server.add(Rule::on("GET").swallow_reply());
    server.add(Rule::on("STRLEN").swallow_reply());
    lanes
        .block_on(async {
            let brief = client.within(Some(Duration::from_millis(20)));
            brief.run(get::<String>("number")).await.unwrap_err();
            assert_eq!(value("timeouts"), 1.0);
            let lost = client.run(cmd::<u64>("STRLEN").arg("number"));
            let cut = async {
                until("it was heard", || server.stats().count("strlen") == 1);
                server.close_all();
            };
            let (lost, ()) = futures_util::future::join(lost, cut).await;
            lost.unwrap_err();
            assert!(value("lost") >= 1.0);
        })
        .unwrap();
}

#[test]
fn a_lease_counts_what_it_does() {
    let (server, config) = start();
    let (notes, lanes) = (Notes::default(), Lanes::sharded(1).unwrap());
    let pool = notes.while_making(|| Pool::new(config, PoolConfig::new(), &lanes).unwrap());
    let value = |name: &str| notes.value(&format!("arknet_redis_{name}_total"), &["lease"]);
    let address = server.addr().to_string();
    let leases = || notes.value("arknet_pool_leases_total", &[&address]);
    lanes
        .block_on(async {
            let mut lease = pool.acquire().await.unwrap();
            assert_eq!((leases(), value("connects")), (1.0, 1.0));
            let (sent, received) = (value("sent_bytes"), value("received_bytes"));
            lease.run(cmd::<()>("PING")).await.unwrap();
            assert_eq!(
                value("sent_bytes") - sent,
                "*1\r\n$4\r\nPING\r\n".len() as f64
            );
            assert_eq!(value("received_bytes") - received, "+PONG\r\n".len() as f64);
            assert_eq!((value("requests"), value("replies")), (1.0, 1.0));
            lease.run(cmd::<()>("NONSENSE")).await.unwrap_err();
            assert_eq!(value("errors"), 1.0);
            server.add(Rule::on("GET").swallow_reply());
            lease.set_request_timeout(Some(Duration::from_millis(20)));
            lease.run(cmd::<String>("GET").arg("k")).await.unwrap_err();
            assert_eq!(value("timeouts"), 1.0);
        })
        .unwrap();
    server.refuse();
    let brief = pool.acquire_within(Duration::from_millis(200));
    assert!(lanes.block_on(brief).unwrap().is_err());
    until("a connect fails", || value("failed_connects") >= 1.0);
}

#[test]
fn a_subscriber_counts_what_it_hears_and_what_it_has_no_room_for() {
    let (server, config) = start();
    let (notes, lanes) = (Notes::default(), Lanes::sharded(1).unwrap());
    let narrow = SubscriberConfig::from(config.clone())
        .queue(1)
        .overflow(Overflow::DropNewest);
    let subscriber = notes.while_making(|| Subscriber::new(narrow, &lanes).unwrap());
    let value = |name: &str| notes.value(&format!("arknet_redis_{name}_total"), &["subscriber"]);
    let publisher = Client::new(config, &lanes).unwrap();
    lanes
        .block_on(async {
            subscriber.subscribe(["news"]).await.unwrap();
            for number in 0..3 {
                let publish = cmd::<u64>("PUBLISH").arg("news").arg(number);
                assert_eq!(publisher.run(publish).await.unwrap(), 1);
            }
        })
        .unwrap();
    until("all came, and one had room", || {
        (value("pushes"), value("pushes_dropped")) == (3.0, 2.0)
    });
    assert_eq!(value("connects"), 1.0);
    drop(server);
}
