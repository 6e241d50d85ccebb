//! Sessions with a measuring program that only pretends: order, failures, interruptions,
//! tampering and refusals, without waiting for traffic.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

mod fake;

use std::path::Path;

use arknet_lab::report::render::{self, ReportError};
use arknet_lab::run::directory::{Directory, RUNS_FILE};
use arknet_lab::run::plan::Plan;
use arknet_lab::run::record::{Body, Run, Status};
use arknet_lab::run::runner::{Outcome, RunError};
use arknet_lab::run::verify::verify;
use fake::{Fake, StopAfter};

fn small() -> Plan {
    Plan::find("native-tcp")
        .unwrap()
        .with(Some("work=0;io=shared"), None, None)
        .unwrap()
}

fn runs(path: &Path) -> Vec<Run> {
    Directory::open(path).unwrap().runs().cloned().collect()
}

#[test]
fn a_whole_session_verifies_and_every_pair_is_adjacent() {
    let fake = Fake::new("whole");
    let outcome = fake.run(&small(), false, None).unwrap();
    assert_eq!(outcome, Outcome::Complete { failed: 0 });
    let found = verify(&Directory::open(&fake.session()).unwrap());
    assert!(found.ok && found.complete, "{found:?}");
    assert_eq!((found.runs, found.expected), (24, 24));
    for pair in runs(&fake.session()).chunks(2) {
        assert_eq!((&pair[0].cell, pair[0].pair), (&pair[1].cell, pair[1].pair));
        assert_ne!(pair[0].arm, pair[1].arm);
        assert_eq!((pair[0].slot, pair[1].slot), (0, 1));
    }
}

#[test]
fn failed_runs_are_kept_with_their_counters_and_exclude_their_cell() {
    let fake = Fake::new("failed");
    fake.say("fault", "16 async");
    let outcome = fake.run(&small(), false, None).unwrap();
    assert_eq!(outcome, Outcome::Complete { failed: 6 });
    let directory = Directory::open(&fake.session()).unwrap();
    let found = verify(&directory);
    assert!(found.ok && found.complete && found.failed == 6, "{found:?}");
    let failed: Vec<_> = directory.runs().filter(|run| !run.is_ok()).collect();
    for run in &failed {
        assert_eq!((run.status, run.exit), (Status::Failed, Some(1)));
        assert_eq!(run.counters.get("content_errors"), Some(&7));
        assert!(run.metrics.is_some() && run.stderr_tail.contains("it went wrong"));
    }
    let pages = render::report(&fake.session()).unwrap();
    for page in [&pages.markdown, &pages.html] {
        assert!(page.contains("content_errors 7"));
        assert!(page.contains(&failed[0].id));
        assert!(page.contains("invalid"));
    }
    assert!(
        pages.html.contains("class=\"cross\""),
        "no failure mark is drawn"
    );
}

#[test]
fn databases_and_transports_share_a_session_and_its_report() {
    let fake = Fake::new("databases");
    fake.say("fault", "64 async");
    let plan = Plan::find("quick").unwrap();
    let outcome = fake.run(&plan, false, None).unwrap();
    assert_eq!(outcome, Outcome::Complete { failed: 3 });
    let directory = Directory::open(&fake.session()).unwrap();
    let found = verify(&directory);
    assert!(found.ok && found.complete, "{found:?}");
    let failed: Vec<_> = directory.runs().filter(|run| !run.is_ok()).collect();
    for run in &failed {
        assert!(run.cell.starts_with("engine=redis") && run.cell.contains("access=shared"));
        assert_eq!(run.counters.get("errors"), Some(&7));
    }
    let pages = render::report(&fake.session()).unwrap();
    for page in [&pages.markdown, &pages.html] {
        assert!(page.contains("Redis · lease, ECHO, return"));
        assert!(page.contains("MySQL · lease, SELECT, return"));
        assert!(page.contains("Endpoint TLS · windowed"));
        // Both kinds of figures stand in the same tables.
        assert!(page.contains("90.5") && page.contains("40.5"));
        assert!(page.contains("errors 7"));
    }
}

#[test]
fn an_interrupted_session_is_resumed_and_its_split_pair_run_again() {
    let fake = Fake::new("resumed");
    // The fourth process is the second of its pair.
    let outcome = fake.run(&small(), false, Some(StopAfter(3))).unwrap();
    assert_eq!(outcome, Outcome::Interrupted);
    let directory = Directory::open(&fake.session()).unwrap();
    let found = verify(&directory);
    assert!(found.ok && !found.complete, "{found:?}");
    assert_eq!(found.runs, 3);
    assert!(found.notes[0].contains("interrupted during"));
    assert!(matches!(
        render::report(&fake.session()),
        Err(ReportError::Incomplete {
            done: 3,
            expected: 24
        })
    ));

    let outcome = fake.run(&small(), true, None).unwrap();
    assert_eq!(outcome, Outcome::Complete { failed: 0 });
    let directory = Directory::open(&fake.session()).unwrap();
    let found = verify(&directory);
    assert!(found.ok && found.complete, "{found:?}");
    assert_eq!(found.runs, 25);
    assert_eq!(directory.sessions().count(), 2);
    let unused = directory.unused();
    assert_eq!(unused.len(), 1);
    assert_eq!(unused[0].attempt, 0);
    let report = render::report(&fake.session()).unwrap().markdown;
    assert!(report.contains("left without their partner"));
}

