//! `arknet-lab quick`: the first thing anyone runs.

use std::path::{Path, PathBuf};

use arknet_lab::report::render;
use arknet_lab::run::directory::{Directory, RUNS_FILE};
use arknet_lab::run::plan::Plan;

use super::exit::{End, Failure, print, say};
use super::{report, session, terminal};

/// Where the session is kept unless told otherwise.
const DEFAULT: &str = "target/arknet-quick";
/// Sessions of the default directory that are kept beside the newest.
const KEPT: u32 = 999;

/// Where to keep it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory of the session, which must not exist [default: target/arknet-quick, where an
    /// earlier session is moved aside].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Measures, prints a table and writes the report; 0 done, 1 a measurement failed.
pub(crate) fn run(args: &Args) -> Result<End, Failure> {
    let directory = match &args.out {
        Some(directory) => directory.clone(),
        None => {
            let directory = PathBuf::from(DEFAULT);
            move_aside(&directory)?;
            directory
        }
    };
    let plan = Plan::find("quick").map_err(Failure::broken)?;
    let end = session::follow(plan, &directory, false)?;
    if end == End::Interrupted {
        return Ok(end);
    }
    let pages = render::report(&directory).map_err(Failure::broken)?;
    report::write(&directory, &pages)?;
    let session = Directory::open(&directory).map_err(Failure::broken)?;
    print(&terminal::table(&session))?;
    say(&format!(
        "report: {}",
        directory.join("report.html").display()
    ));
    Ok(end)
}

/// Renames an earlier session to the first free number: nothing that was measured is deleted.
fn move_aside(directory: &Path) -> Result<(), Failure> {
    if !directory.exists() {
        return Ok(());
    }
    if !directory.join(RUNS_FILE).exists() {
        let text = format!(
            "{} exists and is not a session of the lab",
            directory.display()
        );
        return Err(Failure::Usage(text));
    }
    for number in 1..=KEPT {
        let aside = PathBuf::from(format!("{}-{number}", directory.display()));
        if !aside.exists() {
            say(&format!(
                "the earlier session is now in {}",
                aside.display()
            ));
            return std::fs::rename(directory, &aside).map_err(|error| {
                Failure::broken(format!("moving {}: {error}", directory.display()))
            });
        }
    }
    Err(Failure::Usage(format!(
        "{KEPT} earlier sessions lie beside {}",
        directory.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_session_is_moved_aside_and_nothing_else_is() {
        let root = std::env::temp_dir().join(format!("arknet-quick-{}", std::process::id()));
        let directory = root.join("quick");
        std::fs::create_dir_all(&directory).unwrap();
        assert!(matches!(move_aside(&directory), Err(Failure::Usage(_))));
        assert!(directory.exists());
        for session in ["first", "second"] {
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join(RUNS_FILE), session).unwrap();
            move_aside(&directory).unwrap();
            assert!(!directory.exists());
        }
        let kept = std::fs::read_to_string(root.join("quick-2").join(RUNS_FILE)).unwrap();
        assert_eq!(kept, "second");
        std::fs::remove_dir_all(root).unwrap();
    }
}
