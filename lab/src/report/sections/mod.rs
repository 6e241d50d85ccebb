//! What a report says, in the order of the original reports, before it is set as any kind of page.

mod about;
mod figures;
mod fitness;
mod records;
mod roles;
mod verdicts;

use serde::Serialize;

use super::model::Model;
use super::table::Table;

/// A chapter of the report.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Section {
    /// Anchor.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What is said first.
    pub paragraphs: Vec<String>,
    /// Charts as SVG; only the HTML page has them.
    pub charts: Vec<Chart>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Things to know, one a line.
    pub points: Vec<String>,
    /// Commands.
    pub code: String,
}

/// A chart with its caption.
#[derive(Clone, Debug, Serialize)]
pub struct Chart {
    /// What it shows.
    pub caption: String,
    /// The picture.
    pub svg: String,
}

impl Section {
    fn new(id: &str, title: &str) -> Self {
        Self {
            id: id.to_owned(),
            title: title.to_owned(),
            ..Self::default()
        }
    }
}

/// Every section of a report.
#[must_use]
pub fn all(model: &Model<'_>) -> Vec<Section> {
    let mut sections = vec![
        about::asked(model),
        fitness::fitness(model),
        verdicts::verdicts(model),
    ];
    sections.extend(figures::figures(model));
    sections.push(figures::all_data(model));
    sections.push(about::scope(model));
    sections.push(records::counts(model));
    sections.push(records::failures(model));
    sections.push(about::reproduce(model));
    sections.push(about::limits(model));
    sections
}