#[cfg(target_os = "linux")]
#[test]
fn an_interruption_ends_the_process_that_runs() {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{PidfdFlags, pidfd_open};

    let fake = Fake::new("ended");
    let (outcome, ended) = fake.run_hanging(
        &small(),
        |pid| pidfd_open(pid, PidfdFlags::empty()).unwrap(),
        |process| {
            // Readable once the process has ended; it would sleep for ten minutes.
            let limit = Timespec {
                tv_sec: 20,
                tv_nsec: 0,
            };
            poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&limit)).unwrap() == 1
        },
    );
    assert_eq!(outcome, Outcome::Interrupted);
    assert!(ended, "the process outlived the session");
}

#[test]
fn an_existing_directory_is_refused_and_left_alone() {
    let fake = Fake::new("existing");
    std::fs::create_dir(fake.session()).unwrap();
    let error = fake.run(&small(), false, None).unwrap_err();
    assert!(error.is_usage(), "{error}");
    assert_eq!(std::fs::read_dir(fake.session()).unwrap().count(), 0);
}

#[test]
fn another_plan_and_another_binary_cannot_resume_a_session() {
    let fake = Fake::new("other");
    fake.run(&small(), false, Some(StopAfter(2))).unwrap();
    let other = small().with(None, Some(5), None).unwrap();
    let before = std::fs::read(fake.session().join(RUNS_FILE)).unwrap();
    assert!(matches!(
        fake.run(&other, true, None),
        Err(RunError::OtherPlan(_))
    ));
    fake.change_program();
    assert!(matches!(
        fake.run(&small(), true, None),
        Err(RunError::OtherBinary(_))
    ));
    assert_eq!(
        std::fs::read(fake.session().join(RUNS_FILE)).unwrap(),
        before
    );
}

#[test]
fn a_changed_figure_breaks_the_chain_and_the_report_is_refused() {
    let fake = Fake::new("tampered");
    fake.run(&small(), false, None).unwrap();
    let path = fake.session().join(RUNS_FILE);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replacen("\"messages\":10000", "\"messages\":20000", 1),
    )
    .unwrap();
    let found = verify(&Directory::open(&fake.session()).unwrap());
    assert!(!found.ok && !found.complete);
    assert!(
        found.problems[0].contains("does not follow"),
        "{:?}",
        found.problems
    );
    assert!(matches!(
        render::report(&fake.session()),
        Err(ReportError::Unverifiable(_))
    ));
}

#[test]
fn a_plan_that_is_changed_afterwards_is_noticed() {
    let fake = Fake::new("plan");
    fake.run(&small(), false, None).unwrap();
    let path = fake.session().join("plan.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(
        &path,
        text.replace("equivalence_margin = 0.03", "equivalence_margin = 0.3"),
    )
    .unwrap();
    let found = verify(&Directory::open(&fake.session()).unwrap());
    assert!(!found.ok, "{found:?}");
}

#[test]
fn a_lost_line_is_noticed_even_at_the_end() {
    let fake = Fake::new("lost");
    fake.run(&small(), false, None).unwrap();
    let path = fake.session().join(RUNS_FILE);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let seal = lines.pop().unwrap();
    lines.pop();
    std::fs::write(&path, format!("{}\n{seal}\n", lines.join("\n"))).unwrap();
    assert!(!verify(&Directory::open(&fake.session()).unwrap()).ok);
    std::fs::write(&path, format!("{}\n", lines.join("\n"))).unwrap();
    let found = verify(&Directory::open(&fake.session()).unwrap());
    assert!(
        found.ok && !found.complete,
        "a shorter session is an unfinished one: {found:?}"
    );
}

#[test]
fn records_name_no_host_no_user_and_no_home() {
    let fake = Fake::new("names");
    fake.run(&small(), false, None).unwrap();
    let text = std::fs::read_to_string(fake.session().join(RUNS_FILE)).unwrap();
    assert!(!text.contains(fake.session().parent().unwrap().to_str().unwrap()));
    for line in &Directory::open(&fake.session()).unwrap().chain.lines {
        if let Body::Run(run) = &line.body {
            assert_eq!(run.argv[0], "arknet-lab");
            assert!(run.env.keys().all(|name| name != "HOME" && name != "USER"));
        }
    }
}
