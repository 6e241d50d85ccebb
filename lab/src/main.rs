//! The benchmark lab of arknet.
//!
//! Machine output goes to standard output, everything else to standard error. Exit status: 0 done,
//! 1 a measurement failed, 2 usage.

mod cli;

use std::process::ExitCode;

use clap::Parser;

/// The benchmark lab of arknet.
#[derive(Debug, Parser)]
#[command(version, about)]
enum Command {
    /// One process, one configuration, one JSON object on standard output.
    Measure(cli::measure::Args),
}

fn main() -> ExitCode {
    match Command::parse() {
        Command::Measure(args) => cli::measure::run(&args),
    }
}
