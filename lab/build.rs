//! Writes down what was built: compiler, flags, profile and commit become part of every session
//! record, and only the build knows them.

use std::process::Command;

fn main() {
    let unknown = || "unknown".to_owned();
    let rustc = std::env::var("RUSTC")
        .ok()
        .and_then(|rustc| output(&rustc, &["-V"]));
    emit("RUSTC", &rustc.unwrap_or_else(unknown));
    for (key, variable) in [
        ("TARGET", "TARGET"),
        ("PROFILE", "PROFILE"),
        ("OPT_LEVEL", "OPT_LEVEL"),
    ] {
        emit(key, &std::env::var(variable).unwrap_or_else(|_| unknown()));
    }
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    emit("RUSTFLAGS", &flags.replace('\u{1f}', " "));
    emit(
        "COMMIT",
        &output("git", &["rev-parse", "HEAD"]).unwrap_or_else(unknown),
    );
    let dirty = output("git", &["status", "--porcelain", "--untracked-files=no"]);
    emit(
        "DIRTY",
        dirty.map_or(
            "unknown",
            |status| if status.is_empty() { "no" } else { "yes" },
        ),
    );
    watch();
}

fn emit(key: &str, value: &str) {
    println!("cargo::rustc-env=ARKNET_LAB_{key}={value}");
}

/// The commit and its dirtiness change with any of these, not only with this package's files.
fn watch() {
    for path in [
        "../crates",
        "src",
        "plans",
        "build.rs",
        "Cargo.toml",
        "../Cargo.lock",
        "../Cargo.toml",
    ] {
        if std::path::Path::new(path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    // The log of HEAD changes with every commit and checkout, in linked worktrees too.
    if let Some(log) = output("git", &["rev-parse", "--git-path", "logs/HEAD"])
        && std::path::Path::new(&log).exists()
    {
        println!("cargo::rerun-if-changed={log}");
    }
    println!("cargo::rerun-if-env-changed=RUSTFLAGS");
}

fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
