//! Can this machine measure? What it was, and what else it did meanwhile.

use crate::report::format;
use crate::report::model::Model;
use crate::report::table::{Row, Table, Text};
use crate::run::record::{Run, Session};
use crate::stats::summary::Summary;

use super::Section;

/// Above this share of noisy runs no wall-clock figure is worth comparing with another session's.
const NOISY_SHARE: f64 = 0.3;

/// Noise during the session and the machine's description.
pub(super) fn fitness(model: &Model<'_>) -> Section {
    let mut section = Section::new("fitness", "Machine fitness");
    let runs: Vec<&Run> = model.directory.runs().collect();
    section.paragraphs.push(sentence(&runs));
    section.tables.push(noise(&runs));
    for session in model.directory.sessions() {
        section.tables.push(environment(session));
    }
    section.points = model
        .directory
        .notes()
        .map(|note| format!("{}: {}", note.at, note.text))
        .collect();
    section
}

fn sentence(runs: &[&Run]) -> String {
    let noisy = runs.iter().filter(|run| !run.noisy.is_empty()).count();
    let all = runs.len();
    let share = ratio(noisy, all);
    if noisy == 0 {
        return format!("None of the {all} runs broke a noise rule of the plan.");
    }
    let marked = format!("{noisy} of {all} runs broke a noise rule of the plan and are marked ≈.");
    if share > NOISY_SHARE {
        format!(
            "{marked} This machine was too busy: read processor time per message before throughput \
             and response time, and compare nothing here with another session."
        )
    } else {
        marked
    }
}

fn noise(runs: &[&Run]) -> Table {
    let mut table = Table::new(
        "noise",
        "While the processes ran",
        &[
            "Share of a process's time",
            "Median#",
            "Least#",
            "Most#",
            "Runs#",
        ],
    );
    let steal = |run: &&Run| run.before.steal_percent(&run.after, run.wall_seconds);
    let pressure = |run: &&Run| run.before.pressure_percent(&run.after, run.wall_seconds);
    let rows: [(&str, Vec<f64>); 2] = [
        (
            "Stolen by the hypervisor, %",
            runs.iter().filter_map(steal).collect(),
        ),
        (
            "Some task waited for a processor, %",
            runs.iter().filter_map(pressure).collect(),
        ),
    ];
    for (name, values) in rows {
        let mut cells = vec![Text::of(name)];
        match Summary::of(&values) {
            Some(Summary {
                median,
                min,
                max,
                count,
            }) => {
                cells.extend([median, min, max].map(|v| Text::number(format!("{v:.1}"), v)));
                cells.push(Text::of(count.to_string()));
            }
            None => cells.extend(["not recorded", "", "", "0"].map(Text::of)),
        }
        table.rows.push(Row {
            cells,
            ..Row::default()
        });
    }
    table
}

fn environment(session: &Session) -> Table {
    let machine = &session.machine;
    let mut table = Table::new(
        &format!("environment-{}", session.id),
        &format!("Session {}", session.id),
        &["Environment", "Recorded value"],
    );
    let rows = [
        ("Started (UTC)", session.started.clone()),
        (
            "CPU",
            format!("{} · {} processors", machine.cpu, machine.cpus),
        ),
        (
            "Memory",
            format!("{} MiB", format::count(machine.memory_kib / 1024)),
        ),
        (
            "OS",
            format!(
                "{} · {} · kernel {}",
                machine.distribution, machine.system, machine.kernel
            ),
        ),
        ("Virtualisation", machine.virtualisation.clone()),
        (
            "Governor / turbo / SMT",
            format!("{} / {} / {}", machine.governor, machine.turbo, machine.smt),
        ),
        ("Clock source", machine.clocksource.clone()),
        ("Processor quota", machine.cpu_quota.clone()),
        ("Open files, soft / hard", machine.open_files.clone()),
        ("Loopback MTU", machine.loopback_mtu.clone()),
        ("Huge pages", machine.huge_pages.clone()),
        ("Network", machine.network.join("; ")),
        ("Mitigations", machine.mitigations.join("; ")),
        ("Compiler", session.build.rustc.clone()),
        (
            "Build",
            format!(
                "{} · opt-level {}",
                session.build.profile, session.build.opt_level
            ),
        ),
    ];
    for (name, value) in rows {
        let cells = vec![Text::of(name), Text::of(value)];
        table.rows.push(Row {
            cells,
            ..Row::default()
        });
    }
    table
}

/// A share of a count.
fn ratio(part: usize, all: usize) -> f64 {
    let of = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    if all == 0 { 0.0 } else { of(part) / of(all) }
}
