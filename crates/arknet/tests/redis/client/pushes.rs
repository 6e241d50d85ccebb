//! Pushes are no replies, and hold none up.

use std::io::Write;
use std::net::TcpStream;

use arknet::redis::{Client, Overflow, PushEvent, cmd};
use futures_util::future::join_all;

use crate::support::{Fake, config, on_all_lanes};

/// Answers with pushes before, between and after replies.
fn pushing() -> Fake {
    Fake::start(|| {
        let mut number = 0;
        move |words: &[Vec<u8>], stream: &mut TcpStream| {
            let said = String::from_utf8_lossy(&words[1]).into_owned();
            let mut wire = Vec::new();
            number += 1;
            write!(wire, ">2\r\n$10\r\ninvalidate\r\n*1\r\n:{number}\r\n").unwrap();
            write!(wire, ">0\r\n").unwrap();
            write!(wire, "${}\r\n{said}\r\n", said.len()).unwrap();
            write!(wire, ">3\r\n+unknown\r\n_\r\n%1\r\n+a\r\n:{number}\r\n").unwrap();
            // Nobody may be there any more.
            let _ = stream.write_all(&wire);
        }
    })
}

#[test]
fn every_reply_and_every_push_finds_its_way() {
    let fake = pushing();
    on_all_lanes(async |lanes| {
        let client = Client::connect(config(fake.address()), lanes)
            .await
            .unwrap();
        let mut pushes = client.pushes(10_000, Overflow::DropOldest).unwrap();
        let ask = async |number: usize| {
            let said = format!("r{number}");
            let heard = client.run(cmd::<String>("GET").arg(&said)).await;
            assert_eq!(heard.unwrap(), said);
        };
        join_all((0..1000).map(ask)).await;
        let mut numbers = Vec::new();
        for _ in 0..3000 {
            let Some(PushEvent::Push(push)) = pushes.recv().await else {
                panic!("a push is missing");
            };
            if push.kind() == b"invalidate" {
                let (_, keys): (String, Vec<i64>) = push.decode().unwrap();
                numbers.extend(keys);
            }
        }
        assert!(numbers.into_iter().eq(1..=1000));
        assert_eq!(client.stats().pushes, 3000);
    });
}

#[test]
fn a_slow_receiver_misses_pushes_and_nobody_waits_for_it() {
    let fake = pushing();
    on_all_lanes(async |lanes| {
        let client = Client::connect(config(fake.address()), lanes)
            .await
            .unwrap();
        let mut oldest = client.pushes(10, Overflow::DropOldest).unwrap();
        let mut ending = client.pushes(10, Overflow::Disconnect).unwrap();
        for number in 0..100 {
            let said = format!("r{number}");
            let heard = client.run(cmd::<String>("GET").arg(&said)).await;
            assert_eq!(heard.unwrap(), said);
        }
        client.run(cmd::<String>("GET").arg("last")).await.unwrap();
        let Some(PushEvent::Missed(missed)) = oldest.recv().await else {
            panic!("nothing was missed");
        };
        assert!(missed >= 290, "{missed}");
        for _ in 0..10 {
            assert!(matches!(ending.recv().await, Some(PushEvent::Push(_))));
        }
        assert!(matches!(ending.recv().await, Some(PushEvent::Missed(1))));
        assert!(ending.recv().await.is_none());
        // The others end with the client.
        client.close(crate::support::PATIENCE).await;
        while oldest.recv().await.is_some() {}
    });
}
