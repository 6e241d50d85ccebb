//! Hashes.

use std::collections::BTreeMap;
use std::time::Duration;

use arknet::redis::commands::ScanOptions;
use arknet::redis::commands::hashes::*;

use crate::harness::Host;

in_both_protocols![fields, fields_that_end];

fn fields(host: &Host) {
    assert_eq!(host.run(hset("h", [("a", 1), ("b", 2)])).unwrap(), 2);
    assert!(!host.run(hsetnx("h", "a", 9)).unwrap());
    assert_eq!(host.run(hget::<Option<i64>>("h", "a")).unwrap(), Some(1));
    assert!(host.run(hexists("h", "b")).unwrap());
    assert_eq!(host.run(hincrby("h", "a", 41)).unwrap(), 42);
    assert_eq!(host.run(hincrbyfloat("h", "b", 0.5)).unwrap(), 2.5);
    let all: BTreeMap<String, f64> = host.run(hgetall("h")).unwrap();
    assert_eq!(
        all,
        BTreeMap::from([("a".to_owned(), 42.0), ("b".to_owned(), 2.5)])
    );
    let some: (Option<i64>, Option<i64>) = host.run(hmget("h", ["a", "none"])).unwrap();
    assert_eq!(some, (Some(42), None));
    assert_eq!(host.run(hlen("h")).unwrap(), 2);
    assert_eq!(host.run(hstrlen("h", "b")).unwrap(), 3);
    assert_eq!(host.run(hkeys::<String>("h")).unwrap(), ["a", "b"]);
    assert_eq!(host.run(hvals::<f64>("h")).unwrap(), [42.0, 2.5]);
    assert_eq!(host.run(hrandfield::<String>("h", 9)).unwrap().len(), 2);
    let random = host
        .run(hrandfield_withvalues::<String, f64>("h", 9))
        .unwrap();
    assert_eq!(random.len(), 2);
    let mut scan = hscan::<(String, f64)>("h", ScanOptions::new().matching("a")).cursor();
    let mut found = Vec::new();
    while let Some(page) = scan.page() {
        found.extend(scan.take(host.run(page).unwrap()));
    }
    assert_eq!(found, [("a".to_owned(), 42.0)]);
    assert_eq!(host.run(hdel("h", ["a", "b", "c"])).unwrap(), 2);
}

/// Redis has them from 7.4 on, Valkey from 9.
fn fields_that_end(host: &Host) {
    host.run(hset("h", ("f", "v"))).unwrap();
    match host.run(hexpire("h", Duration::from_secs(100), ["f", "none"])) {
        Ok(set) => {
            assert_eq!(set, [1, -2]);
            assert!(host.run(hpttl("h", "f")).unwrap()[0] > 0);
            assert_eq!(host.run(hpersist("h", "f")).unwrap(), [1]);
        }
        Err(error) => assert!(
            error.server().unwrap().message().contains("unknown"),
            "{error}"
        ),
    }
}
