//! A section for every figure: bars with whiskers, and a table in the originals' columns.

use crate::report::figure::{FIGURES, Figure};
use crate::report::format;
use crate::report::histogram::Curve;
use crate::report::model::{Arm, CellView, Compared, Model};
use crate::report::svg::{Bar, BarRow, QuantilePanel, bars, quantiles};
use crate::report::table::{Row, Table, Text};
use crate::run::workload::Workload;

use super::{Chart, Section};

/// One section a figure.
pub(super) fn figures(model: &Model<'_>) -> Vec<Section> {
    FIGURES
        .iter()
        .map(|figure| section(model, figure))
        .collect()
}

fn section(model: &Model<'_>, figure: &Figure) -> Section {
    let mut section = Section::new(figure.key, figure.title);
    section.paragraphs.push(format!(
        "{} Bars show the median of fresh processes; whiskers show min–max. Each panel has a scale of its own.",
        figure.reading
    ));
    if figure.quantile.is_some() {
        section.paragraphs.push(
            "† stands for a percentile with fewer than 50 samples above it in some run; it is not quoted."
                .to_owned(),
        );
    }
    section.charts = panels(model, figure);
    if figure.key == "rtt_p99_us" {
        section.charts.extend(curves(model));
    }
    section.tables.push(table(model, figure));
    if figure.key == "cpu_percent" {
        section.tables.extend(super::roles::table(model));
    }
    section
}

/// One panel for each group and amount of work: their scales differ by orders of magnitude.
fn panels(model: &Model<'_>, figure: &Figure) -> Vec<Chart> {
    let mut charts = Vec::new();
    for (heading, cells) in split(model) {
        let rows: Vec<BarRow> = cells.iter().map(|cell| bar_row(cell, figure)).collect();
        // Where no percentile can be quoted there is nothing to draw; the table says why.
        let drawn = |row: &BarRow| row.failed || row.bars.iter().any(|bar| bar.summary.is_some());
        if !rows.iter().any(drawn) {
            continue;
        }
        let caption = format!("{heading}: {}", figure.title);
        let svg = bars(&caption, figure.column, &model.arms(), &rows);
        charts.push(Chart { caption, svg });
    }
    charts
}

