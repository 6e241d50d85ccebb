//! Documents cannot drift: what they point at is there.
#![cfg(not(miri))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The cases of the system that ours descends from; the page accounts for each.
const CATALOGUED_CASES: usize = 133;

#[test]
fn every_relative_link_leads_to_a_file() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in links(&text) {
            if !document.parent().unwrap().join(link).exists() {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(
        broken.is_empty(),
        "links that lead nowhere:\n{}",
        broken.join("\n")
    );
}

#[test]
fn the_test_catalogue_accounts_for_every_case() {
    let text = fs::read_to_string(root().join("docs/why/test-catalogue.md")).unwrap();
    let cases = text
        .lines()
        .filter(|line| {
            let number = line
                .trim_start_matches("| ")
                .split(' ')
                .next()
                .unwrap_or_default();
            line.starts_with("| ") && number.parse::<u32>().is_ok()
        })
        .count();
    assert_eq!(cases, CATALOGUED_CASES);
}

#[test]
fn the_test_catalogue_names_files_that_exist() {
    let text = fs::read_to_string(root().join("docs/why/test-catalogue.md")).unwrap();
    let missing: Vec<&str> = quoted(&text)
        .filter(|name| name.contains('/') && name.ends_with(".rs"))
        .filter(|name| {
            let path = root().join(name);
            // A folder that has not landed yet is owed as a whole, by the change that brings it.
            path.parent().unwrap().is_dir() && !path.exists()
        })
        .collect();
    assert!(
        missing.is_empty(),
        "the catalogue names what is not there: {missing:?}"
    );
}

#[test]
fn the_failures_of_redis_clients_name_tests_that_exist() {
    let text = fs::read_to_string(root().join("docs/why/redis-failures.md")).unwrap();
    let kinds: String = text
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" |"))
        .map(|(kind, _)| kind)
        .filter(|kind| kind.len() == 1)
        .collect();
    assert_eq!(kinds, "ABCDEFGHIJKLMNO");
    let rows = text.lines().filter(|line| line.starts_with("| "));
    let mut missing = Vec::new();
    for row in rows {
        let mut story = String::new();
        for name in quoted(row) {
            if name.ends_with(".rs") {
                let path = root().join("crates/arknet/tests/redis").join(name);
                story = fs::read_to_string(path).unwrap_or_default();
                if story.is_empty() {
                    missing.push(name);
                }
            } else if name.contains('_') && !story.contains(&format!("fn {name}()")) {
                missing.push(name);
            }
        }
    }
    assert!(
        missing.is_empty(),
        "the page names what is not there: {missing:?}"
    );
}

#[test]
fn links_are_told_from_addresses_and_anchors() {
    let text = "[a](b.md) [c](https://example.org) [d](#e) [f](g/h.md#i) `[x](y)`";
    assert_eq!(links(text).collect::<Vec<_>>(), ["b.md", "g/h.md", "y"]);
}

#[test]
fn the_tutorial_quotes_its_example_word_for_word() {
    // Indented as it may be, in the one as in the other.
    let plain = |text: &str| -> String {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join("\n")
    };
    let mut example = String::new();
    for entry in fs::read_dir(root().join("crates/arknet/examples/arena")).unwrap() {
        example.push_str(&plain(&fs::read_to_string(entry.unwrap().path()).unwrap()));
        example.push('\n');
    }
    let tutorial = fs::read_to_string(root().join("docs/tutorial.md")).unwrap();
    let quotes: Vec<&str> = tutorial
        .split("```rust\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(quotes.len() > 5, "the tutorial shows the code");
    for quote in quotes {
        assert!(
            example.contains(&plain(quote)),
            "not in the example:\n{quote}"
        );
    }
}

/// The targets of Markdown links that are paths, without their anchors.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
        .map(|target| target.split('#').next().unwrap_or_default())
        .filter(|target| !target.is_empty())
}

/// What stands between backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The Markdown files of the root and of `docs/`.
fn documents() -> Vec<PathBuf> {
    let mut documents = Vec::new();
    for folder in ["", "docs", "docs/why"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                documents.push(path);
            }
        }
    }
    documents
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}
