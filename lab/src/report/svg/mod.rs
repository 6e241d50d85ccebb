//! A small SVG writer: the five forms of chart that a report has.
//!
//! Charts are inline in the page, so their colours are the page's CSS variables and they follow its
//! colour scheme. Text stays text; every chart has a title and a description for those who cannot
//! see it.

mod bars;
mod forest;
mod quantiles;
mod ratio_lines;

pub use bars::{Bar, BarRow, bars};
pub use forest::{ForestRow, forest};
pub use quantiles::{QuantilePanel, quantiles};
pub use ratio_lines::{RatioPoint, RatioSeries, ratio_lines};

/// Width of every chart in its own units; the page scales it.
const WIDTH: f64 = 860.0;
/// Room for the labels of rows.
const LABELS: f64 = 230.0;

/// Collects the elements of one picture.
struct Canvas {
    body: String,
    title: String,
    description: String,
    height: f64,
}

/// Where a text is anchored.
#[derive(Clone, Copy)]
enum Anchor {
    Start,
    Middle,
    End,
}

impl Canvas {
    fn new(title: &str, description: &str, height: f64) -> Self {
        Self {
            body: String::new(),
            title: title.to_owned(),
            description: description.to_owned(),
            height,
        }
    }

    fn finish(self) -> String {
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\"><title>{}</title><desc>{}</desc>{}</svg>",
            self.height,
            escape(&self.title),
            escape(&self.description),
            self.body
        )
    }

    fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.body.push_str(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{}</text>",
            escape(text)
        ));
    }

    fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
        self.body.push_str(&format!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" class=\"{class}\"/>"
        ));
    }

    /// A rectangle; `hint` is shown when it is pointed at.
    fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), class: &str, hint: &str) {
        let width = width.max(0.0);
        self.body.push_str(&format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"2\" class=\"{class}\">{}</rect>",
            hint_title(hint)
        ));
    }

    fn dot(&mut self, (x, y): (f64, f64), class: &str, hint: &str) {
        self.body.push_str(&format!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" class=\"{class}\">{}</circle>",
            hint_title(hint)
        ));
    }

    fn polyline(&mut self, points: &[(f64, f64)], class: &str) {
        let points: Vec<String> = points
            .iter()
            .map(|(x, y)| format!("{x:.1},{y:.1}"))
            .collect();
        self.body.push_str(&format!(
            "<polyline points=\"{}\" class=\"{class}\"/>",
            points.join(" ")
        ));
    }

    /// The mark of a cell that failed.
    fn cross(&mut self, (x, y): (f64, f64)) {
        const ARM: f64 = 5.0;
        self.line((x - ARM, y - ARM), (x + ARM, y + ARM), "cross");
        self.line((x - ARM, y + ARM), (x + ARM, y - ARM), "cross");
    }

    /// A range with its two ends.
    fn whisker(&mut self, y: f64, from: f64, to: f64, class: &str) {
        const END: f64 = 3.5;
        self.line((from, y), (to, y), class);
        self.line((from, y - END), (from, y + END), class);
        self.line((to, y - END), (to, y + END), class);
    }

    fn legend(&mut self, y: f64, arms: &[String; 2]) {
        let mut x = LABELS;
        for (arm, class) in arms.iter().zip(["a", "b"]) {
            self.rect((x, y - 9.0), (12.0, 10.0), class, "");
            self.text((x + 17.0, y), Anchor::Start, "t", arm);
            x += 110.0;
        }
    }
}

fn hint_title(hint: &str) -> String {
    if hint.is_empty() {
        String::new()
    } else {
        format!("<title>{}</title>", escape(hint))
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Round values from 0 to a little above `max`: steps of 1, 2 or 5 times a power of ten.
fn ticks(max: f64) -> Vec<f64> {
    const WANTED: f64 = 5.0;
    if !(max.is_finite() && max > 0.0) {
        return vec![0.0, 1.0];
    }
    let step = round_step(max / WANTED);
    let mut ticks = vec![0.0];
    let mut value = step;
    while value < max + step && ticks.len() < 12 {
        ticks.push(value);
        value += step;
    }
    ticks
}

fn round_step(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.log10().floor());
    let factor = match rough / power {
        f if f <= 1.0 => 1.0,
        f if f <= 2.0 => 2.0,
        f if f <= 5.0 => 5.0,
        _ => 10.0,
    };
    factor * power
}

/// A short form for an axis: `250k`, `1.5M`.
fn short(value: f64) -> String {
    let (value, unit) = match value.abs() {
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}{unit}")
}

/// Half the width of an axis of ratios around 1: wide enough for all of `values`, round, and never
/// so narrow that noise looks like a difference.
fn ratio_axis(values: impl Iterator<Item = f64>) -> f64 {
    const HALVES: [f64; 8] = [0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 2.0];
    let farthest = values
        .filter(|v| v.is_finite())
        .map(|v| (v - 1.0).abs())
        .fold(0.0, f64::max);
    let fits = |half: &&f64| **half >= farthest;
    // Beyond the last the ends of a range are drawn at the edge; the numbers are beside it.
    HALVES
        .iter()
        .find(fits)
        .or(HALVES.last())
        .copied()
        .unwrap_or(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_round_steps_and_covers_its_data() {
        assert_eq!(ticks(850_010.0), [0.0, 2e5, 4e5, 6e5, 8e5, 1e6]);
        assert_eq!(ticks(0.0), [0.0, 1.0]);
        assert_eq!(ticks(f64::NAN), [0.0, 1.0]);
        assert_eq!(short(1_500_000.0), "1.5M");
        assert_eq!(short(250_000.0), "250k");
    }

    #[test]
    fn text_from_records_cannot_become_markup() {
        let mut canvas = Canvas::new("<t>", "d & e", 10.0);
        canvas.text((0.0, 0.0), Anchor::Start, "t", "<script>");
        let svg = canvas.finish();
        assert!(svg.contains("<title>&lt;t&gt;</title><desc>d &amp; e</desc>"));
        assert!(!svg.contains("<script>"));
    }
}
