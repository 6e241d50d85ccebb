//! What waits is bounded, in number and in bytes.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

use arknet::Outcome;
use arknet::redis::{Client, Error, Run, cmd};

use crate::support::{Fake, config, on_a_lane};

/// A port on which nobody listens.
fn nobody() -> std::net::SocketAddr {
    let fake = Fake::start(|| |_: &[Vec<u8>], _: &mut std::net::TcpStream| ());
    fake.address()
}

fn starts<B: arknet::redis::Batch>(run: &mut Run<'_, B>) -> bool {
    let mut cx = Context::from_waker(Waker::noop());
    Pin::new(run).poll(&mut cx).is_pending()
}

#[test]
fn requests_beyond_the_limit_are_refused_at_once() {
    on_a_lane(async |lanes| {
        let client = Client::new(config(nobody()).max_requests(100), lanes).unwrap();
        let mut waiting: Vec<_> = (0..100)
            .map(|number| client.run(cmd::<()>("SET").arg("k").arg(number)))
            .collect();
        assert!(waiting.iter_mut().all(starts));
        assert_eq!(client.stats().waiting, 100);
        let error = client.run(cmd::<()>("PING")).await.unwrap_err();
        assert!(matches!(error, Error::Full { limit: 100, .. }), "{error}");
        assert_eq!(error.outcome(), Outcome::NotSent);
        assert_eq!(client.stats().refused, 1);
        // One that is given up makes room.
        waiting.pop();
        assert!(starts(&mut client.run(cmd::<()>("PING"))));
        waiting.clear();
        assert_eq!(client.stats().waiting, 0);
        assert_eq!(client.stats().queued_bytes, 0);
    });
}

#[test]
fn bytes_beyond_the_limit_are_refused_at_once() {
    on_a_lane(async |lanes| {
        let client = Client::new(config(nobody()).max_queued_bytes(10_000), lanes).unwrap();
        let value = "v".repeat(9_000);
        let mut first = client.run(cmd::<()>("SET").arg("k").arg(&value));
        assert!(starts(&mut first));
        let second = client.run(cmd::<()>("SET").arg("k").arg(&value)).await;
        let error = second.unwrap_err();
        assert!(
            matches!(error, Error::Full { limit: 10_000, .. }),
            "{error}"
        );
        drop(first);
        // A single one that is larger than the limit is taken where nothing else waits.
        let mut large = client.run(cmd::<()>("SET").arg("k").arg("v".repeat(20_000)));
        assert!(starts(&mut large));
    });
}
