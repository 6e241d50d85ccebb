//! Publish and subscribe, over a connection that may be lost: what may be missing is said.
//!
//! ```sh
//! cargo run -p arknet --example redis_pubsub -- redis://127.0.0.1:6379
//! ```
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

use std::error::Error;

use arknet::Lanes;
use arknet::redis::commands::pubsub::publish;
use arknet::redis::{Client, Config, Subscriber, SubscriberEvent};

fn main() -> Result<(), Box<dyn Error>> {
    run(&std::env::args().nth(1).ok_or("needs the URL of a server")?)
}

pub(crate) fn run(url: &str) -> Result<(), Box<dyn Error>> {
    let lanes = Lanes::sharded(1)?;
    let config = Config::from_url(url)?;
    let client = Client::new(config.clone(), &lanes)?;
    // A subscriber has a connection of its own, and makes it again when it is lost.
    let mut subscriber = Subscriber::new(config, &lanes)?;
    lanes.block_on(async {
        // Once this is done, the server has confirmed it: nothing that is published from now on is missed.
        subscriber.subscribe(["news"]).await?;
        subscriber.psubscribe(["weather.*"]).await?;

        client.run(publish("news", "it is on")).await?;
        client.run(publish("weather.north", "snow")).await?;
        client.run(publish("news", "that is all")).await?;

        let mut heard = Vec::new();
        while heard.len() < 3 {
            let event = subscriber.recv().await.ok_or("the subscriber has ended")?;
            heard.extend(tell(event));
        }
        assert_eq!(heard, ["it is on", "snow", "that is all"]);
        Ok(())
    })?
}

/// What an event says, and its text if it is a message.
fn tell(event: SubscriberEvent) -> Option<String> {
    match event {
        SubscriberEvent::Message {
            channel, payload, ..
        } => {
            let payload = String::from_utf8_lossy(&payload).into_owned();
            println!("{}: {payload}", String::from_utf8_lossy(&channel));
            Some(payload)
        }
        // Between this and the next message nothing is missing any more: the moment to read a state anew.
        SubscriberEvent::Gap(reason) => {
            println!("something may be missing: {reason}");
            None
        }
        other => {
            println!("{other:?}");
            None
        }
    }
}
