//! The command line.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::asio::{self, Program};
use crate::cell::{Cell, Pace};
use crate::failure::Failure;
use crate::load::{Load, Protocol};
use crate::sample::Sample;
use crate::variant::{How, Variant};
use crate::{echo, mysql, print, ratio, redis, rounds};

/// Most rounds that can be asked for: a day of them.
const MOST_ROUNDS: u64 = 1000;

/// The same work on arknet and on its rivals, alternating, as ratios.
///
/// Exit status: 0 done, also when a peer could not be had; 1 a run failed; 2 usage.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// TCP against raw epoll, mio, bare tokio and Boost.Asio.
    ///
    /// On two threads ours, mio and tokio keep a connection's two ends on one thread; Boost.Asio runs
    /// one context on both, with a strand for each socket.
    Tcp(Comparison),
    /// TLS against tokio-rustls, written plainly and written with care.
    Tls(Comparison),
    /// Redis clients against redis, fred and rustis; leases also against bb8-redis and deadpool-redis.
    ///
    /// Starts a redis-server of its own. CPU is that of the client process alone. A current-thread
    /// runtime unless the work says ` 2 threads`.
    Redis(redis::Comparison),
    /// MySQL clients against mysql_async and sqlx.
    ///
    /// Starts a MariaDB of its own, and a MySQL where `scripts/servers mysql` has unpacked one. CPU is
    /// that of the client process alone, in a current-thread runtime. Of a scan, an operation is a row.
    Mysql(mysql::Comparison),
    /// One run in this process: what the comparisons start.
    #[command(hide = true)]
    RunOne {
        protocol: Protocol,
        variant: String,
        #[command(flatten)]
        load: Load,
    },
    /// One run of a Redis client in this process.
    #[command(hide = true)]
    RunRedis {
        variant: String,
        #[command(flatten)]
        load: redis::Load,
    },
    /// One run of a MySQL client in this process.
    #[command(hide = true)]
    RunMysql {
        variant: String,
        #[command(flatten)]
        load: mysql::Load,
    },
}

/// How a comparison is made and printed.
#[derive(Debug, Args)]
pub(crate) struct Comparison {
    /// Shorter runs and fewer rounds: three minutes at most.
    #[arg(long)]
    pub(crate) short: bool,
    /// One JSON object a pair on standard output, a line each, instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
    /// Rounds; each runs everybody once. [default: 7, or 5 when short]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=MOST_ROUNDS))]
    pub(crate) rounds: Option<u64>,
    /// Let this peer take our place: against itself, it shows the noise of this machine.
    #[arg(long, value_name = "PEER", hide = true)]
    pub(crate) stand_in: Option<String>,
}

impl Cli {
    /// Does what was asked.
    ///
    /// # Errors
    ///
    /// When nothing could be measured at all; failed runs among others are in the exit status.
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Tcp(comparison) => compare_echo(Protocol::Tcp, &comparison),
            Command::Tls(comparison) => compare_echo(Protocol::Tls, &comparison),
            Command::Redis(comparison) => redis::compare(&comparison),
            Command::Mysql(comparison) => mysql::compare(&comparison),
            Command::RunOne {
                protocol,
                variant,
                load,
            } => run_one(protocol, &variant, &load),
            Command::RunRedis { variant, load } => print_sample(redis::run_one(&variant, &load)?),
            Command::RunMysql { variant, load } => print_sample(mysql::run_one(&variant, &load)?),
        }
    }
}

impl Comparison {
    /// The rounds that the user named.
    pub(crate) fn wanted(&self) -> Option<usize> {
        self.rounds.and_then(|rounds| usize::try_from(rounds).ok())
    }
}

fn compare_echo(protocol: Protocol, wanted: &Comparison) -> Result<ExitCode, Failure> {
    let stand_in = wanted
        .stand_in
        .as_deref()
        .map(|name| find(protocol, name))
        .transpose()?;
    let pace = echo::pace(wanted.short, wanted.wanted());
    let asio = match protocol {
        Protocol::Tcp => prepare_asio()?,
        Protocol::Tls => Program::Missing("not asked for".to_owned()),
    };
    let cells = echo::cells(protocol, pace, stand_in, &asio);
    compare(&cells, pace, wanted.json)
}

/// Runs all rounds and prints what came out; 0 when every run succeeded, otherwise 1.
///
/// # Errors
///
/// When standard output is gone.
pub(crate) fn compare(cells: &[Cell], pace: Pace, json: bool) -> Result<ExitCode, Failure> {
    rounds::announce_missing(cells);
    let outcome = rounds::run(cells, pace);
    let lines = ratio::lines(cells, &outcome);
    let mut out = io::stdout().lock();
    let written = if json {
        print::json(&mut out, &lines)
    } else {
        print::tables(&mut out, cells, &outcome, &lines)
    };
    written.map_err(Failure::io("writing the results"))?;
    Ok(if outcome.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn prepare_asio() -> Result<Program, Failure> {
    rounds::progress("looking for the Boost.Asio program; compiling it takes half a minute, once");
    asio::program()
}

fn run_one(protocol: Protocol, variant: &str, load: &Load) -> Result<ExitCode, Failure> {
    let variant = find(protocol, variant)?;
    let How::Here(run) = variant.how else {
        return Err(Failure::Usage(format!(
            "{} does not run in this binary",
            variant.name
        )));
    };
    print_sample(run(load)?)
}

fn print_sample(sample: Sample) -> Result<ExitCode, Failure> {
    serde_json::to_writer(io::stdout(), &sample)
        .map_err(io::Error::from)
        .and_then(|()| writeln!(io::stdout()))
        .map_err(Failure::io("writing the sample"))?;
    Ok(if sample.is_valid() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn find(protocol: Protocol, name: &str) -> Result<&'static Variant, Failure> {
    let all = Variant::all(protocol);
    all.iter()
        .find(|variant| variant.name == name)
        .ok_or_else(|| {
            let names = all
                .iter()
                .map(|variant| variant.name)
                .collect::<Vec<_>>()
                .join(", ");
            Failure::Usage(format!(
                "no variant of {protocol} is called {name}; there are {names}"
            ))
        })
}
