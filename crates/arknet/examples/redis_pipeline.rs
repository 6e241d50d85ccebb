//! Several commands in one flight, each with a result of its own.
//!
//! ```sh
//! cargo run -p arknet --example redis_pipeline -- redis://127.0.0.1:6379
//! ```
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

use std::error::Error;

use arknet::Lanes;
use arknet::redis::commands::{keys, lists, strings};
use arknet::redis::{self, Client, Config, FromReplies, pipeline};

fn main() -> Result<(), Box<dyn Error>> {
    run(&std::env::args().nth(1).ok_or("needs the URL of a server")?)
}

pub(crate) fn run(url: &str) -> Result<(), Box<dyn Error>> {
    let lanes = Lanes::sharded(1)?;
    let client = Client::new(Config::from_url(url)?, &lanes)?;
    lanes.block_on(pipelines(&client))?
}

#[derive(FromReplies)]
struct Page {
    title: Result<Option<String>, redis::Error>,
    views: Result<i64, redis::Error>,
}

async fn pipelines(client: &Client) -> Result<(), Box<dyn Error>> {
    // A tuple, with the type of each reply.
    let first = pipeline()
        .add(strings::set("page:title", "Pipelines"))
        .add(strings::incr("page:views"));
    let (set, views) = client.run(first).await;
    set?;
    println!("viewed {} times", views?);

    // The same with names.
    let page = pipeline()
        .add(strings::get("page:title"))
        .add(strings::incr("page:views"))
        .named::<Page>();
    let page = client.run(page).await;
    println!("{:?}, viewed {} times", page.title?, page.views?);

    // As many of a kind as there are. One that fails does not stop the others.
    let all = ["page:title", "page:views"].map(strings::incr);
    for result in client.run(pipeline().extend(all)).await {
        match result {
            Ok(views) => println!("viewed {views} times"),
            Err(error) => println!("a title is no number: {error}"),
        }
    }

    // With nobody else's commands in between: all of it is carried out, or none.
    let both = pipeline()
        .add(strings::set("page:title", "Atoms"))
        .add(lists::rpush("page:history", "renamed"))
        .atomic();
    let (set, pushed) = client.run(both).await?;
    set?;
    assert_eq!(pushed?, 1);

    client
        .run(keys::del(["page:title", "page:views", "page:history"]))
        .await?;
    Ok(())
}
