//! What the project may depend on, and how its manifests are written.
//!
//! Only what a user or a contributor builds is judged: the default members and everything they pull
//! in. `lab/rivals` and `fuzz/` stay outside, since what they depend on never reaches a user.
#![cfg(not(miri))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// Licences that ask no more of a user than a notice.
const ALLOWED_LICENCES: &[&str] = &[
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "OpenSSL",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates that are there in two versions, with the reason why that cannot be helped.
const ALLOWED_DUPLICATES: &[(&str, &str)] = &[
    (
        "base64",
        "hdrhistogram wants 0.22, pem (by way of rcgen) 0.23; tools only, no user builds either",
    ),
    (
        "syn",
        "a macro of curve25519-dalek, which signs for MariaDB's ed25519, wants 2, everybody else 3",
    ),
];

#[test]
fn every_dependency_has_a_licence_that_asks_for_a_notice_only() {
    let metadata = metadata();
    let refused: Vec<String> = reachable_from_default_members(&metadata)
        .into_iter()
        .filter_map(|package| {
            let name = text(package, "name");
            match package["license"].as_str() {
                None => Some(format!("{name}: states no licence")),
                Some(expression) if is_allowed(expression) => None,
                Some(expression) => Some(format!("{name}: {expression}")),
            }
        })
        .collect();
    assert!(
        refused.is_empty(),
        "licences that are not on the list:\n{}",
        refused.join("\n")
    );
}

#[test]
fn a_licence_expression_is_read_as_spdx_defines_it() {
    assert!(is_allowed("MIT"));
    assert!(is_allowed("MIT/Apache-2.0"));
    assert!(is_allowed("GPL-3.0 OR MIT"));
    assert!(is_allowed("(MIT OR GPL-3.0) AND Unicode-3.0"));
    assert!(is_allowed("Apache-2.0 WITH LLVM-exception"));
    assert!(!is_allowed("GPL-3.0"));
    assert!(!is_allowed("MIT AND GPL-3.0"));
    assert!(!is_allowed("MIT AND (GPL-3.0 OR LGPL-2.1)"));
    assert!(!is_allowed("MIT WITH some-exception"));
    assert!(!is_allowed("MIT MIT"));
    assert!(!is_allowed("(MIT"));
    assert!(!is_allowed(""));
}

#[test]
fn no_dependency_is_built_in_two_versions_without_a_reason() {
    let mut command = cargo();
    // One platform, the one of tier 1: elsewhere the list would not be the same.
    command.args(["tree", "--duplicates", "--depth", "0", "--prefix", "none"]);
    command.args([
        "--edges",
        "normal,build,dev",
        "--target",
        "x86_64-unknown-linux-gnu",
    ]);
    command.args(["--format", "{p}"]);
    let found = duplicates(&output_of(command));

    let unexplained: Vec<_> = found
        .iter()
        .filter(|(name, _)| {
            ALLOWED_DUPLICATES
                .iter()
                .all(|(allowed, _)| allowed != name)
        })
        .collect();
    assert!(
        unexplained.is_empty(),
        "in more than one version: {unexplained:?}"
    );

    let outdated: Vec<_> = ALLOWED_DUPLICATES
        .iter()
        .filter(|(name, _)| !found.contains_key(*name))
        .collect();
    assert!(
        outdated.is_empty(),
        "no longer there twice, strike from the list: {outdated:?}"
    );
}

#[test]
fn two_versions_of_one_crate_are_told_from_one_version_seen_twice() {
    let found = duplicates("a v1.0.0\na v1.0.0\nb v1.0.0\n\nb v2.1.0 (proc-macro)\n");
    assert_eq!(found.keys().collect::<Vec<_>>(), ["b"]);
}

#[test]
fn the_minimum_rust_version_is_stated_once() {
    // The fuzz targets are a workspace of their own, and take what the toolchain gives.
    let fuzz = Some(root().join("fuzz/Cargo.toml")).filter(|path| path.exists());
    let stated: Vec<PathBuf> = manifests()
        .into_iter()
        .chain(fuzz)
        .filter(|path| {
            let manifest = fs::read_to_string(path).unwrap();
            manifest
                .lines()
                .any(|line| line.trim_start().starts_with("rust-version ="))
        })
        .collect();
    assert_eq!(stated, [root().join("Cargo.toml")]);
}

#[test]
fn every_member_takes_the_lints_of_the_workspace() {
    let without: Vec<PathBuf> = manifests()
        .into_iter()
        .filter(|path| *path != root().join("Cargo.toml"))
        .filter(|path| {
            let manifest = fs::read_to_string(path).unwrap();
            !manifest.contains("[lints]\nworkspace = true")
        })
        .collect();
    assert!(
        without.is_empty(),
        "without the lints of the workspace: {without:?}"
    );
}

#[test]
fn a_user_builds_nothing_that_is_not_published() {
    let metadata = metadata();
    let published: Vec<&Value> = array(&metadata, "packages")
        .iter()
        .filter(|package| matches!(text(package, "name"), "arknet" | "arknet-proto"))
        .collect();
    assert_eq!(published.len(), 2);
    for package in published {
        assert!(
            package["publish"].is_null(),
            "{} is not published",
            text(package, "name")
        );
        for dependency in array(package, "dependencies") {
            // A path without a version is dropped from a package only where it serves tests.
            let unpublished = dependency["path"].is_string() && text(dependency, "req") == "*";
            let for_tests = dependency["kind"].as_str() == Some("dev");
            let (user, used) = (text(package, "name"), text(dependency, "name"));
            assert!(
                !unpublished || for_tests,
                "{user} needs {used}, which is not published"
            );
        }
    }
}

/// The packages that the default members are built from, themselves included.
fn reachable_from_default_members(metadata: &Value) -> Vec<&Value> {
    let edges: BTreeMap<&str, &Vec<Value>> = array(&metadata["resolve"], "nodes")
        .iter()
        .map(|node| (text(node, "id"), array(node, "dependencies")))
        .collect();
    let members = array(metadata, "workspace_default_members");
    let mut waiting: Vec<&str> = members.iter().map(|id| id.as_str().unwrap()).collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if seen.insert(id) {
            waiting.extend(edges[id].iter().map(|id| id.as_str().unwrap()));
        }
    }
    array(metadata, "packages")
        .iter()
        .filter(|package| seen.contains(text(package, "id")))
        .collect()
}

