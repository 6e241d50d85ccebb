//! Peers as child processes: they are heard, waited for, and never outlive their value.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use arknet_testkit::process::{Peer, which};

const SOON: Duration = Duration::from_secs(10);

fn shell(script: &str) -> Peer {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    Peer::spawn(command).unwrap()
}

#[test]
fn is_heard_on_both_streams_and_waited_for() {
    let mut peer = shell("echo 4711; echo trouble >&2; exit 3");
    assert_eq!(peer.stdout().next_line(SOON).unwrap(), "4711");
    assert_eq!(
        peer.stderr().line_containing("trouble", SOON).unwrap(),
        "trouble"
    );
    assert_eq!(peer.wait(SOON).unwrap().code(), Some(3));
    assert_eq!(peer.stdout().text(), "4711\n");
}

#[test]
fn takes_input_until_it_is_closed() {
    let mut peer = shell("exec cat");
    peer.write(b"hello\n").unwrap();
    assert_eq!(peer.stdout().next_line(SOON).unwrap(), "hello");
    peer.close_input();
    assert!(peer.wait(SOON).unwrap().success());
    assert_eq!(
        peer.write(b"x").unwrap_err().kind(),
        io::ErrorKind::BrokenPipe
    );
}

#[test]
fn a_silent_peer_meets_the_deadline() {
    let mut peer = shell("exec cat");
    let within = Duration::from_millis(20);
    assert_eq!(
        peer.stdout().next_line(within).unwrap_err().kind(),
        io::ErrorKind::TimedOut
    );
    assert_eq!(
        peer.wait(within).unwrap_err().kind(),
        io::ErrorKind::TimedOut
    );
}

#[test]
fn a_program_that_is_missing_is_named() {
    let error = Peer::spawn(Command::new("arknet-no-such-program")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(
        error.to_string().contains("arknet-no-such-program"),
        "{error}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn dropping_it_kills_its_children_too() {
    let peer = shell("sleep 600 & echo $!; wait");
    let grandchild = peer.stdout().next_line(SOON).unwrap();
    let own = PathBuf::from(format!("/proc/{}", peer.id()));
    assert!(own.exists());
    drop(peer);
    assert!(!own.exists());
    wait_until(|| ended(&grandchild));
}

#[cfg(target_os = "linux")]
#[test]
fn dies_with_the_thread_that_spawned_it() {
    let peer = std::thread::spawn(|| shell("exec cat")).join().unwrap();
    wait_until(|| ended(&peer.id().to_string()));
}

#[test]
fn skipping_is_loud_and_fails_where_peers_are_required() {
    let (passed, said) = run_skipping_test(None);
    assert!(passed, "{said}");
    assert!(
        said.contains("SKIPPED: ") && said.contains("socat is not installed"),
        "{said}"
    );

    let (passed, said) = run_skipping_test(Some("1"));
    assert!(!passed, "{said}");
    assert!(
        said.contains("may not be skipped under ARKNET_REQUIRE_PEERS=1"),
        "{said}"
    );
}

/// Runs the test below in a process of its own, because the environment belongs to a process.
fn run_skipping_test(required: Option<&str>) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "skips_on_behalf_of_another_test", "--ignored"]);
    command.env_remove("ARKNET_REQUIRE_PEERS");
    command.envs(required.map(|value| ("ARKNET_REQUIRE_PEERS", value)));
    let mut peer = Peer::spawn(command).unwrap();
    let passed = peer.wait(SOON).unwrap().success();
    (passed, peer.stdout().text() + &peer.stderr().text())
}

#[test]
#[ignore = "run by skipping_is_loud_and_fails_where_peers_are_required"]
fn skips_on_behalf_of_another_test() {
    if which("arknet-no-such-program").is_none() {
        arknet_testkit::skip!("{} is not installed", "socat");
    }
    panic!("not reached");
}

/// Gone, or a zombie that whoever adopted it has not collected yet.
#[cfg(target_os = "linux")]
fn ended(id: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit(')')
        .next()
        .is_none_or(|rest| rest.trim_start().starts_with('Z'))
        || stat.is_empty()
}

#[cfg(target_os = "linux")]
fn wait_until(reached: impl Fn() -> bool) {
    let end = Instant::now() + SOON;
    while !reached() {
        assert!(Instant::now() < end, "not reached within {SOON:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
