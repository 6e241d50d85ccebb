//! `arknet-lab serve`: the embedded servers as processes of their own.

use std::io::{self, Read as _};
use std::thread;

use arknet_testkit::{mysql, redis};

use super::exit::{End, Failure, print};

/// Which server.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Args {
    /// Speaks Redis on a free loopback port; prints its URL.
    Redis(UntilArgs),
    /// Speaks MySQL on a free loopback port, to root without a password; prints its URL.
    Mysql(UntilArgs),
}

/// How it ends.
#[derive(Debug, clap::Args)]
pub(crate) struct UntilArgs {
    /// End when standard input does; otherwise only a signal ends it.
    #[arg(long)]
    until_input_ends: bool,
}

/// Serves until it is ended.
pub(crate) fn run(args: &Args) -> Result<End, Failure> {
    let starting = |error| Failure::broken(format!("start the server: {error}"));
    match args {
        Args::Redis(until) => {
            let options = redis::Options::default();
            let server = redis::EmbeddedServer::start(options).map_err(starting)?;
            serve(&format!("redis://{}", server.addr()), until)
        }
        Args::Mysql(until) => {
            let options = mysql::Options::default();
            let server = mysql::EmbeddedServer::start(options).map_err(starting)?;
            serve(&format!("mysql://root@{}", server.addr()), until)
        }
    }
}

/// Says where the server is, which ends when this returns.
fn serve(url: &str, until: &UntilArgs) -> Result<End, Failure> {
    print(url)?;
    if until.until_input_ends {
        wait_for_the_end_of_input();
    } else {
        loop {
            thread::park();
        }
    }
    Ok(End::Done)
}

fn wait_for_the_end_of_input() {
    let mut input = io::stdin().lock();
    let mut ignored = [0; 64];
    // An input that cannot be read has ended.
    while input.read(&mut ignored).is_ok_and(|bytes| bytes > 0) {}
}
