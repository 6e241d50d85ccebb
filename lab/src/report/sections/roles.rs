//! Processor time by thread role: who spent it.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::model::{CellView, Model};
use crate::report::table::{Table, Text};
use crate::run::record::Run;
use crate::stats::summary::Summary;

use super::figures::{mark, origin, row, runs};

/// Median seconds of every role, both arms; `None` when no run says.
pub(super) fn table(model: &Model<'_>) -> Option<Table> {
    let roles: BTreeSet<String> = model
        .directory
        .runs()
        .flat_map(|run| by_role(run).into_keys())
        .collect();
    if roles.is_empty() {
        return None;
    }
    let [a, b] = model.arms();
    let mut headings = vec!["Group".to_owned(), "Configuration".to_owned()];
    headings.extend(roles.iter().map(|role| format!("{role}: {a} → {b}")));
    headings.push("Runs".to_owned());
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let caption = "Processor seconds by thread role, median of a process";
    let mut table = Table::new("roles", caption, &headings);
    for cell in model.cells.iter().filter(|cell| !cell.excluded()) {
        let mut cells = vec![Text::of(cell.cell.group.clone()), Text::of(mark(cell))];
        cells.extend(roles.iter().map(|role| seconds(cell, role)));
        cells.push(Text::of(runs(cell)));
        table.rows.push(row(cell, cells));
    }
    Some(table)
}

fn seconds(cell: &CellView<'_>, role: &str) -> Text {
    let median = |arm: usize| {
        let values: Option<Vec<f64>> = cell
            .arm(arm)
            .iter()
            .map(|run| by_role(run).get(role).copied())
            .collect();
        values
            .and_then(|values| Summary::of(&values))
            .map(|summary| summary.median)
    };
    let text = |median: Option<f64>| median.map_or("—".to_owned(), |it| format!("{it:.3}"));
    let (a, b) = (median(0), median(1));
    if a.or(b).is_none() {
        return Text::of("—");
    }
    Text {
        sort: a,
        ..Text::of(format!("{} → {}", text(a), text(b)))
    }
    .from_runs(origin(cell))
}

fn by_role(run: &Run) -> BTreeMap<String, f64> {
    let roles = run
        .metrics
        .as_ref()
        .and_then(|metrics| metrics.get("cpu_by_role")?.as_object());
    let pairs = roles.into_iter().flatten();
    pairs
        .filter_map(|(role, value)| Some((role.clone(), value.as_f64()?)))
        .collect()
}
