//! A table as both kinds of report show it.

use serde::Serialize;

/// Columns, rows, and what each cell sorts and traces by.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// Anchor; unique in a report.
    pub id: String,
    /// One line above it.
    pub caption: String,
    /// Headings.
    pub columns: Vec<Column>,
    /// Rows.
    pub rows: Vec<Row>,
}

/// A column's heading.
#[derive(Clone, Debug, Serialize)]
pub struct Column {
    /// Its text.
    pub title: String,
    /// Whether its cells are numbers: aligned right and sorted by value.
    pub numeric: bool,
}

/// One row.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    /// What a filter looks for.
    pub key: String,
    /// Heading that it belongs to.
    pub group: String,
    /// Whether one of its runs is marked noisy.
    pub noisy: bool,
    /// Whether it is left out of the summaries.
    pub excluded: bool,
    /// Its cells.
    pub cells: Vec<Text>,
}

/// One cell.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Text {
    /// What is read.
    pub text: String,
    /// What is sorted by.
    pub sort: Option<f64>,
    /// Where it comes from: the ids of its runs.
    pub title: String,
    /// `good`, `bad`, `mark` or nothing.
    pub class: &'static str,
    /// Whether it is set as code.
    pub code: bool,
}

impl Table {
    /// An empty table. A heading that ends in `#` is a numeric column.
    #[must_use]
    pub fn new(id: &str, caption: &str, headings: &[&str]) -> Self {
        let column = |heading: &&str| match heading.strip_suffix('#') {
            Some(title) => Column {
                title: title.to_owned(),
                numeric: true,
            },
            None => Column {
                title: (*heading).to_owned(),
                numeric: false,
            },
        };
        Self {
            id: id.to_owned(),
            caption: caption.to_owned(),
            columns: headings.iter().map(column).collect(),
            rows: Vec::new(),
        }
    }
}

impl Text {
    /// Words.
    #[must_use]
    pub fn of(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A number that sorts by its value.
    #[must_use]
    pub fn number(text: impl Into<String>, sort: f64) -> Self {
        Self {
            text: text.into(),
            sort: Some(sort),
            ..Self::default()
        }
    }

    /// Words set as code.
    #[must_use]
    pub fn code(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            code: true,
            ..Self::default()
        }
    }

    /// With its origin.
    #[must_use]
    pub fn from_runs(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// With a class.
    #[must_use]
    pub fn class(mut self, class: &'static str) -> Self {
        self.class = class;
        self
    }
}
