//! Pushes within a transaction are none of its replies.

use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use arknet::pool::PoolConfig;
use arknet::redis::commands::strings::{get, incr, set};
use arknet::redis::{Client, Overflow, Pool, PushEvent, pipeline};

use crate::support::{Fake, config, on_a_lane};

const PUSH: &str = ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n";

/// Counts, and pushes before and after whatever it replies.
fn pushing() -> Fake {
    Fake::start(|| {
        let (mut counter, mut queued) = (0, 0);
        move |words: &[Vec<u8>], stream: &mut TcpStream| {
            let reply = match words[0].as_slice() {
                b"MULTI" => "+OK\r\n".to_owned(),
                // The client has asked for nothing, to see whether it may.
                b"EXEC" if queued == 0 => "*0\r\n".to_owned(),
                b"EXEC" => {
                    queued = 0;
                    counter += 2;
                    format!("*2\r\n:{}\r\n:{counter}\r\n", counter - 1)
                }
                b"INCR" => {
                    queued += 1;
                    "+QUEUED\r\n".to_owned()
                }
                _ => "+QUEUED\r\n".to_owned(),
            };
            // Nobody may be there any more.
            let _ = stream.write_all(format!("{PUSH}{reply}>0\r\n").as_bytes());
        }
    })
}

#[test]
fn pushes_in_the_middle_of_a_transaction_are_not_taken_for_its_results() {
    let fake = pushing();
    on_a_lane(async |lanes| {
        let client = Client::connect(config(fake.address()), lanes)
            .await
            .unwrap();
        let mut pushes = client.pushes(10_000, Overflow::DropOldest).unwrap();
        let pool = Pool::new(config(fake.address()), PoolConfig::new(), lanes).unwrap();
        let mut lease = pool.acquire().await.unwrap();
        let both = || pipeline().add(incr("k")).add(incr("k")).atomic();
        for round in 0..250 {
            let (one, two) = client.run(both()).await.unwrap();
            assert_eq!((one.unwrap(), two.unwrap()), (2 * round + 1, 2 * round + 2));
            let (one, two) = lease.run(both()).await.unwrap();
            assert_eq!((one.unwrap(), two.unwrap()), (2 * round + 1, 2 * round + 2));
        }
        // Two for each command, those of the question before the first among them.
        let expected = 2 * (4 * 250 + 2);
        for _ in 0..expected {
            let push = pushes.recv().await;
            assert!(matches!(push, Some(PushEvent::Push(_))), "{push:?}");
        }
        assert_eq!(client.stats().pushes, expected);
    });
}

/// `SET` says who is pushed to, `GET` pushes to it.
fn pushing_to_another() -> Fake {
    let other = Arc::new(Mutex::new(None::<TcpStream>));
    Fake::start(move || {
        let other = other.clone();
        move |words: &[Vec<u8>], stream: &mut TcpStream| {
            let mut other = other.lock().unwrap();
            match words[0].as_slice() {
                b"SET" => *other = Some(stream.try_clone().unwrap()),
                b"GET" => {
                    let other = other.as_mut().unwrap();
                    other.write_all(PUSH.as_bytes()).unwrap();
                }
                _ => {}
            }
            // Nobody may be there any more.
            let _ = stream.write_all(b"+OK\r\n");
        }
    })
}

#[test]
fn a_push_between_two_requests_of_a_lease_ends_nothing() {
    let fake = pushing_to_another();
    on_a_lane(async |lanes| {
        let pool = Pool::new(config(fake.address()), PoolConfig::new(), lanes).unwrap();
        let mut one = pool.acquire().await.unwrap();
        let mut two = pool.acquire().await.unwrap();
        for _ in 0..100 {
            one.run(set("k", "v")).await.unwrap();
            let _: String = two.run(get("k")).await.unwrap();
            one.run(set("k", "v")).await.unwrap();
        }
    });
}
