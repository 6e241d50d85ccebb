//! The table of names in the documentation is the one of the code.

use std::collections::BTreeMap;

use arknet::Lanes;
use arknet::pool::PoolConfig;
use arknet::redis::{Client, Config, Pool, Subscriber};
use metrics::Unit;

use crate::recorder::Notes;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");

fn page() -> String {
    std::fs::read_to_string(PAGE).unwrap()
}

/// The rows `| name | kind | unit | labels | text |` of the page.
fn table(page: &str) -> BTreeMap<&str, [&str; 3]> {
    let rows = page.lines().filter(|line| line.starts_with("| `arknet_"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let &["", name, kind, unit, _labels, text, ""] = cells.as_slice() else {
            panic!("not a row of five: {row}");
        };
        (name.trim_matches('`'), [kind, unit, text])
    })
    .collect()
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "count",
        Unit::Bytes => "bytes",
        Unit::Seconds => "seconds",
        other => panic!("{other:?} is not documented"),
    }
}

#[test]
fn the_page_has_every_name_with_its_kind_its_unit_and_its_text() {
    let notes = Notes::default();
    let lanes = Lanes::manual().unwrap();
    let config = Config::new("127.0.0.1:1").unwrap();
    let all = notes.while_making(|| {
        let pool = Pool::new(config.clone(), PoolConfig::new(), &lanes).unwrap();
        let client = Client::new(config.clone(), &lanes).unwrap();
        (pool, client, Subscriber::new(config, &lanes).unwrap())
    });
    drop(all);
    let described = notes.described();
    let described: BTreeMap<&str, [&str; 3]> = described
        .iter()
        .map(|(name, (kind, its, text))| (name.as_str(), [*kind, unit(*its), text.as_str()]))
        .collect();
    assert_eq!(described, table(&page()));
}

#[test]
fn names_say_what_kind_and_unit_they_are_of() {
    for (name, [kind, unit, _]) in table(&page()) {
        assert_eq!(name.ends_with("_total"), kind == "counter", "{name}");
        assert_eq!(name.contains("_bytes"), unit == "bytes", "{name}");
        assert_eq!(name.ends_with("_seconds"), unit == "seconds", "{name}");
    }
}
