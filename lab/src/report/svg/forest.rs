//! A forest plot: the paired ratio of every cell with its range, around a line at 1.

use super::{Anchor, Canvas, LABELS, WIDTH, ratio_axis};
use crate::report::format;
use crate::stats::summary::Summary;

const ROW: f64 = 22.0;
const HEADING: f64 = 26.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 30.0;
const VALUES: f64 = 150.0;

/// One row: a heading, or a cell.
#[derive(Clone, Debug)]
pub enum ForestRow {
    /// The title of a group.
    Heading(String),
    /// A cell's label and ratios; `None` when it failed or has none.
    Cell {
        /// Its label.
        label: String,
        /// Median and range of the paired ratios.
        ratios: Option<Summary>,
        /// Whether it failed.
        failed: bool,
        /// The runs behind it.
        hint: String,
    },
}

/// Draws the rows; the band is the margin within which arms count as equal in practice.
#[must_use]
pub fn forest(title: &str, axis: &str, margin: f64, rows: &[ForestRow]) -> String {
    let of = |row: &ForestRow| match row {
        ForestRow::Heading(_) => HEADING,
        ForestRow::Cell { .. } => ROW,
    };
    let height = rows.iter().map(of).sum::<f64>() + TOP + BOTTOM;
    let description = "One row a configuration: dot at the median of the paired ratios, line from \
        the smallest to the largest, vertical line at 1, band at the declared margin of equivalence.";
    let mut canvas = Canvas::new(title, description, height);
    let half = ratio_axis(rows.iter().flat_map(|row| match row {
        ForestRow::Cell {
            ratios: Some(ratios),
            ..
        } => vec![ratios.min, ratios.max],
        _ => Vec::new(),
    }));
    let x = Axis { half };
    frame(&mut canvas, &x, axis, margin, height);
    let mut y = TOP;
    for row in rows {
        match row {
            ForestRow::Heading(text) => {
                canvas.text((0.0, y + 17.0), Anchor::Start, "t strong", text);
            }
            ForestRow::Cell {
                label,
                ratios,
                failed,
                hint,
            } => {
                canvas.text((LABELS - 10.0, y + 14.0), Anchor::End, "t", label);
                draw(&mut canvas, &x, y + 10.0, ratios.as_ref(), *failed, hint);
            }
        }
        y += of(row);
    }
    canvas.finish()
}

struct Axis {
    half: f64,
}

impl Axis {
    fn at(&self, ratio: f64) -> f64 {
        let width = WIDTH - LABELS - VALUES;
        let offset = ((ratio - 1.0) / self.half).clamp(-1.0, 1.0);
        LABELS + width / 2.0 * (1.0 + offset)
    }
}

fn frame(canvas: &mut Canvas, x: &Axis, axis: &str, margin: f64, height: f64) {
    let (left, right) = (x.at(1.0 - margin), x.at(1.0 + margin));
    canvas.rect(
        (left, TOP - 6.0),
        (right - left, height - TOP - BOTTOM + 6.0),
        "band",
        "",
    );
    for step in [-1.0, -0.5, 0.5, 1.0] {
        let ratio = 1.0 + x.half * step;
        canvas.line(
            (x.at(ratio), TOP - 6.0),
            (x.at(ratio), height - BOTTOM),
            "grid",
        );
        let text = format!("{ratio:.2}");
        canvas.text((x.at(ratio), height - 12.0), Anchor::Middle, "t dim", &text);
    }
    canvas.line((x.at(1.0), TOP - 6.0), (x.at(1.0), height - BOTTOM), "one");
    canvas.text((x.at(1.0), height - 12.0), Anchor::Middle, "t", "1");
    canvas.text((x.at(1.0), 13.0), Anchor::Middle, "t dim", axis);
}

fn draw(canvas: &mut Canvas, x: &Axis, y: f64, ratios: Option<&Summary>, failed: bool, hint: &str) {
    let Some(ratios) = ratios else {
        let text = if failed {
            "failed, excluded"
        } else {
            "not recorded"
        };
        if failed {
            canvas.cross((x.at(1.0), y));
        }
        canvas.text(
            (WIDTH - VALUES + 12.0, y + 4.0),
            Anchor::Start,
            "t dim",
            text,
        );
        return;
    };
    canvas.whisker(y, x.at(ratios.min), x.at(ratios.max), "whisker");
    canvas.dot((x.at(ratios.median), y), "b", hint);
    let text = format::ratio(ratios);
    canvas.text(
        (WIDTH - VALUES + 12.0, y + 4.0),
        Anchor::Start,
        "t value",
        &text,
    );
}
