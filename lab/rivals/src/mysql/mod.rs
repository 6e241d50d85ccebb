//! MySQL clients, ours beside its peers, on real servers: MariaDB, and MySQL where it is.
//!
//! [`work`] names what is done, [`drive`] does it for every library alike, [`peers`] and [`ours`]
//! say how each library does its part, [`variant`] lists who takes part in what.

mod cells;
mod drive;
mod load;
mod ours;
mod peers;
mod seed;
mod variant;
mod work;

use std::process::ExitCode;

use arknet_testkit::servers::mysql::{MySqlServer, Options, Product};
use clap::Args;

pub(crate) use self::load::Load;
use self::load::Place;
use self::variant::Variant;
use crate::failure::Failure;
use crate::sample::Sample;
use crate::{cli, rounds};

/// A comparison of MySQL clients.
#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct Comparison {
    #[command(flatten)]
    how: cli::Comparison,
    /// Only the work whose name contains this, such as `lease`.
    #[arg(long, value_name = "PART")]
    only: Option<String>,
}

/// The servers that are compared on; the first must be there.
const PRODUCTS: [Product; 2] = [Product::MariaDb, Product::MySql];

/// Starts the servers and compares on each.
///
/// # Errors
///
/// When there is no MariaDB, or nothing could be measured at all.
pub(crate) fn compare(wanted: &Comparison) -> Result<ExitCode, Failure> {
    let Comparison { how, only } = wanted;
    let pace = cells::pace(how.short, how.wanted());
    let mut servers = Vec::new();
    for product in PRODUCTS {
        match MySqlServer::start(options(product)) {
            Ok(server) => {
                rounds::progress(&format!("{} is started", server.version()));
                seed::sow(&server);
                servers.push(server);
            }
            Err(absent) if servers.is_empty() => {
                return Err(Failure::library("starting a server")(absent));
            }
            Err(absent) => rounds::progress(&format!("left out: {absent}")),
        }
    }
    let places = servers.iter().map(Place::of).collect::<Vec<_>>();
    let cells = cells::cells(pace, how.stand_in.as_deref(), only.as_deref(), &places)?;
    cli::compare(&cells, pace, how.json)
}

/// Runs a variant once in this process.
///
/// # Errors
///
/// When there is no such variant for this work, no server, or the run failed.
pub(crate) fn run_one(variant: &str, load: &Load) -> Result<Sample, Failure> {
    let variant = Variant::find(variant, &load.work.kind)?;
    if load.place().is_ok() {
        return (variant.run)(load);
    }
    let product = load.product;
    let server = MySqlServer::start(options(product));
    let server = server.map_err(Failure::library("starting a server"))?;
    seed::sow(&server);
    (variant.run)(&load.at(Place::of(&server)))
}

/// A server that has the table of the scans in memory.
fn options(product: Product) -> Options {
    Options::new(product).argument("--innodb-buffer-pool-size=256M")
}
