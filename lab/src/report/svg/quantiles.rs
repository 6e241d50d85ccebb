//! Quantile curves: small panels, one a cell, latency over 1 / (1 − q) on two logarithmic axes.

use super::{Anchor, Canvas, WIDTH, short};
use crate::report::histogram::Curve;

const COLUMNS: usize = 3;
const PANEL: f64 = WIDTH / 3.0;
const HEIGHT: f64 = 190.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 26.0;
const LEGEND: f64 = 28.0;

/// One cell.
#[derive(Clone, Debug)]
pub struct QuantilePanel {
    /// Its label.
    pub label: String,
    /// Both arms.
    pub curves: [Option<Curve>; 2],
}

/// Draws the panels; each has a scale of its own.
#[must_use]
pub fn quantiles(title: &str, arms: &[String; 2], panels: &[QuantilePanel]) -> String {
    let rows = panels.len().div_ceil(COLUMNS);
    let height = LEGEND + small(rows) * HEIGHT;
    let description = "A panel a configuration: response time in microseconds against the \
        quantile, both logarithmic, one curve an arm over all its operations, drawn as far as 50 samples lie above.";
    let mut canvas = Canvas::new(title, description, height);
    for (number, (arm, class)) in arms.iter().zip(["a", "b"]).enumerate() {
        let x = LEFT + small(number) * 110.0;
        canvas.line((x, 10.0), (x + 20.0, 10.0), &format!("curve {class}"));
        canvas.text((x + 26.0, 14.0), Anchor::Start, "t", arm);
    }
    for (number, panel) in panels.iter().enumerate() {
        let origin = (
            small(number % COLUMNS) * PANEL,
            LEGEND + small(number / COLUMNS) * HEIGHT,
        );
        draw(&mut canvas, origin, panel);
    }
    canvas.finish()
}

fn draw(canvas: &mut Canvas, (x0, y0): (f64, f64), panel: &QuantilePanel) {
    canvas.text(
        (x0 + LEFT, y0 + 16.0),
        Anchor::Start,
        "t strong",
        &panel.label,
    );
    let curves: Vec<_> = panel.curves.iter().flatten().collect();
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let last = points().map(|point| point.0).fold(1.0, f64::max);
    let low = points().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let high = points().map(|point| point.1).fold(0.0, f64::max);
    if !(low.is_finite() && low > 0.0 && high > low) {
        let at = (x0 + LEFT, y0 + HEIGHT / 2.0);
        canvas.text(at, Anchor::Start, "t dim", "no histogram");
        return;
    }
    let (low, high) = ((low * 0.9).log10(), (high * 1.1).log10());
    let x = |decade: f64| x0 + LEFT + decade / last * (PANEL - LEFT - RIGHT);
    let y = |us: f64| {
        y0 + HEIGHT - BOTTOM - (us.log10() - low) / (high - low) * (HEIGHT - TOP - BOTTOM)
    };
    for (decade, name) in [
        (0.301, "P50"),
        (1.0, "P90"),
        (2.0, "P99"),
        (3.0, "P99.9"),
        (4.0, "P99.99"),
    ] {
        if decade <= last {
            canvas.line(
                (x(decade), y0 + TOP),
                (x(decade), y0 + HEIGHT - BOTTOM),
                "grid",
            );
            canvas.text(
                (x(decade), y0 + HEIGHT - 9.0),
                Anchor::Middle,
                "t dim",
                name,
            );
        }
    }
    for us in levels(low, high) {
        canvas.line((x(0.0), y(us)), (x(last), y(us)), "grid");
        canvas.text(
            (x0 + LEFT - 5.0, y(us) + 4.0),
            Anchor::End,
            "t dim",
            &short(us),
        );
    }
    for (curve, class) in panel.curves.iter().zip(["a", "b"]) {
        let points = curve.iter().flat_map(|curve| &curve.points);
        let points: Vec<_> = points.map(|(decade, us)| (x(*decade), y(*us))).collect();
        canvas.polyline(&points, &format!("curve {class}"));
    }
}

/// Values with one significant digit between two powers of ten, at most five.
fn levels(low: f64, high: f64) -> Vec<f64> {
    let mut all = Vec::new();
    let mut decade = low.floor();
    while decade <= high && all.len() < 64 {
        all.extend([1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powf(decade)));
        decade += 1.0;
    }
    all.retain(|us: &f64| us.log10() > low && us.log10() < high);
    let step = all.len().div_ceil(5).max(1);
    all.into_iter().step_by(step).collect()
}

/// An index as a coordinate.
fn small(index: usize) -> f64 {
    f64::from(u16::try_from(index).unwrap_or(u16::MAX))
}
