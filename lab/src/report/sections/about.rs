//! What was asked, what the figures cover, how to do it again, and what they do not say.

use std::collections::BTreeSet;

use crate::report::format;
use crate::report::model::Model;
use crate::report::table::{Row, Table, Text};
use crate::run::plan::{DatabaseGroup, Group, Plan, TransportGroup};
use crate::run::workload::{Access, Api, Implementation, Traffic, Workload};

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
    let groups = plan.groups.iter().map(|group| ("Group", group.facts()));
    facts.extend(groups);
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
    section.points.extend(of_transports(groups));
    section.points.extend(of_databases(groups));
    let back_ends: Vec<String> = back_ends(model).into_iter().collect();
    if !back_ends.is_empty() {
        let text = format!("Back ends: {}.", back_ends.join(", "));
        section.points.push(text);
    }
    for interval in intervals(model) {
        section
            .points
            .push(format!("CPU% of {interval}, client and server together."));
    }
    section.points.extend(
        [
            "100 % CPU is one processor. CPU per message is processor time, user and system, over the messages of the measured phase; of a database, over its operations.",
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

fn of_transports(groups: &[Group]) -> Vec<String> {
    let transports = groups.iter().filter_map(|group| match group {
        Group::Transport(group) => Some(group),
        Group::Database(_) => None,
    });
    let transports: Vec<&TransportGroup> = transports.collect();
    let mut points = Vec::new();
    let any = |implementation| {
        transports
            .iter()
            .any(|group| group.implementation == implementation)
    };
    if any(Implementation::Native) {
        points.push(
            "native: bare sockets, without arknet's endpoints. Callbacks are a state machine on \
             readiness, async are tasks on tokio; both share one generator, one validator and one \
             work function."
                .to_owned(),
        );
    }
    if any(Implementation::Endpoint) {
        points.push(
            "endpoint: arknet's public API in either style, every message checked for content and order."
                .to_owned(),
        );
    }
    let any = |traffic| transports.iter().any(|group| group.traffic == traffic);
    if any(Traffic::Batch) {
        points.push(
            "batch: a client writes its whole window, reads all of it back, and begins again; \
             response time is per batch (window 1: per message)."
                .to_owned(),
        );
    }
    if any(Traffic::Windowed) {
        points.push(
            "windowed: one new message for each that came back; response time is per message."
                .to_owned(),
        );
    }
    if !transports.is_empty() {
        points.push(
            "Client and server of a transport share one process: its processor time is that of both."
                .to_owned(),
        );
    }
    points
}

fn of_databases(groups: &[Group]) -> Vec<String> {
    let databases = groups.iter().filter_map(|group| match group {
        Group::Database(group) => Some(group),
        Group::Transport(_) => None,
    });
    let databases: Vec<&DatabaseGroup> = databases.collect();
    let mut points = Vec::new();
    let any = |access| databases.iter().any(|group| group.access == access);
    if any(Access::Lease) {
        points.push(
            "lease: each operation leases a connection of a pool, does one binary ECHO, checks the \
             reply and returns the connection; response time begins before the lease is asked for."
                .to_owned(),
        );
    }
    if databases.iter().any(|group| group.api == Api::Owner) {
        points.push(
            "owner: one thread submits operations and has their results delivered, by callbacks or to tasks, and one IO lane \
             serves the whole pool; response time runs from the owner's submission to the owner's delivery. A cadence does not \
             catch up with ticks that it missed. An owner that polls without a pause beside an IO thread and a server needs three \
             processors: where there are fewer, they take each other's time, and throughput says so."
                .to_owned(),
        );
    }
    if any(Access::Shared) {
        points.push(
            "shared: each operation is one binary ECHO on a connection that all operations share, \
             and its reply is checked."
                .to_owned(),
        );
    }
    if !databases.is_empty() {
        points.push(
            "The database is the lab's embedded server in a process of its own, and fixed counts of \
             operations are measured: processor time and memory are the client's alone, throughput \
             is that of the two together."
                .to_owned(),
        );
    }
    points
}

/// What the records say that moved the bytes.
fn back_ends(model: &Model<'_>) -> BTreeSet<String> {
    let said = model.directory.runs().filter_map(|run| {
        let Workload::Transport(transport) = &run.workload else {
            return None;
        };
        let back_end = run.metrics.as_ref()?.get("backend")?.as_str()?;
        Some(format!(
            "{} {} on {back_end}",
            transport.implementation, run.arm
        ))
    });
    said.collect()
}

/// What the records say that processor time covers, by implementation.
fn intervals(model: &Model<'_>) -> BTreeSet<String> {
    let said = model.directory.runs().filter_map(|run| {
        let Workload::Transport(workload) = &run.workload else {
            return None;
        };
        let interval = run.metrics.as_ref()?.get("cpu_interval")?.as_str()?;
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
        "Client and server share one machine, and where they are a transport's one process too.",
        "No A/A floor was measured in this session; a difference that is smaller than the machine's own noise looks like any other.",
        "Ranges of a few runs are not confidence intervals, and ranges that do not overlap are not significance: with three runs against three they separate by chance in one cell of ten.",
        "Where no difference is visible here, that does not show that there is none.",
    ]
    .map(str::to_owned)
    .to_vec();
    if model
        .cells
        .iter()
        .any(|cell| usize::try_from(cell.cell.workload.threads()).is_ok_and(|n| n > cpus))
    {
        section.points.push(format!(
            "Some configurations use more threads than the {cpus} processors that were available."
        ));
    }
    section
}
