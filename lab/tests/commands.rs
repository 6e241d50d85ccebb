//! The program as a person runs it: exit statuses, streams, and what is and is not written.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn lab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_arknet-lab"))
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("arknet-cli-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn is_empty(&self) -> bool {
        std::fs::read_dir(&self.0).unwrap().next().is_none()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The smallest real session: two cells, one pair each, a twentieth of a second.
const SMALL: [&str; 6] = [
    "--filter",
    "work=0;io=shared:1",
    "--repetitions",
    "1",
    "--seconds",
    "0.05",
];

fn small(directory: &str) -> Output {
    let mut arguments = vec!["run", "native-tcp-short", "-o", directory];
    arguments.extend(SMALL);
    lab(&arguments)
}

#[test]
fn usage_exits_with_2_says_why_and_writes_nothing() {
    let scratch = Scratch::new("usage");
    let out = scratch.path("session");
    let cases: [&[&str]; 7] = [
        &["run", "no-such-plan", "-o", &out],
        &["run", "native-tcp", "-o", &out, "--repetitions", "0"],
        &["run", "native-tcp", "-o", &out, "--seconds", "nan"],
        &["run", "native-tcp", "-o", &out, "--filter", "window=99"],
        &["run", "native-tcp"],
        &["plan", "show", "no-such-plan"],
        &["verify", &out],
    ];
    for arguments in cases {
        let output = lab(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
        assert!(scratch.is_empty(), "{arguments:?}");
    }
}

#[test]
fn an_existing_directory_is_usage_without_resume() {
    let scratch = Scratch::new("existing");
    std::fs::create_dir(scratch.path("session")).unwrap();
    for arguments in [
        ["run", "native-tcp-short", "-o", &scratch.path("session")].as_slice(),
        ["quick", "--out", &scratch.path("session")].as_slice(),
    ] {
        assert_eq!(lab(arguments).status.code(), Some(2));
        assert_eq!(
            std::fs::read_dir(scratch.path("session")).unwrap().count(),
            0
        );
    }
}

#[test]
fn plans_are_listed_and_shown() {
    let listed = lab(&["plan", "list", "--json"]);
    let plans: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let names: Vec<&str> = plans
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|plan| plan["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "quick",
            "native-tcp",
            "native-tcp-short",
            "endpoint-tcp-short",
            "database",
            "database-short"
        ]
    );
    let shown = text(&lab(&["plan", "show", "native-tcp"]).stdout);
    let cells = shown
        .lines()
        .filter(|line| line.starts_with("# impl=native;"))
        .count();
    assert_eq!(cells, 12);
}

#[test]
fn a_session_is_measured_verified_reported_shown_and_repeated() {
    let scratch = Scratch::new("whole");
    let out = scratch.path("session");
    let output = small(&out);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        output.stdout.is_empty(),
        "progress belongs to standard error"
    );

    let verified = lab(&["verify", &out, "--json"]);
    let found: Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert_eq!(verified.status.code(), Some(0), "{found}");
    assert_eq!(
        (&found["complete"], &found["runs"]),
        (&Value::from(true), &Value::from(4))
    );

    assert_eq!(lab(&["report", &out]).status.code(), Some(0));
    for page in ["report.md", "report.html", "llms.txt"] {
        assert!(Path::new(&out).join(page).exists(), "{page}");
    }

    let shown = lab(&["show", &out, "r0001"]);
    let record: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(record["id"], "r0001");
    assert!(record["metrics"]["rtt_histogram"].is_string());
    let repeated = text(&lab(&["repro", &out, "r0001"]).stdout);
    assert!(repeated.contains("(this program)"), "{repeated}");
    let command = repeated.lines().last().unwrap();
    assert!(
        command.contains("arknet-lab measure transport --protocol tcp"),
        "{command}"
    );
    assert_eq!(lab(&["show", &out, "r9999"]).status.code(), Some(2));
}

#[test]
fn an_interrupt_ends_with_130_and_the_directory_can_be_resumed() {
    let scratch = Scratch::new("interrupt");
    let out = scratch.path("session");
    let mut arguments = vec!["run", "native-tcp-short", "-o", &out];
    arguments.extend(SMALL);
    // Long enough that the signal always meets a process that runs.
    arguments[9] = "60";
    let mut child = Command::new(env!("CARGO_BIN_EXE_arknet-lab"))
        .args(&arguments)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    // Its first line comes after its signal handlers.
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("4 processes"), "{line}");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");

    let verified = lab(&["verify", &out, "--json"]);
    let found: Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert_eq!(verified.status.code(), Some(0), "{found}");
    assert_eq!(found["complete"], false);
    let refused = lab(&["report", &out]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("not complete"));
    assert!(!Path::new(&out).join("report.html").exists());
}

#[test]
fn a_resumed_session_keeps_its_plan_and_a_finished_one_is_left_alone() {
    let scratch = Scratch::new("resume");
    let out = scratch.path("session");
    assert_eq!(small(&out).status.code(), Some(0));
    let before = std::fs::read(Path::new(&out).join("runs.jsonl")).unwrap();
    let again = lab(&["run", "native-tcp-short", "-o", &out, "--resume"]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    assert_eq!(
        std::fs::read(Path::new(&out).join("runs.jsonl")).unwrap(),
        before
    );
    let other = lab(&[
        "run",
        "native-tcp-short",
        "-o",
        &out,
        "--resume",
        "--repetitions",
        "2",
    ]);
    assert_eq!(other.status.code(), Some(2));
}

#[test]
fn the_report_can_be_written_elsewhere() {
    let scratch = Scratch::new("elsewhere");
    let out = scratch.path("session");
    small(&out);
    let page = scratch.path("page.md");
    assert_eq!(
        lab(&["report", &out, "--markdown", &page]).status.code(),
        Some(0)
    );
    assert!(
        std::fs::read_to_string(page)
            .unwrap()
            .starts_with("# Native TCP")
    );
    assert!(Path::new(&scratch.path("llms.txt")).exists());
    assert!(!Path::new(&out).join("report.html").exists());
}

#[test]
fn the_doctor_says_what_may_be_claimed_and_exits_by_it() {
    let output = lab(&["doctor", "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let expected = if found["fit"] == true { 0 } else { 4 };
    assert_eq!(output.status.code(), Some(expected), "{found}");
    assert_eq!(found["fit"], found["faults"].as_array().unwrap().is_empty());
    assert!(!found["claims"].as_array().unwrap().is_empty());
    assert!(
        found["floor"]["throughput_percent"].as_f64().unwrap() >= 0.0,
        "{found}"
    );
    assert!(
        found["calibration"]["wall_over_cpu"]["median"]
            .as_f64()
            .unwrap()
            > 0.5
    );
}
