//! What may be said of every cell, and the picture that it is said of.

use crate::report::figure::Figure;
use crate::report::format;
use crate::report::model::{CellView, Model};
use crate::report::svg::{ForestRow, RatioPoint, RatioSeries, forest, ratio_lines};
use crate::report::table::{Row, Table, Text};
use crate::stats::summary::Summary;
use crate::stats::verdict::pairs_needed;

use super::figures::{change, mark, origin, runs};
use super::{Chart, Section};

/// The verdict table, the forest plot, and the ratio over the window.
pub(super) fn verdicts(model: &Model<'_>) -> Section {
    let mut section = Section::new("verdicts", "Verdicts");
    let plan = &model.directory.plan;
    let Some(figure) = Figure::of(plan.primary_metric.key()) else {
        return section;
    };
    section.paragraphs.push(sentence(model));
    section.tables.push(groups(model, figure));
    section.tables.push(table(model, figure));
    section.charts.push(overview(model, figure));
    section.charts.extend(over_windows(model, figure));
    section
}

fn sentence(model: &Model<'_>) -> String {
    let needed = pairs_needed(model.cells.len());
    let pairs = model.directory.plan.repetitions;
    let invalid = model.cells.iter().filter(|cell| cell.excluded()).count();
    let mut text = format!(
        "No configuration is called faster, slower or equivalent: that takes an exact test corrected \
         for {} configurations, so at least {needed} pairs of each, and a noise floor from two equal \
         arms in the same session. This session has {pairs} pairs of each and no such floor.",
        model.cells.len()
    );
    if invalid > 0 {
        text.push_str(&format!(" {invalid} are invalid because a run failed."));
    }
    text
}

/// The originals' summary of a group: the median of its cells' ratios.
fn groups(model: &Model<'_>, figure: &Figure) -> Table {
    let mut table = Table::new(
        "verdict-groups",
        &format!(
            "{}: each summary is a median of case ratios, not pooled",
            figure.title
        ),
        &[
            "Group",
            "Cases#",
            "Median per-case change#",
            "Least#",
            "Most#",
        ],
    );
    for group in model.groups() {
        let cells = model.cells.iter().filter(|cell| cell.cell.group == group);
        let changes: Vec<f64> = cells
            .filter_map(|cell| Some(cell.compare(figure)?.of_medians?.change_percent()))
            .collect();
        let mut cells = vec![Text::of(group), Text::of(changes.len().to_string())];
        match Summary::of(&changes) {
            Some(Summary {
                median, min, max, ..
            }) => cells
                .extend([median, min, max].map(|it| Text::number(format::percent_change(it), it))),
            None => cells.extend(["—", "—", "—"].map(Text::of)),
        }
        table.rows.push(Row {
            group: group.to_owned(),
            cells,
            ..Row::default()
        });
    }
    table
}

fn table(model: &Model<'_>, figure: &Figure) -> Table {
    let [a, b] = model.arms();
    let mut table = Table::new(
        "verdict-table",
        &format!(
            "{} of {b} against {a}: the change is the ratio of medians − 1, the paired ratio the \
             median [range] of the ratios within pairs",
            figure.title
        ),
        &[
            "Group",
            "Configuration",
            "Verdict",
            "Why",
            "Change of medians#",
            "Overlap",
            "Paired ratio#",
            "Runs",
        ],
    );
    for cell in &model.cells {
        let compared = cell.compare(figure);
        let class = if cell.excluded() { "bad" } else { "mark" };
        let mut cells = vec![
            Text::of(cell.cell.group.clone()),
            Text::of(mark(cell)).from_runs(cell.cell.name.clone()),
            Text::of(cell.verdict.word()).class(class),
            Text::of(cell.verdict.reason()),
        ];
        cells.extend(change(compared.as_ref(), &origin(cell)));
        let paired = compared.and_then(|compared| compared.paired);
        cells.push(match paired {
            Some(paired) => {
                Text::number(format::ratio(&paired), paired.median).from_runs(origin(cell))
            }
            None => Text::of("—"),
        });
        cells.push(Text::of(runs(cell)));
        table.rows.push(super::figures::row(cell, cells));
    }
    table
}

fn overview(model: &Model<'_>, figure: &Figure) -> Chart {
    let [a, b] = model.arms();
    let mut rows: Vec<ForestRow> = Vec::new();
    for group in model.groups() {
        rows.push(ForestRow::Heading(group.to_owned()));
        for cell in model.cells.iter().filter(|cell| cell.cell.group == group) {
            rows.push(ForestRow::Cell {
                label: cell.label(),
                ratios: cell.compare(figure).and_then(|compared| compared.paired),
                failed: cell.excluded(),
                hint: origin(cell),
            });
        }
    }
    let axis = format!("{b} / {a}, {}", figure.title.to_lowercase());
    let margin = model.directory.plan.equivalence_margin;
    Chart {
        caption: format!(
            "Paired ratios of every configuration: median and range of {b} / {a}. The band is the \
             margin of ±{:.1} % that the plan declared.",
            margin * 100.0
        ),
        svg: forest("Paired ratios", &axis, margin, &rows),
    }
}

/// As many lines as the page has colours to tell them apart by.
const LINES: usize = 6;

/// One chart of all groups while its lines can be told apart, else one a group.
fn over_windows(model: &Model<'_>, figure: &Figure) -> Vec<Chart> {
    let [a, b] = model.arms();
    let axis = format!("{b} / {a}, {}", figure.title.to_lowercase());
    let chart = |title: String, series: &[RatioSeries]| Chart {
        caption: title.clone(),
        svg: ratio_lines(&title, &axis, series),
    };
    let mut groups: Vec<(&str, Vec<RatioSeries>)> = Vec::new();
    for group in model.groups() {
        let cells: Vec<_> = model
            .cells
            .iter()
            .filter(|cell| cell.cell.group == group)
            .collect();
        let series = series(&cells, figure);
        if series.iter().any(|line| line.points.len() > 1) {
            groups.push((group, series));
        }
    }
    let lines: usize = groups.iter().map(|(_, series)| series.len()).sum();
    if groups.len() < 2 || lines > LINES {
        let title = |group: &str| format!("{group}: paired ratio over messages in flight");
        return groups
            .iter()
            .map(|(group, series)| chart(title(group), series))
            .collect();
    }
    let named = |(group, series): &(&str, Vec<RatioSeries>)| {
        let label = |line: &RatioSeries| format!("{group} · {}", line.label);
        series
            .iter()
            .map(|line| RatioSeries {
                label: label(line),
                ..line.clone()
            })
            .collect::<Vec<_>>()
    };
    let all: Vec<RatioSeries> = groups.iter().flat_map(named).collect();
    vec![chart(
        "Paired ratio over messages in flight".to_owned(),
        &all,
    )]
}

fn series(cells: &[&CellView<'_>], figure: &Figure) -> Vec<RatioSeries> {
    let mut all: Vec<RatioSeries> = Vec::new();
    for cell in cells {
        let workload = &cell.cell.workload;
        let label = workload.series();
        let point = RatioPoint {
            window: workload.in_flight(),
            ratios: cell.compare(figure).and_then(|compared| compared.paired),
            hint: origin(cell),
        };
        match all.iter_mut().find(|line| line.label == label) {
            Some(line) => line.points.push(point),
            None => all.push(RatioSeries {
                label,
                points: vec![point],
            }),
        }
    }
    all
}
