//! Standard output: JSON lines for programs, tables for people.

use std::io::{self, Write};

use crate::cell::Cell;
use crate::ratio::{Line, Pair, Skipped, median};
use crate::redis::Figure;
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
        "under 1 means that ours costs less. Costs are per message or operation.\n"
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
    writeln!(out, "{}, medians", cell.title)?;
    writeln!(
        out,
        "  {:<22} {:>10} {:>10} {:>12} {:>9} {:>9} {:>5}",
        "", "CPU µs", "user µs", "per second", "p50 µs", "p99 µs", "runs"
    )?;
    for (index, runner) in cell.runners().enumerate() {
        let all = samples.of(index);
        let figure = |of: fn(&Sample) -> f64| median(all.iter().map(of).collect());
        let (Some(cpu), Some(user), Some(wall)) = (
            figure(Sample::cpu_us),
            figure(Sample::user_us),
            figure(Sample::wall_us),
        ) else {
            writeln!(out, "  {:<22} {:>10}", runner.name, "–")?;
            continue;
        };
        let time = |of: fn(&Sample) -> Option<f64>| {
            let median = median(all.iter().filter_map(of).collect());
            median.map_or_else(|| "–".to_owned(), |time| format!("{time:.1}"))
        };
        let p50 = time(|sample| sample.rtt_p50_us);
        let p99 = time(|sample| sample.rtt_p99_us);
        writeln!(
            out,
            "  {:<22} {cpu:>10.3} {user:>10.3} {:>12.0} {p50:>9} {p99:>9} {:>5}",
            runner.name,
            1e6 / wall,
            all.len()
        )?;
    }
    writeln!(out)
}

/// What the server itself can do.
pub(crate) fn yardstick(out: &mut impl Write, figures: &[Figure], json: bool) -> io::Result<()> {
    for figure in figures {
        if json {
            writeln!(out, "{}", serde_json::to_string(figure)?)?;
        } else {
            let Figure {
                work,
                yardstick,
                operations_per_second,
            } = figure;
            writeln!(
                out,
                "{work:<46} {yardstick:<22} {operations_per_second:>10.0}/s"
            )?;
        }
    }
    Ok(())
}
