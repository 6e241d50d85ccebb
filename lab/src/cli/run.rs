//! `arknet-lab run`: follows a plan.

use std::path::PathBuf;

use arknet_lab::run::directory::Directory;
use arknet_lab::run::plan::Plan;

use super::exit::{End, Failure, say};
use super::session;

/// What to run, and where to keep it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A plan's name, or a path that ends in .toml.
    plan: String,
    /// The directory of the session; it must not exist unless --resume is given.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Goes on in a directory that was interrupted.
    #[arg(long)]
    resume: bool,
    /// Only cells whose name contains this.
    #[arg(long, value_name = "CELL")]
    filter: Option<String>,
    /// Pairs per cell, 1 to 100.
    #[arg(long, value_name = "N")]
    repetitions: Option<u32>,
    /// Measured seconds per process, up to 600.
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
}

/// Runs the plan; 0 done, 1 a measurement failed, 130 interrupted.
pub(crate) fn run(args: &Args) -> Result<End, Failure> {
    let plan = args.plan()?;
    let end = session::follow(plan, &args.output, args.resume)?;
    if matches!(end, End::Done | End::Failed) {
        say(&format!(
            "records in {0}; `arknet-lab report {0}` writes the report",
            args.output.display()
        ));
    }
    Ok(end)
}

impl Args {
    /// The plan with the overrides. A resumed session keeps the plan that it was begun with, unless
    /// overrides are given; then they must be the same.
    fn plan(&self) -> Result<Plan, Failure> {
        let asked = Plan::find(&self.plan).map_err(Failure::usage)?;
        let plain = self.filter.is_none() && self.repetitions.is_none() && self.seconds.is_none();
        if self.resume && plain && self.output.exists() {
            let begun = Directory::open(&self.output).map_err(Failure::usage)?.plan;
            if begun.name == asked.name {
                return Ok(begun);
            }
        }
        asked
            .with(self.filter.as_deref(), self.repetitions, self.seconds)
            .map_err(Failure::usage)
    }
}
