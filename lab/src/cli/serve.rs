//! `arknet-lab serve`: the embedded servers as processes of their own.

use std::io::{self, Read as _};
use std::thread;

use arknet_testkit::redis::{EmbeddedServer, Options};

use super::exit::{End, Failure, print};

/// Which server.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Args {
    /// Speaks Redis on a free loopback port; prints its URL.
    Redis(RedisArgs),
}

/// How it ends.
#[derive(Debug, clap::Args)]
pub(crate) struct RedisArgs {
    /// End when standard input does; otherwise only a signal ends it.
    #[arg(long)]
    until_input_ends: bool,
}

/// Serves until it is ended.
pub(crate) fn run(args: &Args) -> Result<End, Failure> {
    let Args::Redis(redis) = args;
    let server = EmbeddedServer::start(Options::default())
        .map_err(|error| Failure::broken(format!("start the server: {error}")))?;
    print(&format!("redis://{}", server.addr()))?;
    if redis.until_input_ends {
        wait_for_the_end_of_input();
    } else {
        loop {
            thread::park();
        }
    }
    drop(server);
    Ok(End::Done)
}

fn wait_for_the_end_of_input() {
    let mut input = io::stdin().lock();
    let mut ignored = [0; 64];
    // An input that cannot be read has ended.
    while input.read(&mut ignored).is_ok_and(|bytes| bytes > 0) {}
}
