//! A client that waits for nothing finds out whether its server is there.

use std::time::Duration;

use arknet::redis::{Client, cmd};
use arknet_testkit::redis::{EmbeddedServer, Options};

use crate::support::{config, on_all_lanes, until};

const INTERVAL: Duration = Duration::from_millis(20);

fn start() -> EmbeddedServer {
    EmbeddedServer::start(Options::default()).unwrap()
}

#[test]
fn a_server_that_answers_is_asked_again_and_again_and_kept() {
    on_all_lanes(async |lanes| {
        let server = start();
        let config = config(server.addr()).ping_interval(Some(INTERVAL));
        let client = Client::connect(config, lanes).await.unwrap();
        until("it was asked", || server.stats().count("ping") >= 3).await;
        client.run(cmd::<()>("PING")).await.unwrap();
        let stats = client.stats();
        assert_eq!((stats.connects, stats.submitted), (1, 1));
    });
}

#[test]
fn a_server_that_is_silent_is_left_though_nobody_asks_for_anything() {
    on_all_lanes(async |lanes| {
        let server = start();
        let config = config(server.addr())
            .ping_interval(Some(INTERVAL))
            .request_timeout(Some(Duration::from_millis(50)));
        let client = Client::connect(config, lanes).await.unwrap();
        server.pause();
        until("it was left", || !client.stats().connected).await;
        server.resume();
        until("there is another", || client.stats().connected).await;
    });
}

#[test]
fn nobody_is_asked_where_it_is_not_wanted() {
    on_all_lanes(async |lanes| {
        let (server, witness) = (start(), start());
        let asking = config(witness.addr()).ping_interval(Some(INTERVAL));
        let asking = Client::connect(asking, lanes).await.unwrap();
        let silent = config(server.addr()).ping_interval(None);
        let silent = Client::connect(silent, lanes).await.unwrap();
        let asked = || witness.stats().count("ping");
        until("the other was asked", || asked() >= 3).await;
        assert_eq!(server.stats().count("ping"), 0);
        assert!(asking.stats().connected && silent.stats().connected);
    });
}
