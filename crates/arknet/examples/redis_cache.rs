//! A cache: values that expire, computed when they are missing, and a service that goes on when the cache is down.
//!
//! ```sh
//! cargo run -p arknet --example redis_cache -- redis://127.0.0.1:6379
//! ```
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

use std::error::Error;
use std::time::Duration;

use arknet::Lanes;
use arknet::redis::commands::keys::{self, Ttl};
use arknet::redis::commands::{Expiry, strings};
use arknet::redis::{Client, Config};

/// How old a value may be.
const FRESH: Duration = Duration::from_secs(60);

/// How long the cache may take to answer. Beyond that, computing the value is quicker.
const PATIENCE: Duration = Duration::from_millis(200);

fn main() -> Result<(), Box<dyn Error>> {
    run(&std::env::args().nth(1).ok_or("needs the URL of a server")?)
}

pub(crate) fn run(url: &str) -> Result<(), Box<dyn Error>> {
    let lanes = Lanes::sharded(1)?;
    let cache = Cache {
        client: Client::new(Config::from_url(url)?, &lanes)?.within(Some(PATIENCE)),
    };
    lanes.block_on(async {
        let mut computed = 0;
        for _ in 0..3 {
            let square = cache.get_or("square:12", async || {
                computed += 1;
                (12 * 12).to_string()
            });
            assert_eq!(square.await, "144");
        }
        println!("computed {computed} time(s)");
        if let Ttl::Left(left) = cache.client.run(keys::ttl("square:12")).await? {
            println!("fresh for another {left:?}");
        }
        cache.client.run(keys::del("square:12")).await?;
        Ok(())
    })?
}

struct Cache {
    client: Client,
}

impl Cache {
    /// What is cached, or what `compute` says. Whatever is wrong with the cache makes this slower, and nothing worse.
    async fn get_or(&self, key: &str, compute: impl AsyncFnOnce() -> String) -> String {
        match self.client.run(strings::get::<Option<String>>(key)).await {
            Ok(Some(value)) => return value,
            Ok(None) => {}
            Err(error) => println!("the cache was not read: {error}"),
        }
        let value = compute().await;
        let set = strings::setex(key, &value, Expiry::In(FRESH));
        if let Err(error) = self.client.run(set).await {
            println!("the cache was not written: {error}");
        }
        value
    }
}
