//! The lab's work on other libraries, measured together with ours, so that a ratio comes from one
//! run on one machine.
//!
//! [`echo`], [`redis`] and [`mysql`] say who takes part in what, [`cell`] is what they say it in, [`rounds`]
//! runs it in an order that alternates, [`child`] each run in a process of its own, [`ratio`]
//! compares.

mod asio;
mod cell;
mod child;
mod cli;
mod echo;
mod failure;
mod load;
mod machine;
mod meter;
mod mysql;
mod place;
mod print;
mod ratio;
mod redis;
mod rounds;
mod sample;
mod variant;

use std::process::ExitCode;

use arknet_lab::measure;
use clap::Parser as _;

use crate::failure::Failure;

fn main() -> ExitCode {
    match cli::Cli::parse().run() {
        Ok(status) => status,
        Err(error) => {
            rounds::progress(&format!("arknet-rivals: {error}"));
            match error {
                Failure::Usage(_) | Failure::Lab(measure::Error::Config(_)) => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}