fn split<'m, 'a>(model: &'m Model<'a>) -> Vec<(String, Vec<&'m CellView<'a>>)> {
    let mut panels: Vec<(String, Vec<&CellView<'a>>)> = Vec::new();
    for cell in &model.cells {
        let heading = match &cell.cell.workload {
            Workload::Transport(transport) => {
                format!("{} · work {}", cell.cell.group, transport.work)
            }
            Workload::Database(_) => cell.cell.group.clone(),
        };
        match panels.iter_mut().find(|(known, _)| *known == heading) {
            Some((_, cells)) => cells.push(cell),
            None => panels.push((heading, vec![cell])),
        }
    }
    panels
}

fn bar_row(cell: &CellView<'_>, figure: &Figure) -> BarRow {
    let compared = cell.compare(figure);
    let bar = |arm: usize| {
        let side = compared
            .as_ref()
            .map(|both| if arm == 0 { &both.a } else { &both.b });
        Bar {
            summary: side.and_then(Arm::summary).copied(),
            hint: match side {
                Some(Arm::Known(_)) => arm_origin(cell, arm),
                Some(side) => arm_text(side),
                None => "failed".to_owned(),
            },
        }
    };
    BarRow {
        label: cell.label(),
        bars: [bar(0), bar(1)],
        failed: cell.excluded(),
    }
}

/// Quantile curves of every cell that has histograms.
fn curves(model: &Model<'_>) -> Vec<Chart> {
    let mut charts = Vec::new();
    for (heading, cells) in split(model) {
        let panels: Vec<QuantilePanel> = cells
            .iter()
            .filter(|cell| !cell.excluded())
            .map(|cell| QuantilePanel {
                label: cell.label(),
                curves: [0, 1].map(|arm| Curve::of(&cell.arm(arm))),
            })
            .collect();
        if panels
            .iter()
            .any(|panel| panel.curves.iter().any(Option::is_some))
        {
            let caption = format!(
                "{heading}: response time in µs over the quantile, all operations of each mode"
            );
            charts.push(Chart {
                svg: quantiles(&caption, &model.arms(), &panels),
                caption,
            });
        }
    }
    charts
}

fn table(model: &Model<'_>, figure: &Figure) -> Table {
    let [a, b] = model.arms().map(|arm| capital(&arm));
    let mut headings: Vec<String> = dimensions(model).map(str::to_owned).to_vec();
    headings.extend([
        format!("{a} median [range]#"),
        format!("{b} median [range]#"),
        format!("{b} change#"),
        "Ranges overlap".to_owned(),
        "Paired ratio [range]#".to_owned(),
        "Runs".to_owned(),
    ]);
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let mut table = Table::new(&format!("table-{}", figure.key), figure.column, &headings);
    for cell in &model.cells {
        table.rows.push(figure_row(model, cell, figure));
    }
    table
}

/// What tells the rows apart: where all are of an owner's database, the columns of that original.
fn dimensions(model: &Model<'_>) -> [&'static str; 4] {
    if of_owners(model) {
        ["Payload#", "Owner update", "Connections/outstanding", "IO"]
    } else {
        ["Group", "In flight#", "Work#", "IO"]
    }
}

fn of_owners(model: &Model<'_>) -> bool {
    let owners = |cell: &CellView<'_>| matches!(&cell.cell.workload, Workload::Database(database) if database.update.is_some());
    !model.cells.is_empty() && model.cells.iter().all(owners)
}

fn dimensions_of(model: &Model<'_>, cell: &CellView<'_>) -> Vec<Text> {
    let workload = &cell.cell.workload;
    if of_owners(model)
        && let Workload::Database(database) = workload
    {
        let payload = format!("{} B", database.payload);
        let update = database.update.map(|update| update.to_string());
        let shape = format!("{}/{}", database.connections, database.outstanding);
        return vec![
            Text::number(marked(cell, &payload), f64::from(database.payload))
                .from_runs(cell.cell.name.clone()),
            Text::of(update.unwrap_or_default()),
            Text::of(shape),
            Text::of(workload.io()),
        ];
    }
    vec![
        Text::of(marked(cell, &cell.cell.group)).from_runs(cell.cell.name.clone()),
        Text::number(
            workload.in_flight().to_string(),
            f64::from(workload.in_flight()),
        ),
        Text::number(workload.work().to_string(), f64::from(workload.work())),
        Text::of(workload.io()),
    ]
}

fn figure_row(model: &Model<'_>, cell: &CellView<'_>, figure: &Figure) -> Row {
    let compared = cell.compare(figure);
    let mut cells = dimensions_of(model, cell);
    match &compared {
        Some(both) => {
            cells.push(arm_cell(&both.a, &arm_origin(cell, 0)));
            cells.push(arm_cell(&both.b, &arm_origin(cell, 1)));
        }
        None => cells.extend(["failed", "failed"].map(|text| Text::of(text).class("bad"))),
    }
    cells.extend(change(compared.as_ref(), &origin(cell)));
    let paired = compared.and_then(|compared| compared.paired);
    cells.push(match paired {
        Some(paired) => Text::number(format::ratio(&paired), paired.median).from_runs(origin(cell)),
        None => Text::of("—"),
    });
    cells.push(Text::of(runs(cell)));
    row(cell, cells)
}

/// Every figure of every cell, in the columns of the native original.
pub(super) fn all_data(model: &Model<'_>) -> Section {
    let mut section = Section::new("all-data", "All data (median [min–max])");
    let [a, b] = model.arms();
    let mut headings = vec!["Case".to_owned()];
    headings.extend(
        FIGURES
            .iter()
            .map(|figure| format!("{}: {a} → {b}", figure.column)),
    );
    headings.push("Runs".to_owned());
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let mut table = Table::new("data", "Every configuration", &headings);
    for cell in &model.cells {
        let mut cells = vec![Text::of(marked(cell, &case(cell)))];
        for figure in &FIGURES {
            cells.push(match cell.compare(figure) {
                Some(both) => pair_cell(&both).from_runs(origin(cell)),
                None => Text::of("failed").class("bad"),
            });
        }
        cells.push(Text::of(runs(cell)));
        table.rows.push(row(cell, cells));
    }
    section.tables.push(table);
    section
}

/// Both arms in one cell; it sorts by the baseline's median.
fn pair_cell(both: &Compared) -> Text {
    let text = format!("{} → {}", arm_text(&both.a), arm_text(&both.b));
    Text {
        sort: both.a.summary().map(|summary| summary.median),
        ..Text::of(text)
    }
}

/// A case as the originals spell it.
fn case(cell: &CellView<'_>) -> String {
    let workload = &cell.cell.workload;
    format!(
        "{} · {} connections · {} B · in flight {} · {} · compute iterations {} · {} RT",
        cell.cell.group,
        workload.connections(),
        workload.payload(),
        workload.in_flight(),
        workload.io(),
        workload.work(),
        workload.latency_mode()
    )
}

fn arm_cell(arm: &Arm, origin: &str) -> Text {
    let text = arm_text(arm);
    let text = match arm {
        Arm::Known(summary) => Text::number(text, summary.median),
        Arm::TooFew(_) => Text::of(text).class("mark"),
        Arm::Missing => Text::of(text),
    };
    text.from_runs(origin)
}

fn arm_text(arm: &Arm) -> String {
    match arm {
        Arm::Known(summary) => format::range(summary),
        Arm::TooFew(above) => format!("† ({above:.0} above)"),
        Arm::Missing => "not recorded".to_owned(),
    }
}

/// The two cells of the ratio of medians: the change, and whether ranges overlap.
pub(super) fn change(compared: Option<&Compared>, origin: &str) -> [Text; 2] {
    match compared.and_then(|compared| compared.of_medians) {
        None => ["—", "—"].map(Text::of),
        Some(ratio) => {
            let percent = ratio.change_percent();
            let overlap = if ratio.overlap { "Yes" } else { "No" };
            [
                Text::number(format::percent_change(percent), percent).from_runs(origin),
                Text::of(overlap),
            ]
        }
    }
}

/// A row that the page can filter and mark.
pub(super) fn row(cell: &CellView<'_>, cells: Vec<Text>) -> Row {
    Row {
        key: cell.cell.name.clone(),
        group: cell.cell.group.clone(),
        noisy: cell.noisy(),
        excluded: cell.excluded(),
        cells,
    }
}

/// The cell's label, marked when a run of it was noisy.
pub(super) fn mark(cell: &CellView<'_>) -> String {
    marked(cell, &cell.label())
}

fn marked(cell: &CellView<'_>, text: &str) -> String {
    if cell.noisy() {
        format!("{text} ≈")
    } else {
        text.to_owned()
    }
}

/// The runs of a cell, for a column.
pub(super) fn runs(cell: &CellView<'_>) -> String {
    let ids: Vec<&str> = cell.runs().iter().map(|run| run.id.as_str()).collect();
    format::run_ids(&ids)
}

/// The runs of a cell by arm, for whoever points at a number.
pub(super) fn origin(cell: &CellView<'_>) -> String {
    format!("{} | {}", arm_origin(cell, 0), arm_origin(cell, 1))
}

fn arm_origin(cell: &CellView<'_>, arm: usize) -> String {
    let runs = cell.arm(arm);
    let name = runs
        .first()
        .map(|run| run.arm.to_string())
        .unwrap_or_default();
    let ids: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    format!("{name}: {}", ids.join(" "))
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
