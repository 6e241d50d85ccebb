//! The table that `quick` prints.

use arknet_lab::report::figure::{FIGURES, Figure};
use arknet_lab::report::format;
use arknet_lab::report::model::{Arm, CellView, Model};
use arknet_lab::run::directory::Directory;

/// Figures that fit on a terminal.
const SHOWN: [&str; 4] = [
    "roundtrips_per_second",
    "cpu_ns_per_message",
    "rtt_p50_us",
    "rtt_p99_us",
];

/// One line a cell: medians of both arms, change, verdict.
pub(crate) fn table(directory: &Directory) -> String {
    let model = Model::of(directory);
    let [a, b] = model.arms();
    let figures: Vec<&Figure> = FIGURES
        .iter()
        .filter(|figure| SHOWN.contains(&figure.key))
        .collect();
    let mut rows = vec![heading(&figures)];
    rows.extend(model.cells.iter().map(|cell| row(cell, &figures)));
    let mut lines = aligned(&rows);
    lines.push(String::new());
    lines.push(format!(
        "Medians of fresh processes, {a} → {b}. {}",
        footnote(&model)
    ));
    lines.join("\n")
}

fn heading(figures: &[&Figure]) -> Vec<String> {
    let mut cells = vec!["Workload".to_owned(), "In flight".to_owned()];
    cells.extend(figures.iter().map(|figure| figure.column.to_owned()));
    cells.extend(["Change", "Overlap", "Verdict"].map(str::to_owned));
    cells
}

fn row(cell: &CellView<'_>, figures: &[&Figure]) -> Vec<String> {
    let mut cells = vec![
        cell.cell.group.clone(),
        cell.cell.workload.in_flight().to_string(),
    ];
    for figure in figures {
        cells.push(match cell.compare(figure) {
            Some(both) => format!("{} → {}", median(&both.a), median(&both.b)),
            None => "failed".to_owned(),
        });
    }
    let primary = figures
        .first()
        .and_then(|figure| cell.compare(figure)?.of_medians);
    cells.push(primary.map_or("—".to_owned(), |it| {
        format::percent_change(it.change_percent())
    }));
    cells.push(
        primary
            .map_or("—", |it| if it.overlap { "yes" } else { "no" })
            .to_owned(),
    );
    cells.push(cell.verdict.word().to_owned());
    cells
}

fn median(arm: &Arm) -> String {
    match arm {
        Arm::Known(summary) => format::number(summary.median),
        Arm::TooFew(_) => "†".to_owned(),
        Arm::Missing => "—".to_owned(),
    }
}

fn footnote(model: &Model<'_>) -> String {
    let noisy = model
        .directory
        .runs()
        .filter(|run| !run.noisy.is_empty())
        .count();
    let all = model.directory.runs().count();
    let mut text = String::from("Change is that of throughput, a ratio of medians.");
    if let Some(cell) = model.cells.iter().find(|cell| !cell.excluded()) {
        text.push_str(&format!(" Inconclusive: {}.", cell.verdict.reason()));
    }
    if noisy > 0 {
        text.push_str(&format!(
            " {noisy} of {all} runs were noisy: trust CPU per message first."
        ));
    }
    text
}

/// Columns as wide as their widest cell; the first to the left, the rest to the right.
fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..columns)
        .map(|column| width(column).unwrap_or(0))
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, width))| {
                let padding = " ".repeat(width.saturating_sub(cell.chars().count()));
                if column == 0 {
                    format!("{cell}{padding}")
                } else {
                    format!("{padding}{cell}")
                }
            });
        cells.collect::<Vec<_>>().join("  ")
    };
    rows.iter().map(line).collect()
}
