//! Sections become pages.

use std::io;
use std::path::Path;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value, context};
use thiserror::Error;

use super::format;
use super::model::Model;
use super::sections::{self, Section};
use crate::run::directory::{Directory, DirectoryError};
use crate::run::verify::{Verification, verify};

/// A report as text, once a page.
#[derive(Clone, Debug)]
pub struct Pages {
    /// For a repository.
    pub markdown: String,
    /// For a browser.
    pub html: String,
    /// For a program that reads.
    pub llms: String,
}

/// Why there is no report.
#[derive(Debug, Error)]
pub enum ReportError {
    /// Not a session's directory.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The session did not run to its end.
    #[error(
        "the session is not complete: {done} of {expected} runs; finish it with `run --resume`"
    )]
    Incomplete {
        /// Records that are there.
        done: usize,
        /// Processes that the plan asks for.
        expected: usize,
    },
    /// The records cannot be believed.
    #[error("the records do not verify: {0}")]
    Unverifiable(String),
    /// A template is wrong.
    #[error("setting the page: {0}")]
    Template(#[from] minijinja::Error),
    /// A page cannot be written.
    #[error("writing {path}: {source}")]
    Write {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

/// Sets the report of the session in `path`.
///
/// # Errors
/// Refuses a session that is not complete or does not verify.
pub fn report(path: &Path) -> Result<Pages, ReportError> {
    let directory = Directory::open(path)?;
    let verification = verify(&directory);
    if let Some(problem) = verification.problems.first() {
        return Err(ReportError::Unverifiable(problem.clone()));
    }
    if !verification.complete {
        let Verification {
            runs: done,
            expected,
            ..
        } = verification;
        return Err(ReportError::Incomplete { done, expected });
    }
    let model = Model::of(&directory);
    Ok(pages(&model, &verification)?)
}

/// Writes a page.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), ReportError> {
    std::fs::write(path, text).map_err(|source| ReportError::Write {
        path: path.display().to_string(),
        source,
    })
}

fn pages(model: &Model<'_>, verification: &Verification) -> Result<Pages, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_syntax(
        SyntaxConfig::builder()
            .trim_blocks(true)
            .lstrip_blocks(true)
            .build()?,
    );
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_filter("cell", markdown_cell);
    environment.add_template("report.html", include_str!("templates/report.html"))?;
    environment.add_template("report.md", include_str!("templates/report.md"))?;
    environment.add_template("llms.txt", include_str!("templates/llms.txt"))?;
    let sections: Vec<Section> = sections::all(model);
    let plan = &model.directory.plan;
    let noisy = model
        .directory
        .runs()
        .filter(|run| !run.noisy.is_empty())
        .count();
    let context = context! {
        title => plan.title.clone(),
        plan => plan.name.clone(),
        groups => model.groups().into_iter().map(str::to_owned).collect::<Vec<_>>(),
        sections => Value::from(Serde(&sections)),
        runs => verification.runs,
        failed => verification.failed,
        noisy => noisy,
        cells => model.cells.len(),
        pairs => plan.repetitions,
        messages => format::count(messages(model)),
        started => model.directory.sessions().next().map(|session| session.started.clone()),
        last => verification.last.clone(),
        css => include_str!("templates/report.css"),
        script => include_str!("templates/report.js"),
    };
    Ok(Pages {
        markdown: environment.get_template("report.md")?.render(&context)?,
        html: environment.get_template("report.html")?.render(&context)?,
        llms: environment.get_template("llms.txt")?.render(&context)?,
    })
}

fn messages(model: &Model<'_>) -> u64 {
    let runs = model.directory.runs();
    runs.filter_map(|run| run.metrics.as_ref()?.get("messages")?.as_u64())
        .sum()
}

/// A text that cannot end its table cell.
fn markdown_cell(text: String) -> String {
    text.replace('|', "\\|")
        .replace(['\n', '\r'], " ")
        .replace('<', "&lt;")
}
