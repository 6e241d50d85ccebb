//! `arknet-lab report`: the pages of a complete session.

use std::path::{Path, PathBuf};

use arknet_lab::report::render::{self, Pages};

use super::exit::{End, Failure, say};

/// Which session, and where the pages go.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The directory of the session.
    directory: PathBuf,
    /// Writes the Markdown page here, and only the pages that are named.
    #[arg(long, value_name = "F")]
    markdown: Option<PathBuf>,
    /// Writes the HTML page here, and only the pages that are named.
    #[arg(long, value_name = "F")]
    html: Option<PathBuf>,
}

/// Writes the pages; refuses a session that is not complete or does not verify.
pub(crate) fn run(args: &Args) -> Result<End, Failure> {
    if !args.directory.is_dir() {
        return Err(Failure::Usage(format!(
            "{} is not a directory",
            args.directory.display()
        )));
    }
    let pages = render::report(&args.directory).map_err(Failure::broken)?;
    if args.markdown.is_none() && args.html.is_none() {
        write(&args.directory, &pages)?;
        return Ok(End::Done);
    }
    for (path, text) in [(&args.markdown, &pages.markdown), (&args.html, &pages.html)] {
        if let Some(path) = path {
            page(path, text)?;
            page(&path.with_file_name("llms.txt"), &pages.llms)?;
        }
    }
    Ok(End::Done)
}

/// Writes every page under its usual name.
pub(crate) fn write(directory: &Path, pages: &Pages) -> Result<(), Failure> {
    page(&directory.join("report.md"), &pages.markdown)?;
    page(&directory.join("report.html"), &pages.html)?;
    page(&directory.join("llms.txt"), &pages.llms)
}

fn page(path: &Path, text: &str) -> Result<(), Failure> {
    render::write(path, text).map_err(Failure::broken)?;
    say(&format!("wrote {}", path.display()));
    Ok(())
}
