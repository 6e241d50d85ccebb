//! What everybody does with a client, on all lanes.

use arknet::redis::{Client, ErrorKind, cmd};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};
use futures_util::future::join_all;

use crate::support::{PATIENCE, config, on_a_lane, on_all_lanes};

#[test]
fn values_of_any_bytes_come_back_as_they_were() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        let value: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let set = cmd::<()>("SET").arg("bytes").arg(&value[..]);
        client.run(set).await.unwrap();
        let get = cmd::<Option<Vec<u8>>>("GET");
        assert_eq!(client.run(get.arg("bytes")).await.unwrap(), Some(value));
        let missing = cmd::<Option<String>>("GET").arg("missing");
        assert_eq!(client.run(missing).await.unwrap(), None);
        assert!(client.close(PATIENCE).await.finished);
    });
}

#[test]
fn an_error_of_the_server_is_the_callers_and_leaves_the_others_alone() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        client
            .run(cmd::<()>("SET").arg("text").arg("x"))
            .await
            .unwrap();
        let wrong = client.run(cmd::<i64>("LLEN").arg("text"));
        let right = client.run(cmd::<String>("GET").arg("text"));
        let (wrong, right) = futures_util::future::join(wrong, right).await;
        let error = wrong.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Server);
        assert_eq!(error.server().unwrap().code(), "WRONGTYPE");
        assert_eq!(right.unwrap(), "x");
    });
}

#[test]
fn hundreds_of_requests_at_once_each_get_their_own_reply() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        let echo = async |number: usize| {
            for round in 0..20 {
                let said = format!("{number} {round}");
                let heard = client.run(cmd::<String>("ECHO").arg(&said)).await;
                assert_eq!(heard.unwrap(), said);
            }
        };
        join_all((0..500).map(echo)).await;
        assert_eq!(client.stats().waiting, 0);
        assert_eq!(client.stats().connects, 1);
    });
}

#[test]
fn large_and_small_replies_keep_their_order() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        let sizes = [0, 1, 5_000, 16 * 1024, 100_000, 3_000_000];
        for size in sizes {
            let value = vec![size.to_string().as_bytes()[0]; size];
            let set = cmd::<()>("SET").arg(format!("size {size}")).arg(value);
            client.run(set).await.unwrap();
        }
        let get = async |number: usize| {
            let size = sizes[number % sizes.len()];
            let get = cmd::<Vec<u8>>("GET").arg(format!("size {size}"));
            let value = client.run(get).await.unwrap();
            assert_eq!(value.len(), size);
            let byte = size.to_string().as_bytes()[0];
            assert!(value.iter().all(|one| *one == byte));
        };
        join_all((0..120).map(get)).await;
    });
}

#[test]
fn a_request_larger_than_the_systems_buffers_does_not_block_the_replies() {
    let server = need!(RedisServer::start(Options::default()));
    on_all_lanes(async |lanes| {
        let config = config(server.addr()).max_queued_bytes(64 << 20);
        let client = Client::connect(config, lanes).await.unwrap();
        let value = "v".repeat(8 << 20);
        let large = async |number: usize| {
            let set = cmd::<()>("SET").arg(number).arg(&value);
            client.run(set).await.unwrap();
            let get = client.run(cmd::<String>("GET").arg(number));
            assert_eq!(get.await.unwrap().len(), value.len());
        };
        join_all((0..4).map(large)).await;
    });
}

#[test]
fn clones_are_the_same_client_and_the_last_one_closes_it() {
    let server = need!(RedisServer::start(Options::default()));
    on_a_lane(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        let clone = client.clone();
        drop(client);
        clone.run(cmd::<()>("PING")).await.unwrap();
        assert_eq!(server.client_list().len(), 1);
        drop(clone);
        crate::support::until("the connection is closed", || {
            server.client_list().is_empty()
        })
        .await;
    });
}
