//! Redis clients, ours beside its peers, on a real server.
//!
//! [`work`] names what is done, [`drive`] does it for every library alike, [`peers`] and [`ours`]
//! say how each library does its part, [`variant`] lists who takes part in what, [`crate::meter`] counts.

mod cells;
mod decode;
mod drive;
mod load;
mod ours;
mod peers;
mod seed;
mod variant;
mod work;
mod yardstick;

use std::io;
use std::process::ExitCode;

use arknet_testkit::servers::redis::{Options, RedisServer};
use clap::Args;

pub(crate) use self::load::Load;
use self::variant::Variant;
use self::work::Kind;
pub(crate) use self::yardstick::Figure;
use crate::failure::Failure;
use crate::sample::Sample;
use crate::{cli, print, rounds};

/// A comparison of Redis clients.
#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct Comparison {
    #[command(flatten)]
    how: cli::Comparison,
    /// Only the work whose name contains this, such as `lease`.
    #[arg(long, value_name = "PART")]
    only: Option<String>,
}

/// Starts a server, compares on it, and asks redis-benchmark what the server can do.
///
/// # Errors
///
/// When there is no server, or nothing could be measured at all.
pub(crate) fn compare(wanted: &Comparison) -> Result<ExitCode, Failure> {
    let Comparison { how, only } = wanted;
    let server = start()?;
    rounds::progress(&format!("redis-server {} is started", server.version()));
    let pace = cells::pace(how.short, how.wanted());
    let cells = cells::cells(
        pace,
        how.short,
        how.stand_in.as_deref(),
        only.as_deref(),
        server.addr(),
    )?;
    let status = cli::compare(&cells, pace, how.json)?;
    let figures = yardstick::figures(server.addr(), only.as_deref(), how.short);
    let mut out = io::stdout().lock();
    print::yardstick(&mut out, &figures, how.json).map_err(Failure::io("writing the results"))?;
    Ok(status)
}

/// Runs a variant once in this process.
///
/// # Errors
///
/// When there is no such variant for this work, no server, or the run failed.
pub(crate) fn run_one(variant: &str, load: &Load) -> Result<Sample, Failure> {
    let variant = Variant::find(variant, &load.work.kind)?;
    if matches!(load.work.kind, Kind::Decode(_)) {
        return (variant.run)(load);
    }
    // Kept until the run is over.
    let own = match load.address {
        Some(_) => None,
        None => Some(start()?),
    };
    let address = own.as_ref().map(RedisServer::addr).or(load.address);
    let load = Load {
        address,
        ..load.clone()
    };
    seed::sow(load.server()?)?;
    (variant.run)(&load)
}

fn start() -> Result<RedisServer, Failure> {
    RedisServer::start(Options::default()).map_err(Failure::library("starting a server"))
}
