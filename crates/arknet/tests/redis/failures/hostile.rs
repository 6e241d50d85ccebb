//! Heads that announce what never comes, or what no stack holds.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;

use arknet::pool::PoolConfig;
use arknet::redis::{Client, ErrorKind, Pool, Value, cmd};

use super::resident;
use crate::support::{Fake, config, on_a_lane};

/// What a refused reply may cost.
const COST: i64 = 1 << 20;

/// What is asked for by its number is answered with the head of that number.
fn heads() -> Vec<Vec<u8>> {
    let mut heads: Vec<Vec<u8>> = [
        "*1000000000\r\n",
        "%1000000000\r\n",
        "~4294967296\r\n",
        "$9999999999\r\n",
        "$99999999999999999999\r\n",
        "*-2\r\n",
        "$-5\r\n",
        "=3\r\n",
    ]
    .iter()
    .map(|head| head.as_bytes().to_vec())
    .collect();
    heads.push(b"*1\r\n".repeat(300_000));
    heads.push([b"+".to_vec(), b"a".repeat(1 << 20)].concat());
    heads
}

fn hostile(heads: Arc<Vec<Vec<u8>>>) -> Fake {
    Fake::start(move || {
        let heads = heads.clone();
        move |words: &[Vec<u8>], stream: &mut TcpStream| {
            let number: usize = std::str::from_utf8(&words[1]).unwrap().parse().unwrap();
            // Whoever has understood it has gone.
            let _ = stream.write_all(&heads[number]);
        }
    })
}

#[test]
fn a_hostile_head_is_refused_for_little_memory() {
    let heads = Arc::new(heads());
    let count = heads.len();
    let fake = hostile(heads);
    on_a_lane(async |lanes| {
        let client = Client::connect(config(fake.address()), lanes)
            .await
            .unwrap();
        let one = PoolConfig::new().max_connections(1);
        let pool = Pool::new(config(fake.address()), one, lanes).unwrap();
        let ask = async |number: usize| {
            let get = || cmd::<Value>("GET").arg(number);
            let shared = client.run(get()).await.unwrap_err();
            let leased = pool.run(get()).await.unwrap_err();
            for error in [shared, leased] {
                assert_eq!(error.kind(), ErrorKind::Protocol, "{number}: {error}");
            }
        };
        // What the fake and the connections need is there then.
        for number in 0..count {
            ask(number).await;
        }
        let before = resident();
        for number in 0..count {
            ask(number).await;
            let cost = resident() - before;
            assert!(cost <= COST, "{number}: {cost} bytes");
        }
    });
}
