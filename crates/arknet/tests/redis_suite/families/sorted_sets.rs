//! Sorted sets.

use std::time::Duration;

use arknet::redis::commands::ScanOptions;
use arknet::redis::commands::sorted_sets::*;

use crate::harness::Host;

in_both_protocols![scores, ranges, several_sets, what_leaves];

fn named(members: &[(&str, f64)]) -> Vec<(String, f64)> {
    members
        .iter()
        .map(|(name, score)| ((*name).to_owned(), *score))
        .collect()
}

fn fill(host: &Host) {
    let members = [(1.0, "a"), (2.0, "b"), (3.0, "c"), (4.0, "d")];
    assert_eq!(host.run(zadd("z", members)).unwrap(), 4);
}

fn scores(host: &Host) {
    fill(host);
    let options = ZaddOptions::new().only(Update::Higher).count_changed();
    assert_eq!(
        host.run(zadd_with("z", [(9.0, "a"), (1.0, "b")], options))
            .unwrap(),
        1
    );
    assert_eq!(host.run(zscore("z", "a")).unwrap(), Some(9.0));
    assert_eq!(host.run(zscore("z", "x")).unwrap(), None);
    assert_eq!(
        host.run(zmscore("z", ["b", "x"])).unwrap(),
        [Some(2.0), None]
    );
    assert_eq!(host.run(zincrby("z", -8.5, "a")).unwrap(), 0.5);
    assert_eq!(host.run(zcard("z")).unwrap(), 4);
    assert_eq!(host.run(zrank("z", "b")).unwrap(), Some(1));
    assert_eq!(host.run(zrevrank("z", "b")).unwrap(), Some(2));
    assert_eq!(host.run(zrank("z", "x")).unwrap(), None);
    assert_eq!(host.run(zrandmember::<String>("z", 9)).unwrap().len(), 4);
    let mut scan = zscan::<(String, f64)>("z", ScanOptions::new().matching("d")).cursor();
    let mut found = Vec::new();
    while let Some(page) = scan.page() {
        found.extend(scan.take(host.run(page).unwrap()));
    }
    assert_eq!(found, named(&[("d", 4.0)]));
}

fn ranges(host: &Host) {
    fill(host);
    assert_eq!(host.run(zcount("z", 2.0..)).unwrap(), 3);
    assert_eq!(host.run(zcount("z", 2.0..4.0)).unwrap(), 2);
    assert_eq!(host.run(zrange::<String>("z", 1, 2)).unwrap(), ["b", "c"]);
    assert_eq!(
        host.run(zrange_withscores::<String>("z", 0, 0)).unwrap(),
        named(&[("a", 1.0)])
    );
    let two = RangeOptions::new().reversed().limit(1, 2);
    assert_eq!(
        host.run(zrange_byscore::<String>("z", .., two)).unwrap(),
        ["c", "b"]
    );
    let all = RangeOptions::new();
    let found = host
        .run(zrange_byscore_withscores::<String>("z", 3.0..=4.0, all))
        .unwrap();
    assert_eq!(found, named(&[("c", 3.0), ("d", 4.0)]));
    assert_eq!(host.run(zremrangebyscore("z", ..=1.0)).unwrap(), 1);
    assert_eq!(host.run(zremrangebyrank("z", 0, 0)).unwrap(), 1);
    host.run(zadd("lex", [(0.0, "a"), (0.0, "b"), (0.0, "c")]))
        .unwrap();
    assert_eq!(host.run(zlexcount("lex", "b"..)).unwrap(), 2);
    assert_eq!(
        host.run(zrange_bylex::<String>("lex", "a".."c", all))
            .unwrap(),
        ["a", "b"]
    );
    assert_eq!(host.run(zremrangebylex("lex", ..="b")).unwrap(), 2);
    assert_eq!(host.run(zrem("z", ["c", "x"])).unwrap(), 1);
}

fn several_sets(host: &Host) {
    fill(host);
    host.run(zadd("y", [(10.0, "b"), (20.0, "x")])).unwrap();
    let both = ["z", "y"];
    assert_eq!(host.run(zinter::<String>(both)).unwrap(), ["b"]);
    assert_eq!(
        host.run(zunion::<String>(both)).unwrap(),
        ["a", "c", "d", "b", "x"]
    );
    assert_eq!(host.run(zdiff::<String>(both)).unwrap(), ["a", "c", "d"]);
    assert_eq!(
        host.run(zinterstore("to", both, Aggregate::Max)).unwrap(),
        1
    );
    assert_eq!(host.run(zscore("to", "b")).unwrap(), Some(10.0));
    assert_eq!(
        host.run(zunionstore("to", both, Aggregate::Sum)).unwrap(),
        5
    );
    assert_eq!(host.run(zscore("to", "b")).unwrap(), Some(12.0));
    assert_eq!(host.run(zdiffstore("to", both)).unwrap(), 3);
}

fn what_leaves(host: &Host) {
    fill(host);
    assert_eq!(
        host.run(zpopmin::<String>("z", 1)).unwrap(),
        named(&[("a", 1.0)])
    );
    assert_eq!(
        host.run(zpopmax::<String>("z", 1)).unwrap(),
        named(&[("d", 4.0)])
    );
    let first = |name: &str, score| Some(("z".to_owned(), name.to_owned(), score));
    let popped = host
        .run_on_lease(bzpopmin::<String>(["none", "z"], None))
        .unwrap();
    assert_eq!(popped, first("b", 2.0));
    let popped = host.run_on_lease(bzpopmax::<String>("z", None)).unwrap();
    assert_eq!(popped, first("c", 3.0));
    let short = Some(Duration::from_millis(10));
    assert_eq!(
        host.run_on_lease(bzpopmin::<String>("z", short)).unwrap(),
        None
    );
    assert_eq!(
        host.run_on_lease(bzpopmax::<String>("z", short)).unwrap(),
        None
    );
}
