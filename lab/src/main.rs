//! The benchmark lab of arknet.
//!
//! Machine output goes to standard output, everything else to standard error. Exit status: 0 done,
//! 1 a measurement failed, 2 usage, 4 too noisy to measure, 130 interrupted.

mod cli;

use std::process::ExitCode;

use clap::Parser;

/// The benchmark lab of arknet: matched pairs in fresh processes, raw records, honest reports.
#[derive(Debug, Parser)]
#[command(version, about)]
enum Command {
    /// The first thing to run: short matched pairs of every workload, under two minutes.
    Quick(cli::quick::Args),
    /// Can this machine measure? Calibration, noise, limits, and what may be claimed here.
    Doctor(cli::doctor::Args),
    /// One process, one configuration, one JSON object on standard output.
    Measure(cli::measure::Args),
    /// An embedded server as a process of its own.
    #[command(subcommand)]
    Serve(cli::serve::Args),
    /// The plans that ship with the lab.
    #[command(subcommand)]
    Plan(cli::plan::Args),
    /// Follows a plan in fresh processes and keeps every record.
    Run(cli::run::Args),
    /// Checks a session: schema, hash chain, counts, exit statuses, standard errors.
    Verify(cli::verify::Args),
    /// Writes the report of a complete session.
    Report(cli::report::Args),
    /// Prints one record.
    Show(cli::inspect::Args),
    /// Prints the exact command and hashes that repeat one record.
    Repro(cli::inspect::Args),
}

fn main() -> ExitCode {
    let exit = match Command::parse() {
        Command::Quick(args) => cli::quick::run(&args),
        Command::Doctor(args) => cli::doctor::run(&args),
        Command::Measure(args) => return cli::measure::run(&args),
        Command::Serve(args) => cli::serve::run(&args),
        Command::Plan(args) => cli::plan::run(&args),
        Command::Run(args) => cli::run::run(&args),
        Command::Verify(args) => cli::verify::run(&args),
        Command::Report(args) => cli::report::run(&args),
        Command::Show(args) => cli::inspect::show(&args),
        Command::Repro(args) => cli::inspect::repro(&args),
    };
    cli::exit::code(exit)
}
