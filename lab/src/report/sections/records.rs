//! What was counted, and what failed.

use crate::report::figure::observations;
use crate::report::format;
use crate::report::model::Model;
use crate::report::table::{Row, Table, Text};
use crate::run::record::Run;

use super::Section;

/// The session in numbers that do not depend on the machine's speed, and those that add up.
pub(super) fn counts(model: &Model<'_>) -> Section {
    let mut section = Section::new("counts", "Fixed counts");
    let mut table = Table::new(
        "counts-table",
        "By group",
        &[
            "Group",
            "Configurations#",
            "Pairs#",
            "Processes#",
            "Failed#",
            "Messages measured#",
            "Messages warming up#",
            "Response times recorded#",
        ],
    );
    for group in model.groups() {
        let cells: Vec<_> = model
            .cells
            .iter()
            .filter(|cell| cell.cell.group == group)
            .collect();
        let runs: Vec<&Run> = cells.iter().flat_map(|cell| cell.runs()).collect();
        let pairs: usize = cells.iter().map(|cell| cell.pairs.len()).sum();
        let failed = runs.iter().filter(|run| !run.is_ok()).count();
        // A transport counts messages, a database operations.
        let sum = |keys: [&str; 2]| {
            let of = |run: &&Run| keys.iter().find_map(|key| whole(run, key));
            runs.iter().filter_map(of).sum::<u64>()
        };
        let observed: u64 = runs.iter().filter_map(|run| observations(run)).sum();
        let mut texts = vec![Text::of(group)];
        for n in [cells.len(), pairs, runs.len(), failed] {
            texts.push(count(u64::try_from(n).unwrap_or(u64::MAX)));
        }
        let measured = sum(["messages", "operations"]);
        let warming_up = sum(["warmup_messages", "warmup_operations"]);
        texts.extend([measured, warming_up, observed].map(count));
        table.rows.push(Row {
            key: group.to_owned(),
            cells: texts,
            ..Row::default()
        });
    }
    section.tables.push(table);
    section
}

fn whole(run: &Run, key: &str) -> Option<u64> {
    run.metrics.as_ref()?.get(key)?.as_u64()
}

#[allow(clippy::cast_precision_loss, reason = "only sorts")]
fn count(value: u64) -> Text {
    Text::number(format::count(value), value as f64)
}

/// Every run that failed, with its counters, and every run that no pair uses.
pub(super) fn failures(model: &Model<'_>) -> Section {
    let mut section = Section::new("failures", "Failures");
    let failed: Vec<&Run> = model.directory.runs().filter(|run| !run.is_ok()).collect();
    let unused = model.directory.unused();
    if failed.is_empty() {
        let all = model.directory.runs().count();
        section
            .paragraphs
            .push(format!("None of the {all} runs failed."));
    } else {
        section.paragraphs.push(
            "A failed repetition takes its configuration out of every summary above; the records stay."
                .to_owned(),
        );
        section.tables.push(table("failed", "Failed runs", &failed));
    }
    if !unused.is_empty() {
        let caption =
            "Runs that an interruption left without their partner; their pair was run again";
        section.tables.push(table("unused", caption, &unused));
    }
    section
}

fn table(id: &str, caption: &str, runs: &[&Run]) -> Table {
    let headings = [
        "Run",
        "Configuration",
        "Mode",
        "Pair#",
        "Exit#",
        "Reason",
        "Counters",
        "Standard error",
    ];
    let mut table = Table::new(id, caption, &headings);
    for run in runs {
        let counters: Vec<String> = run
            .counters
            .iter()
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        let ended = match (run.exit, run.signal) {
            (Some(exit), _) => exit.to_string(),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "ended by the lab".to_owned(),
        };
        let pair = run.pair.saturating_add(1);
        let cells = vec![
            Text::of(run.id.clone()),
            Text::of(run.cell.clone()),
            Text::of(run.arm.to_string()),
            Text::number(pair.to_string(), f64::from(pair)),
            Text::of(ended),
            Text::of(run.error.clone().unwrap_or_default()),
            Text::of(if counters.is_empty() {
                "—".to_owned()
            } else {
                counters.join(", ")
            }),
            Text::code(last_line(&run.stderr_tail)),
        ];
        table.rows.push(Row {
            key: run.cell.clone(),
            noisy: !run.noisy.is_empty(),
            excluded: !run.is_ok(),
            cells,
            ..Row::default()
        });
    }
    table
}

fn last_line(text: &str) -> String {
    text.lines().next_back().unwrap_or_default().to_owned()
}