/// The versions of every crate that `cargo tree --duplicates` names in more than one.
fn duplicates(tree: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in tree.lines() {
        let mut words = line.split_whitespace();
        if let (Some(name), Some(version)) = (words.next(), words.next()) {
            versions
                .entry(name.to_owned())
                .or_default()
                .insert(version.to_owned());
        }
    }
    // The same version for the build machine and for the target is one download and one licence.
    versions.retain(|_, versions| versions.len() > 1);
    versions
}

/// Whether an SPDX expression can be met with the licences of the list.
fn is_allowed(expression: &str) -> bool {
    // Older manifests write `/` for `OR`.
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Licence { words: &words };
    reader.any_of() == Some(true) && reader.words.is_empty()
}

/// Reads an expression from left to right; `None` is an expression that cannot be read.
struct Licence<'a> {
    words: &'a [&'a str],
}

impl Licence<'_> {
    fn any_of(&mut self) -> Option<bool> {
        let mut allowed = self.all_of()?;
        while self.take("OR") {
            allowed |= self.all_of()?;
        }
        Some(allowed)
    }

    fn all_of(&mut self) -> Option<bool> {
        let mut allowed = self.one()?;
        while self.take("AND") {
            allowed &= self.one()?;
        }
        Some(allowed)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let allowed = self.any_of()?;
            return self.take(")").then_some(allowed);
        }
        let (name, rest) = self.words.split_first()?;
        self.words = rest;
        if self.take("WITH") {
            let (exception, rest) = self.words.split_first()?;
            self.words = rest;
            return Some(ALLOWED_LICENCES.contains(&format!("{name} WITH {exception}").as_str()));
        }
        Some(ALLOWED_LICENCES.contains(name))
    }

    fn take(&mut self, word: &str) -> bool {
        match self.words.split_first() {
            Some((first, rest)) if *first == word => {
                self.words = rest;
                true
            }
            _ => false,
        }
    }
}

/// The manifests of the workspace: its own and its members'.
fn manifests() -> Vec<PathBuf> {
    let metadata = metadata();
    let members: BTreeSet<&str> = array(&metadata, "workspace_members")
        .iter()
        .map(|id| id.as_str().unwrap())
        .collect();
    let mut manifests = vec![root().join("Cargo.toml")];
    manifests.extend(
        array(&metadata, "packages")
            .iter()
            .filter(|package| members.contains(text(package, "id")))
            .map(|package| PathBuf::from(text(package, "manifest_path"))),
    );
    manifests
}

fn metadata() -> Value {
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1"]);
    serde_json::from_str(&output_of(command)).unwrap()
}

fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

fn output_of(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("no text called {key} in {value}"))
}

fn array<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key]
        .as_array()
        .unwrap_or_else(|| panic!("no list called {key} in {value}"))
}
