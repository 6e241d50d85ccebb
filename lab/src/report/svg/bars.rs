//! Two bars a row with whiskers: medians and ranges of both arms.

use super::{Anchor, Canvas, LABELS, WIDTH, short, ticks};
use crate::report::format::number;
use crate::stats::summary::Summary;

const ROW: f64 = 40.0;
const BAR: f64 = 14.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 26.0;
/// Room right of the longest bar for its value.
const VALUES: f64 = 84.0;

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Median and range; `None` when there is nothing to show.
    pub summary: Option<Summary>,
    /// Why there is nothing, or the runs behind it.
    pub hint: String,
}

/// One cell.
#[derive(Clone, Debug)]
pub struct BarRow {
    /// Its label.
    pub label: String,
    /// Both arms, baseline first.
    pub bars: [Bar; 2],
    /// Whether it failed and is marked instead of drawn.
    pub failed: bool,
}

/// Draws the rows on one scale that begins at zero.
#[must_use]
pub fn bars(title: &str, unit: &str, arms: &[String; 2], rows: &[BarRow]) -> String {
    let height = rows.iter().fold(TOP + BOTTOM, |height, _| height + ROW);
    let description = format!(
        "Horizontal bars, {unit}: median of {} and {} for {} configurations; whiskers show the smallest and largest run.",
        arms[0],
        arms[1],
        rows.len()
    );
    let mut canvas = Canvas::new(title, &description, height);
    let summaries = rows
        .iter()
        .flat_map(|row| &row.bars)
        .filter_map(|bar| bar.summary);
    let ticks = ticks(summaries.map(|summary| summary.max).fold(0.0, f64::max));
    let end = ticks.last().copied().unwrap_or(1.0);
    let scale = (WIDTH - LABELS - VALUES) / end;
    canvas.legend(14.0, arms);
    for tick in &ticks {
        let x = LABELS + tick * scale;
        canvas.line((x, TOP - 8.0), (x, height - BOTTOM), "grid");
        canvas.text((x, height - 9.0), Anchor::Middle, "t dim", &short(*tick));
    }
    canvas.text((WIDTH - 2.0, 14.0), Anchor::End, "t dim", unit);
    let mut y = TOP;
    for row in rows {
        draw(&mut canvas, row, y, scale);
        y += ROW;
    }
    canvas.line((LABELS, TOP - 8.0), (LABELS, height - BOTTOM), "axis");
    canvas.finish()
}

fn draw(canvas: &mut Canvas, row: &BarRow, y: f64, scale: f64) {
    canvas.text((LABELS - 10.0, y + BAR + 4.0), Anchor::End, "t", &row.label);
    if row.failed {
        canvas.cross((LABELS + 14.0, y + BAR));
        canvas.text(
            (LABELS + 26.0, y + BAR + 4.0),
            Anchor::Start,
            "t bad",
            "failed, excluded",
        );
        return;
    }
    let mut top = y;
    for (bar, class) in row.bars.iter().zip(["a", "b"]) {
        let middle = top + BAR / 2.0;
        match bar.summary {
            Some(summary) => {
                canvas.rect(
                    (LABELS, top),
                    (summary.median * scale, BAR - 1.0),
                    class,
                    &bar.hint,
                );
                let (from, to) = (LABELS + summary.min * scale, LABELS + summary.max * scale);
                canvas.whisker(middle, from, to, "whisker");
                let text = number(summary.median);
                canvas.text((to + 7.0, middle + 4.0), Anchor::Start, "t value", &text);
            }
            None => {
                canvas.text(
                    (LABELS + 6.0, middle + 4.0),
                    Anchor::Start,
                    "t dim",
                    &bar.hint,
                );
            }
        }
        top += BAR + 1.0;
    }
}
