//! `arknet-lab plan`: the plans that ship with the lab.

use arknet_lab::run::plan::Plan;
use serde_json::json;

use super::exit::{End, Failure, print};
use super::progress::{estimate, minutes};

/// What to do with plans.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Args {
    /// Names, sizes and titles.
    List {
        /// One JSON array.
        #[arg(long)]
        json: bool,
    },
    /// The whole plan as TOML, and the cells that it makes.
    Show {
        /// The plan's name, or a path that ends in .toml.
        name: String,
    },
}

/// Prints.
pub(crate) fn run(args: &Args) -> Result<End, Failure> {
    match args {
        Args::List { json } => list(*json)?,
        Args::Show { name } => show(name)?,
    }
    Ok(End::Done)
}

fn list(json: bool) -> Result<(), Failure> {
    let plans: Result<Vec<Plan>, _> = Plan::names().map(Plan::find).collect();
    let plans = plans.map_err(Failure::broken)?;
    if json {
        let items: Vec<_> = plans.iter().map(summary).collect();
        return print(&json!(items).to_string());
    }
    for plan in &plans {
        print(&format!(
            "{:<20} {:>3} cells × {} pairs = {:>3} processes, about {:>8}   {}",
            plan.name,
            plan.cells().len(),
            plan.repetitions,
            plan.processes(),
            minutes(estimate(plan)),
            plan.title
        ))?;
    }
    Ok(())
}

fn summary(plan: &Plan) -> serde_json::Value {
    json!({
        "name": plan.name,
        "title": plan.title,
        "cells": plan.cells().len(),
        "repetitions": plan.repetitions,
        "processes": plan.processes(),
        "estimated_seconds": estimate(plan),
    })
}

fn show(name: &str) -> Result<(), Failure> {
    let plan = Plan::find(name).map_err(Failure::usage)?;
    let text = match Plan::text(name) {
        Some(text) => text.to_owned(),
        None => plan.to_toml().map_err(Failure::broken)?,
    };
    print(text.trim_end())?;
    print("\n# cells")?;
    for cell in plan.cells() {
        print(&format!("# {}", cell.name))?;
    }
    Ok(())
}
