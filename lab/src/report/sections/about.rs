//! What was asked, what the figures cover, how to do it again, and what they do not say.

use std::collections::BTreeSet;

use crate::report::format;
use crate::report::model::Model;
use crate::report::table::{Row, Table, Text};
use crate::run::plan::Plan;
use crate::run::workload::{Implementation, Traffic};

use super::Section;

/// The question and the plan that was fixed to answer it.
pub(super) fn asked(model: &Model<'_>) -> Section {
    let plan = &model.directory.plan;
    let mut section = Section::new("asked", "What was asked");
    let [a, b] = model.arms();
    section.paragraphs = vec![
        plan.asks.clone(),
        format!(
            "{} configurations run in {a} and {b} mode, {} fresh processes each: {} measured processes. \
             The plan was fixed and hashed before anything ran.",
            model.cells.len(),
            plan.repetitions,
            plan.processes()
        ),
    ];
    let mut table = Table::new("plan", "The plan", &["Fixed before the session", "Value"]);
    for (name, value) in facts(model, plan) {
        let cells = vec![Text::of(name), Text::of(value)];
        table.rows.push(Row {
            cells,
            ..Row::default()
        });
    }
    section.tables.push(table);
    section
}

fn facts(model: &Model<'_>, plan: &Plan) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("Plan", plan.name.clone()),
        ("Pairs per configuration", plan.repetitions.to_string()),
        (
            "Order",
            format!(
                "ABBA or BAAB blocks of adjacent processes, cells shuffled by seed {}",
                plan.seed
            ),
        ),
        ("Primary metric", plan.primary_metric.key().to_owned()),
        (
            "Margin of equivalence",
            format!("±{:.1} %", plan.equivalence_margin * 100.0),
        ),
        (
            "Excluded",
            "a configuration of which any repetition failed, both modes".to_owned(),
        ),
        (
            "Marked noisy",
            format!(
                "a run with steal above {} % or processor pressure above {} % of its time",
                plan.exclusion.noisy_steal_percent, plan.exclusion.noisy_pressure_percent
            ),
        ),
    ];
    for group in &plan.groups {
        facts.push((
            "Group",
            format!(
                "{}: {} connections, {} B, warm-up {} s, measured {} s",
                group.title, group.clients, group.payload, group.warmup, group.seconds
            ),
        ));
    }
    if let Some(filter) = &plan.filter {
        facts.push((
            "Filter",
            format!("only configurations whose name contains {filter}"),
        ));
    }
    facts.push(("Hash of the plan", model.directory.plan_hash.clone()));
    facts
}

/// What each figure covers.
pub(super) fn scope(model: &Model<'_>) -> Section {
    let mut section = Section::new("scope", "Measurement scope");
    let groups = &model.directory.plan.groups;
    let any = |implementation| {
        groups
            .iter()
            .any(|group| group.implementation == implementation)
    };
    if any(Implementation::Native) {
        section.points.push(
            "native: bare sockets, without arknet's endpoints. Callbacks are a state machine on \
             readiness, async are tasks on tokio; both share one generator, one validator and one \
             work function."
                .to_owned(),
        );
    }
    if any(Implementation::Endpoint) {
        section.points.push(
            "endpoint: arknet's public API in either style, every message checked for content and order."
                .to_owned(),
        );
    }
    if groups.iter().any(|group| group.traffic == Traffic::Batch) {
        section.points.push(
            "batch: a client writes its whole window, reads all of it back, and begins again; \
             response time is per batch (window 1: per message)."
                .to_owned(),
        );
    }
    if groups
        .iter()
        .any(|group| group.traffic == Traffic::Windowed)
    {
        section.points.push(
            "windowed: one new message for each that came back; response time is per message."
                .to_owned(),
        );
    }
    let back_ends: Vec<String> = back_ends(model).into_iter().collect();
    section
        .points
        .push(format!("Back ends: {}.", back_ends.join(", ")));
    for interval in intervals(model) {
        section
            .points
            .push(format!("CPU% of {interval}, client and server together."));
    }
    section.points.extend(
        [
            "100 % CPU is one processor. CPU per message is processor time, user and system, client and server, over the messages of the measured phase.",
            "P50 and P99 are those of each process over all its operations, then the median over processes; samples are not pooled. The curves are: they merge every operation of an arm.",
            "RSS is the high-water mark of the whole process, warm-up included.",
            "Cells are median [min–max] over fresh processes. Change is (median of the second mode / median of the first − 1), on unrounded values: the ratio of medians. Ranges overlap when the two [min–max] have a value in common.",
            "Paired ratio is the median [min–max] of the ratios within each pair of adjacent processes: the median of paired ratios. The two definitions differ.",
            "Connecting, closing and start-up are outside every figure but RSS.",
        ]
        .map(str::to_owned),
    );
    section
}

