//! Sets, and sets that are only counted.

use std::collections::BTreeSet;

use arknet::redis::commands::ScanOptions;
use arknet::redis::commands::hyperloglogs::*;
use arknet::redis::commands::sets::*;

use crate::harness::Host;

in_both_protocols![members, several_sets, counted_members];

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn members(host: &Host) {
    assert_eq!(host.run(sadd("s", ["a", "b", "c"])).unwrap(), 3);
    assert_eq!(host.run(scard("s")).unwrap(), 3);
    assert!(host.run(sismember("s", "a")).unwrap());
    assert_eq!(
        host.run(smismember("s", ["a", "x"])).unwrap(),
        [true, false]
    );
    assert_eq!(
        host.run(smembers::<BTreeSet<String>>("s")).unwrap(),
        names(&["a", "b", "c"])
    );
    assert!(
        host.run(srandmember::<Option<String>>("s"))
            .unwrap()
            .is_some()
    );
    assert_eq!(
        host.run(srandmember_count::<String>("s", -5))
            .unwrap()
            .len(),
        5
    );
    let mut scan = sscan::<String>("s", ScanOptions::new().matching("[ab]")).cursor();
    let mut found = BTreeSet::new();
    while let Some(page) = scan.page() {
        found.extend(scan.take(host.run(page).unwrap()));
    }
    assert_eq!(found, names(&["a", "b"]));
    assert!(host.run(smove("s", "t", "a")).unwrap());
    assert_eq!(host.run(srem("s", ["b", "x"])).unwrap(), 1);
    assert_eq!(host.run(spop::<Option<String>>("s")).unwrap().unwrap(), "c");
    assert_eq!(host.run(spop_count::<String>("t", 5)).unwrap(), ["a"]);
    assert_eq!(host.run(spop::<Option<String>>("s")).unwrap(), None);
}

fn several_sets(host: &Host) {
    host.run(sadd("s", ["a", "b", "c"])).unwrap();
    host.run(sadd("t", ["b", "c", "d"])).unwrap();
    let both = ["s", "t"];
    assert_eq!(
        host.run(sinter::<BTreeSet<String>>(both)).unwrap(),
        names(&["b", "c"])
    );
    assert_eq!(
        host.run(sunion::<BTreeSet<String>>(both)).unwrap(),
        names(&["a", "b", "c", "d"])
    );
    assert_eq!(host.run(sdiff::<Vec<String>>(both)).unwrap(), ["a"]);
    assert_eq!(host.run(sintercard(both, 1)).unwrap(), 1);
    assert_eq!(host.run(sinterstore("to", both)).unwrap(), 2);
    assert_eq!(host.run(sunionstore("to", both)).unwrap(), 4);
    assert_eq!(host.run(sdiffstore("to", both)).unwrap(), 1);
}

fn counted_members(host: &Host) {
    assert!(host.run(pfadd("p", ["a", "b"])).unwrap());
    assert!(!host.run(pfadd("p", "a")).unwrap());
    host.run(pfadd("q", "c")).unwrap();
    assert_eq!(host.run(pfcount(["p", "q"])).unwrap(), 3);
    host.run(pfmerge("to", ["p", "q"])).unwrap();
    assert_eq!(host.run(pfcount("to")).unwrap(), 3);
}
