//! Streams and their groups.

use std::time::Duration;

use arknet::redis::commands::streams::*;

use crate::harness::Host;

in_both_protocols![entries, groups, consumers];

type Fields = Vec<(String, i64)>;

fn id(millis: u64) -> StreamId {
    StreamId::new(millis, 0)
}

/// Entries 1-0 to 4-0, whose field `n` is their number.
fn fill(host: &Host) {
    for number in 1..=4 {
        let options = AddOptions::new().id(id(number));
        let added = host.run(xadd_with("s", ("n", number), options)).unwrap();
        assert_eq!(added, Some(id(number)));
    }
}

fn ids<T>(entries: &[Entry<T>]) -> Vec<u64> {
    entries.iter().map(|entry| entry.id.millis).collect()
}

fn entries(host: &Host) {
    assert_eq!(
        host.run(xadd_with(
            "s",
            ("n", 0),
            AddOptions::new().only_if_present()
        ))
        .unwrap(),
        None
    );
    fill(host);
    assert_eq!(host.run(xlen("s")).unwrap(), 4);
    let all = host.run(xrange::<Fields>("s", .., 10)).unwrap();
    assert_eq!(ids(&all), [1, 2, 3, 4]);
    assert_eq!(all[1].fields, [("n".to_owned(), 2)]);
    assert_eq!(
        ids(&host.run(xrange::<Fields>("s", id(2)..id(4), 10)).unwrap()),
        [2, 3]
    );
    assert_eq!(
        ids(&host.run(xrevrange::<Fields>("s", .., 2)).unwrap()),
        [4, 3]
    );
    let read = host
        .run(xread::<Fields>(
            ["s", "none"],
            [id(2), id(0)],
            ReadOptions::new(),
        ))
        .unwrap();
    assert_eq!(ids(read.entries("s")), [3, 4]);
    assert!(
        host.run(xread::<Fields>("s", id(4), ReadOptions::new()))
            .unwrap()
            .is_empty()
    );
    let short = Some(Duration::from_millis(10));
    let waited = xread_blocking::<Fields>("s", "$", ReadOptions::new(), short);
    assert!(host.run_on_lease(waited).unwrap().is_empty());
    assert_eq!(host.run(xdel("s", [id(2), id(9)])).unwrap(), 1);
    let info = host.run(xinfo_stream("s")).unwrap();
    assert_eq!(
        (info.length, info.last_generated_id, info.groups),
        (3, id(4), 0)
    );
    assert_eq!(
        host.run(xtrim("s", Trim::before(id(3)).exactly())).unwrap(),
        1
    );
    assert_eq!(host.run(xtrim("s", Trim::to_len(1).exactly())).unwrap(), 1);
    assert!(host.run(xadd("s", ("n", 9))).unwrap() > id(4));
}

fn groups(host: &Host) {
    host.run(xgroup_create("s", "g", "$")).unwrap();
    host.run(xgroup_setid("s", "g", id(0))).unwrap();
    fill(host);
    let read = |count| {
        let options = ReadOptions::new().count(count);
        host.run(xreadgroup::<Fields>("g", "anna", "s", ">", options))
            .unwrap()
    };
    assert_eq!(ids(read(3).entries("s")), [1, 2, 3]);
    assert_eq!(host.run(xack("s", "g", [id(1), id(9)])).unwrap(), 1);
    let groups = host.run(xinfo_groups("s")).unwrap();
    assert_eq!(
        (groups.len(), groups[0].name.as_str(), groups[0].pending),
        (1, "g", 2)
    );
    assert_eq!(groups[0].lag, Some(1));
    assert_eq!(ids(read(3).entries("s")), [4]);
    assert!(read(3).is_empty());
    let short = Some(Duration::from_millis(10));
    let waiting = xreadgroup_blocking::<Fields>("g", "anna", "s", ">", ReadOptions::new(), short);
    assert!(host.run_on_lease(waiting).unwrap().is_empty());
    assert!(host.run(xgroup_destroy("s", "g")).unwrap());
    assert!(!host.run(xgroup_destroy("s", "g")).unwrap());
}

fn consumers(host: &Host) {
    host.run(xgroup_create("s", "g", id(0))).unwrap();
    let none = host.run(xpending("s", "g")).unwrap();
    assert!(
        none.0 == 0 && none.1.is_none() && none.3.is_none(),
        "{none:?}"
    );
    fill(host);
    let options = ReadOptions::new();
    host.run(xreadgroup::<Fields>("g", "anna", "s", ">", options))
        .unwrap();
    let pending = host.run(xpending("s", "g")).unwrap();
    assert_eq!(
        (pending.0, pending.1, pending.2),
        (4, Some(id(1)), Some(id(4)))
    );
    assert_eq!(pending.3, Some(vec![("anna".to_owned(), 4)]));
    let each = host.run(xpending_range("s", "g", id(2).., 2)).unwrap();
    assert_eq!(
        (each.len(), each[0].0, each[0].1.as_str(), each[0].3),
        (2, id(2), "anna", 1)
    );
    let claimed = host
        .run(xclaim::<Fields>(
            "s",
            "g",
            "bert",
            Duration::ZERO,
            [id(1), id(2)],
        ))
        .unwrap();
    assert_eq!(ids(&claimed), [1, 2]);
    host.run(xdel("s", id(3))).unwrap();
    let claim = xautoclaim::<Fields>("s", "g", "bert", Duration::ZERO, StreamId::MIN, 10);
    let claimed = host.run(claim).unwrap();
    assert_eq!(
        (claimed.next, ids(&claimed.entries)),
        (StreamId::MIN, vec![1, 2, 4])
    );
    assert_eq!(claimed.deleted, [id(3)]);
    let mut consumers = host.run(xinfo_consumers("s", "g")).unwrap();
    consumers.sort_by(|one, other| one.name.cmp(&other.name));
    assert_eq!((consumers[0].pending, consumers[1].pending), (0, 3));
    assert_eq!(host.run(xgroup_delconsumer("s", "g", "bert")).unwrap(), 3);
}
