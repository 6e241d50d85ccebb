//! `arknet-lab show` and `arknet-lab repro`: one record, and how to repeat it.

use std::path::PathBuf;

use arknet_lab::run::chain;
use arknet_lab::run::directory::Directory;
use arknet_lab::run::record::{Run, Session};

use super::exit::{End, Failure, print};

/// Which record.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory of the session.
    directory: PathBuf,
    /// The run, as r0007.
    run: String,
}

impl Args {
    fn open(&self) -> Result<Directory, Failure> {
        Directory::open(&self.directory).map_err(Failure::usage)
    }

    fn find<'a>(&self, directory: &'a Directory) -> Result<&'a Run, Failure> {
        directory
            .runs()
            .find(|run| run.id == self.run)
            .ok_or_else(|| {
                let known: Vec<&str> = directory.runs().map(|run| run.id.as_str()).collect();
                let known = match (known.first(), known.last()) {
                    (Some(first), Some(last)) => format!("they go from {first} to {last}"),
                    _ => "there are none".to_owned(),
                };
                Failure::Usage(format!(
                    "{} has no run {}; {known}",
                    self.directory.display(),
                    self.run
                ))
            })
    }
}

/// Prints the record as JSON.
pub(crate) fn show(args: &Args) -> Result<End, Failure> {
    let directory = args.open()?;
    let run = args.find(&directory)?;
    print(&serde_json::to_string_pretty(run).map_err(Failure::broken)?)?;
    Ok(End::Done)
}

/// Prints the command that repeats the record, as a shell takes it.
pub(crate) fn repro(args: &Args) -> Result<End, Failure> {
    let directory = args.open()?;
    let run = args.find(&directory)?;
    let session = directory
        .sessions()
        .find(|session| session.id == run.session);
    for line in session
        .map(|session| provenance(&directory, session))
        .unwrap_or_default()
    {
        print(&line)?;
    }
    let mut words = vec!["env".to_owned(), "-i".to_owned()];
    words.extend(
        run.env
            .iter()
            .map(|(name, value)| format!("{name}={}", quoted(value))),
    );
    words.extend(run.argv.iter().map(|word| quoted(word)));
    print(&words.join(" "))?;
    Ok(End::Done)
}

fn provenance(directory: &Directory, session: &Session) -> Vec<String> {
    let build = &session.build;
    let here = std::env::current_exe()
        .and_then(std::fs::read)
        .map(|bytes| chain::hash(&bytes));
    let same = match here {
        Ok(hash) if hash == session.binary => "this program",
        Ok(_) => "not this program; build that commit",
        Err(_) => "unknown whether this program",
    };
    vec![
        format!("# plan    {} {}", directory.plan.name, directory.plan_hash),
        format!("# binary  {} ({same})", session.binary),
        format!("# lock    {}", build.lock),
        format!(
            "# commit  {} (changed files: {})",
            build.commit, build.dirty
        ),
        format!(
            "# built   {} {} {}",
            build.rustc, build.profile, build.target
        ),
    ]
}

/// A word that a shell takes as one.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,~".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
