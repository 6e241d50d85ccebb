//! Values of a Redis server, read as whatever type is asked for.
//!
//! ```sh
//! cargo run -p arknet --example redis_get_set -- redis://127.0.0.1:6379
//! ```
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

use std::collections::BTreeMap;
use std::error::Error;

use arknet::Lanes;
use arknet::redis::commands::{hashes, keys, strings};
use arknet::redis::{Client, Config, cmd};

fn main() -> Result<(), Box<dyn Error>> {
    run(&std::env::args().nth(1).ok_or("needs the URL of a server")?)
}

pub(crate) fn run(url: &str) -> Result<(), Box<dyn Error>> {
    let lanes = Lanes::sharded(1)?;
    let client = Client::new(Config::from_url(url)?, &lanes)?;
    lanes.block_on(values(&client))?
}

async fn values(client: &Client) -> Result<(), Box<dyn Error>> {
    // Nothing is sent before the await, and the reply is decoded to the type that is wanted.
    client.run(strings::set("greeting", "hello")).await?;
    let greeting: String = client.run(strings::get("greeting")).await?;
    assert_eq!(greeting, "hello");

    // What may be missing is an `Option`; a type that does not fit is an error, not a guess.
    let nothing: Option<String> = client.run(strings::get("nobody")).await?;
    assert_eq!(nothing, None);
    if let Err(error) = client.run(strings::get::<u64>("greeting")).await {
        println!("as expected: {error}");
    }

    client.run(strings::set("visits", 41)).await?;
    println!("visits: {}", client.run(strings::incr("visits")).await?);

    // Keys and values are bytes; maps, lists and tuples are read as such.
    let fields = [("name", "Ada"), ("language", "Rust")];
    client.run(hashes::hset("user:1", fields)).await?;
    let user: BTreeMap<String, String> = client.run(hashes::hgetall("user:1")).await?;
    println!("{user:?}");

    // Every command has a name, also one that has no function here.
    let kind: String = client.run(cmd("TYPE").arg("user:1")).await?;
    assert_eq!(kind, "hash");

    let gone = ["greeting", "visits", "user:1"];
    assert_eq!(client.run(keys::del(gone)).await?, 3);
    Ok(())
}
