//! A rate limiter: a script that the server runs as one step, whoever else asks at the same time.
//!
//! ```sh
//! cargo run -p arknet --example redis_rate_limiter -- redis://127.0.0.1:6379
//! ```
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

use std::error::Error;
use std::time::Duration;

use arknet::Lanes;
use arknet::redis::commands::keys;
use arknet::redis::commands::scripts::Script;
use arknet::redis::{self, Client, Config};
use futures_util::future::try_join_all;

/// Counts in KEYS[1]; the first one starts the window of ARGV[1] milliseconds. How many there were, and how long it
/// lasts.
const COUNT: &str = r"
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return { count, redis.call('PTTL', KEYS[1]) }";

fn main() -> Result<(), Box<dyn Error>> {
    run(&std::env::args().nth(1).ok_or("needs the URL of a server")?)
}

pub(crate) fn run(url: &str) -> Result<(), Box<dyn Error>> {
    let lanes = Lanes::sharded(1)?;
    let limiter = Limiter {
        client: Client::new(Config::from_url(url)?, &lanes)?,
        script: Script::new(COUNT),
        limit: 5,
        window: Duration::from_secs(60),
    };
    lanes.block_on(async {
        // Twenty at once, of whom five may pass.
        let asked = (0..20).map(|_| limiter.ask("ada"));
        let answers = try_join_all(asked).await?;
        let passed = answers.iter().filter(|answer| answer.is_none()).count();
        println!("{passed} of {} passed", answers.len());
        assert_eq!(passed, 5);
        let wait = answers.into_iter().flatten().max();
        println!("the others may try again in {:?}", wait.unwrap_or_default());
        limiter.client.run(keys::del("rate:ada")).await?;
        Ok(())
    })?
}

struct Limiter {
    client: Client,
    script: Script,
    limit: u64,
    window: Duration,
}

impl Limiter {
    /// `None` lets a user pass; otherwise, how long to wait.
    async fn ask(&self, user: &str) -> Result<Option<Duration>, redis::Error> {
        let key = format!("rate:{user}");
        let window = u64::try_from(self.window.as_millis()).unwrap_or(u64::MAX);
        // By its hash; only where the server does not know it, and so has not run it, by its text.
        let call = self.script.call::<(u64, u64)>(&key, window);
        let (count, left) = call
            .run(async |command| self.client.run(command).await)
            .await?;
        Ok((count > self.limit).then(|| Duration::from_millis(left)))
    }
}
