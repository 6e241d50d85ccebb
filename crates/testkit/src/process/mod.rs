//! Independent peers as child processes: `openssl`, `socat`, Python.
//!
//! A library that is only tested against itself agrees with its own mistakes. A test that wants a
//! peer which is not installed says so with [`skip!`](crate::skip), loudly, and fails instead
//! where `ARKNET_REQUIRE_PEERS=1` says that the machine has them all.

mod output;
mod peer;

use std::env;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use output::Output;
pub use peer::{Peer, die_with_parent};

/// Set to `1` where a missing peer is a failure, not a skip: in continuous integration.
pub const REQUIRE_PEERS: &str = "ARKNET_REQUIRE_PEERS";

/// Says on standard error that this test is skipped, and why, and returns from it.
///
/// The message takes arguments as `format!` does.
///
/// # Panics
///
/// When `ARKNET_REQUIRE_PEERS=1` is set: then the test fails instead.
///
/// ```
/// use arknet_testkit::{process::which, skip};
///
/// fn speaks_to_socat() {
///     let Some(socat) = which("socat") else { skip!("socat is not installed") };
///     // ...
/// #   drop(socat);
/// }
/// ```
#[macro_export]
macro_rules! skip {
    ($($reason:tt)+) => {{
        $crate::process::skipped(::std::format_args!($($reason)+));
        return;
    }};
}

/// What [`skip!`](crate::skip) says before it returns.
///
/// # Panics
///
/// When `ARKNET_REQUIRE_PEERS=1` is set.
pub fn skipped(reason: fmt::Arguments<'_>) {
    assert!(
        env::var_os(REQUIRE_PEERS).is_none_or(|value| value != "1"),
        "{} may not be skipped under {REQUIRE_PEERS}=1: {reason}",
        this_test()
    );
    skipped_anywhere(reason);
}

/// What [`skipped`] says, for a peer that no machine is bound to have.
pub fn skipped_anywhere(reason: fmt::Arguments<'_>) {
    let test = this_test();
    // Written past the harness, which swallows what a passing test prints through `eprintln!`. A
    // standard error that is closed must not fail the test.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: {reason}");
}

fn this_test() -> String {
    std::thread::current().name().unwrap_or("a test").to_owned()
}

/// Where `program` is: itself if it is a path, else the first executable file of that name in
/// `PATH`.
#[must_use]
pub fn which(program: impl AsRef<Path>) -> Option<PathBuf> {
    let program = program.as_ref();
    if program.components().count() > 1 {
        return executable(program).then(|| program.to_owned());
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| executable(file))
}

/// A command for the Python peer of this crate (`peers/tcp_peer.py`, which documents its
/// arguments with `--help`), or `None` where there is no `python3`.
#[must_use]
pub fn python_peer() -> Option<Command> {
    let mut command = Command::new(which("python3")?);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/peers/tcp_peer.py"));
    Some(command)
}

#[cfg(unix)]
fn executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata()
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn executable(file: &Path) -> bool {
    file.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_program_by_name_and_by_path() {
        let this = env::current_exe().unwrap();
        assert_eq!(which(&this), Some(this));
        assert_eq!(which("arknet-no-such-program"), None);
        assert_eq!(which("/no/such/program"), None);
    }

    #[cfg(unix)]
    #[test]
    fn finds_the_shell_in_the_path() {
        let shell = which("sh").unwrap();
        assert!(
            shell.is_absolute() && shell.ends_with("sh"),
            "{}",
            shell.display()
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_cannot_be_run_is_no_program() {
        let dir = crate::TempDir::new("arknet-which").unwrap();
        let file = dir.join("text");
        std::fs::write(&file, "text").unwrap();
        assert_eq!(which(file), None);
    }
}
