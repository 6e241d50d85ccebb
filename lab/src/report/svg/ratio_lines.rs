//! Ratio lines: how the ratio of the arms changes with the window, around a line at 1.

use super::{Anchor, Canvas, WIDTH, ratio_axis};
use crate::stats::summary::Summary;

const LEFT: f64 = 60.0;
const RIGHT: f64 = 320.0;
const TOP: f64 = 26.0;
const HEIGHT: f64 = 260.0;
const BOTTOM: f64 = 40.0;

/// One line.
#[derive(Clone, Debug)]
pub struct RatioSeries {
    /// Its label.
    pub label: String,
    /// Its points by growing window.
    pub points: Vec<RatioPoint>,
}

/// One point.
#[derive(Clone, Debug)]
pub struct RatioPoint {
    /// Messages in flight.
    pub window: u32,
    /// Median and range; `None` is drawn as a failure mark.
    pub ratios: Option<Summary>,
    /// The runs behind it.
    pub hint: String,
}

/// Draws up to six lines over the windows that occur, evenly spaced.
#[must_use]
pub fn ratio_lines(title: &str, axis: &str, series: &[RatioSeries]) -> String {
    let description = "Median of the paired ratios over the number of messages in flight, a line \
        a topology, whiskers from the smallest to the largest, dotted line at 1, crosses where a run failed.";
    let mut canvas = Canvas::new(title, description, HEIGHT);
    let points = || series.iter().flat_map(|line| &line.points);
    let mut windows: Vec<u32> = points().map(|point| point.window).collect();
    windows.sort_unstable();
    windows.dedup();
    let half = ratio_axis(
        points()
            .filter_map(|p| p.ratios)
            .flat_map(|r| [r.min, r.max]),
    );
    let plot = Plot { windows, half };
    plot.frame(&mut canvas, axis);
    for (number, line) in series.iter().enumerate() {
        plot.line(&mut canvas, number, series.len(), line);
    }
    canvas.finish()
}

struct Plot {
    windows: Vec<u32>,
    half: f64,
}

impl Plot {
    fn x(&self, window: u32) -> f64 {
        let index = self
            .windows
            .iter()
            .position(|known| *known == window)
            .unwrap_or(0);
        let steps = self.windows.len().saturating_sub(1).max(1);
        let width = WIDTH - LEFT - RIGHT - 80.0;
        LEFT + 40.0 + width * small(index) / small(steps)
    }

    fn y(&self, ratio: f64) -> f64 {
        let middle = f64::midpoint(TOP, HEIGHT - BOTTOM);
        let offset = ((ratio - 1.0) / self.half).clamp(-1.0, 1.0);
        middle - offset * (HEIGHT - BOTTOM - TOP) / 2.0
    }

    fn frame(&self, canvas: &mut Canvas, axis: &str) {
        canvas.text((LEFT, 13.0), Anchor::Start, "t dim", axis);
        for step in [-1.0, -0.5, 0.5, 1.0] {
            let ratio = 1.0 + self.half * step;
            canvas.line(
                (LEFT, self.y(ratio)),
                (WIDTH - RIGHT, self.y(ratio)),
                "grid",
            );
            let text = format!("{ratio:.2}");
            canvas.text(
                (LEFT - 8.0, self.y(ratio) + 4.0),
                Anchor::End,
                "t dim",
                &text,
            );
        }
        canvas.line((LEFT, self.y(1.0)), (WIDTH - RIGHT, self.y(1.0)), "one");
        canvas.text((LEFT - 8.0, self.y(1.0) + 4.0), Anchor::End, "t", "1");
        for window in &self.windows {
            let text = format!("{window} in flight");
            canvas.text(
                (self.x(*window), HEIGHT - 16.0),
                Anchor::Middle,
                "t dim",
                &text,
            );
        }
    }

    fn line(&self, canvas: &mut Canvas, number: usize, all: usize, line: &RatioSeries) {
        let class = format!("s s{}", number % 6);
        // Lines are set side by side at each window, or their whiskers would cover each other.
        let shift = (small(number) - small(all.saturating_sub(1)) / 2.0) * 9.0;
        let mut drawn = Vec::new();
        for point in &line.points {
            let x = self.x(point.window) + shift;
            let Some(ratios) = point.ratios else {
                canvas.cross((x, HEIGHT - BOTTOM - 8.0));
                continue;
            };
            canvas.line((x, self.y(ratios.min)), (x, self.y(ratios.max)), &class);
            canvas.dot((x, self.y(ratios.median)), &class, &point.hint);
            drawn.push((x, self.y(ratios.median)));
        }
        canvas.polyline(&drawn, &class);
        let y = TOP + 14.0 + small(number) * 22.0;
        canvas.line(
            (WIDTH - RIGHT + 24.0, y - 4.0),
            (WIDTH - RIGHT + 50.0, y - 4.0),
            &class,
        );
        canvas.text((WIDTH - RIGHT + 58.0, y), Anchor::Start, "t", &line.label);
    }
}

/// An index as a coordinate.
fn small(index: usize) -> f64 {
    f64::from(u16::try_from(index).unwrap_or(u16::MAX))
}
