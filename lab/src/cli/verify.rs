//! `arknet-lab verify`: whether a session can be believed.

use std::path::PathBuf;

use arknet_lab::run::directory::Directory;
use arknet_lab::run::verify::{Verification, verify};

use super::exit::{End, Failure, print};

/// Which session.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory of the session.
    directory: PathBuf,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

/// Checks and prints; 0 when the records hold, complete or not, 1 when they do not.
pub(crate) fn run(args: &Args) -> Result<End, Failure> {
    if !args.directory.is_dir() {
        return Err(Failure::Usage(format!(
            "{} is not a directory",
            args.directory.display()
        )));
    }
    let directory = Directory::open(&args.directory).map_err(Failure::broken)?;
    let found = verify(&directory);
    if args.json {
        print(&serde_json::to_string(&found).map_err(Failure::broken)?)?;
    } else {
        print(&text(&found))?;
    }
    Ok(if found.ok { End::Done } else { End::Failed })
}

fn text(found: &Verification) -> String {
    let mut lines = vec![
        format!("plan      {} ({})", found.plan, found.plan_hash),
        format!(
            "runs      {} of {}, {} failed",
            found.runs, found.expected, found.failed
        ),
        format!("complete: {}", found.complete),
        format!("last      {}", found.last),
    ];
    lines.extend(found.notes.iter().map(|note| format!("note      {note}")));
    lines.extend(
        found
            .problems
            .iter()
            .map(|problem| format!("PROBLEM   {problem}")),
    );
    lines.push(
        if found.ok {
            "the records verify"
        } else {
            "the records do not verify"
        }
        .to_owned(),
    );
    lines.join("\n")
}