/// What the records say that moved the bytes.
fn back_ends(model: &Model<'_>) -> BTreeSet<String> {
    let said = model.directory.runs().filter_map(|run| {
        let back_end = run.metrics.as_ref()?.get("backend")?.as_str()?;
        Some(format!(
            "{} {} on {back_end}",
            run.workload.implementation, run.arm
        ))
    });
    said.collect()
}

/// What the records say that processor time covers, by implementation.
fn intervals(model: &Model<'_>) -> BTreeSet<String> {
    let said = model.directory.runs().filter_map(|run| {
        let interval = run.metrics.as_ref()?.get("cpu_interval")?.as_str()?;
        let workload = &run.workload;
        Some(format!(
            "{} {} covers {interval}",
            workload.implementation, workload.traffic
        ))
    });
    said.collect()
}

/// The commands and hashes that repeat the session.
pub(super) fn reproduce(model: &Model<'_>) -> Section {
    let mut section = Section::new("reproduce", "Reproduce");
    let directory = model.directory;
    let Some(session) = directory.sessions().next() else {
        return section;
    };
    let build = &session.build;
    section.paragraphs.push(format!(
        "Lab {} at commit {} (changed files: {}), {}, {} for {}, opt-level {}, flags: {}.",
        build.version,
        build.commit,
        build.dirty,
        build.rustc,
        build.profile,
        build.target,
        build.opt_level,
        if build.rustflags.is_empty() {
            "none"
        } else {
            &build.rustflags
        }
    ));
    section.points = vec![
        format!(
            "Measuring binary: {} ({} bytes)",
            session.binary,
            format::count(session.binary_bytes)
        ),
        format!("Cargo.lock: {}", build.lock),
        format!("Plan: {}", directory.plan_hash),
        format!("Last record: {}", directory.chain.last),
    ];
    let mut lines = vec![
        "cargo build --release -p arknet-lab".to_owned(),
        "# the plan of this session lies beside its records".to_owned(),
        "arknet-lab run DIR/plan.toml -o AGAIN".to_owned(),
        "arknet-lab verify AGAIN".to_owned(),
        "arknet-lab report AGAIN".to_owned(),
    ];
    if let Some(run) = directory.runs().next() {
        lines.push(format!("# one process of it, {}", run.id));
        lines.push(run.argv.join(" "));
    }
    section.code = lines.join("\n");
    section
}

/// What the figures do not say.
pub(super) fn limits(model: &Model<'_>) -> Section {
    let mut section = Section::new("limits", "Limits");
    let cpus = model
        .directory
        .sessions()
        .next()
        .map_or(0, |session| session.machine.cpus);
    section.points = [
        "Loopback only: no network card, no loss, no distance. These figures do not predict the capacity of a server.",
        "Closed loop: a client waits for its replies, so the rate falls when the server stalls and response times hide it. This measures capacity, not what users feel at a given load.",
        "Client and server share one process and its processors.",
        "No A/A floor was measured in this session; a difference that is smaller than the machine's own noise looks like any other.",
        "Ranges of a few runs are not confidence intervals, and ranges that do not overlap are not significance: with three runs against three they separate by chance in one cell of ten.",
        "Where no difference is visible here, that does not show that there is none.",
    ]
    .map(str::to_owned)
    .to_vec();
    if model
        .cells
        .iter()
        .any(|cell| usize::try_from(cell.cell.workload.io.threads).is_ok_and(|n| n > cpus))
    {
        section.points.push(format!(
            "Some configurations use more threads than the {cpus} processors that were available."
        ));
    }
    section
}
