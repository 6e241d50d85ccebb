//! Standard output: JSON lines for programs, tables for people.

use std::io::{self, Write};

use crate::cell::Cell;
use crate::ratio::{Line, Pair, Skipped, median};
use crate::rounds::{Outcome, Samples};
use crate::sample::Sample;

/// One object a line.
pub(crate) fn json(out: &mut impl Write, lines: &[Line]) -> io::Result<()> {
    for line in lines {
        writeln!(out, "{}", serde_json::to_string(line)?)?;
    }
    Ok(())
}

/// Medians of everybody, then the ratios.
pub(crate) fn tables(
    out: &mut impl Write,
    cells: &[Cell],
    outcome: &Outcome,
    lines: &[Line],
) -> io::Result<()> {
    for (cell, samples) in cells.iter().zip(&outcome.samples) {
        medians(out, cell, samples)?;
    }
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "Ours ÷ peer, the median over the rounds of the ratio within a round;"
    )?;
    writeln!(
        out,
        "under 1 means that ours costs less. Costs are per message.\n"
    )?;
    writeln!(
        out,
        "{:<46} {:<22} {:>6} {:>6} {:>6} {:>5}",
        "", "", "CPU", "user", "wall", "pairs"
    )?;
    for line in lines {
        match line {
            Line::Pair(Pair {
                work,
                peer,
                cpu_ratio,
                user_ratio,
                wall_ratio,
                runs,
                ..
            }) => writeln!(
                out,
                "{work:<46} {peer:<22} {cpu_ratio:>6.3} {user_ratio:>6.3} {wall_ratio:>6.3} {runs:>5}"
            )?,
            Line::Skipped(Skipped {
                work,
                peer,
                skipped,
            }) => {
                writeln!(out, "{work:<46} {peer:<22} skipped: {skipped}")?;
            }
        }
    }
    Ok(())
}

fn medians(out: &mut impl Write, cell: &Cell, samples: &Samples) -> io::Result<()> {
    writeln!(out, "{} {}, medians", cell.protocol, cell.load.name())?;
    writeln!(
        out,
        "  {:<22} {:>10} {:>10} {:>12} {:>9} {:>9} {:>5}",
        "", "CPU µs", "user µs", "messages/s", "p50 µs", "p99 µs", "runs"
    )?;
    for (runner, variant) in cell.runners().enumerate() {
        let all = samples.of(runner);
        let figure = |of: fn(&Sample) -> f64| median(all.iter().map(of).collect());
        let (Some(cpu), Some(user), Some(wall)) = (
            figure(Sample::cpu_us),
            figure(Sample::user_us),
            figure(Sample::wall_us),
        ) else {
            writeln!(out, "  {:<22} {:>10}", variant.name, "–")?;
            continue;
        };
        let p50 = figure(|sample| sample.rtt_p50_us).unwrap_or_default();
        let p99 = figure(|sample| sample.rtt_p99_us).unwrap_or_default();
        writeln!(
            out,
            "  {:<22} {cpu:>10.3} {user:>10.3} {:>12.0} {p50:>9.1} {p99:>9.1} {:>5}",
            variant.name,
            1e6 / wall,
            all.len()
        )?;
    }
    writeln!(out)
}
