//! Hashes, lists, sets: the same types in both protocols, though the replies are not the same.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use arknet::redis::cmd;

use crate::harness::{Host, bytes};

in_every_cell![
    hashes_are_maps,
    lists_are_lists,
    sets_are_sets,
    what_is_not_there_is_empty,
];

fn hashes_are_maps(host: &Host) {
    let key = host.key("hash");
    let raw = bytes(300);
    let set = cmd::<usize>("HSET").arg(&key).arg("name").arg("somebody");
    assert_eq!(
        host.run(set.arg("age").arg(42).arg(&raw).arg(&raw))
            .unwrap(),
        3
    );
    let all: HashMap<Vec<u8>, Vec<u8>> = host.run(cmd("HGETALL").arg(&key)).unwrap();
    assert_eq!(all[&raw], raw);
    assert_eq!(all[&b"age"[..]], b"42");
    assert_eq!(
        host.run(cmd::<usize>("HDEL").arg(&key).arg(&raw)).unwrap(),
        1
    );
    let all: BTreeMap<String, String> = host.run(cmd("HGETALL").arg(&key)).unwrap();
    let expected = [("age", "42"), ("name", "somebody")];
    assert!(
        all.iter()
            .map(|(field, value)| (field.as_str(), value.as_str()))
            .eq(expected)
    );
    let pairs: Vec<(String, String)> = host.run(cmd("HGETALL").arg(&key)).unwrap();
    assert_eq!(pairs.len(), 2);
    let (name, age, none): (String, u8, Option<String>) = host
        .run(cmd("HMGET").arg(&key).args(["name", "age", "none"]))
        .unwrap();
    assert_eq!((name.as_str(), age, none), ("somebody", 42, None));
    assert_eq!(
        host.run(cmd::<i64>("HINCRBY").arg(&key).arg("age").arg(-2))
            .unwrap(),
        40
    );
    let age: f64 = host
        .run(cmd("HINCRBYFLOAT").arg(&key).arg("age").arg(0.25))
        .unwrap();
    assert_eq!(age, 40.25);
    assert_eq!(
        host.run(cmd::<Vec<String>>("HKEYS").arg(&key))
            .unwrap()
            .len(),
        2
    );
    assert!(
        host.run(cmd::<bool>("HEXISTS").arg(&key).arg("age"))
            .unwrap()
    );
    let random: Vec<(String, String)> = host
        .run(cmd("HRANDFIELD").arg(&key).arg(2).arg("WITHVALUES"))
        .unwrap();
    assert_eq!(random.len(), 2);
}

fn lists_are_lists(host: &Host) {
    let key = host.key("list");
    let numbers: Vec<i64> = (0..2_000).collect();
    assert_eq!(
        host.run(cmd::<usize>("RPUSH").arg(&key).args(&numbers))
            .unwrap(),
        2_000
    );
    let range = || cmd::<Vec<i64>>("LRANGE").arg(&key).arg(0).arg(-1);
    assert_eq!(host.run(range()).unwrap(), numbers);
    assert_eq!(
        host.run(cmd::<i64>("LINDEX").arg(&key).arg(-1)).unwrap(),
        1_999
    );
    assert_eq!(
        host.run(cmd::<Vec<i64>>("LPOP").arg(&key).arg(3)).unwrap(),
        [0, 1, 2]
    );
    assert_eq!(host.run(cmd::<i64>("RPOP").arg(&key)).unwrap(), 1_999);
    host.run(cmd::<()>("LTRIM").arg(&key).arg(0).arg(2))
        .unwrap();
    assert_eq!(
        host.run(range().returning::<[i64; 3]>()).unwrap(),
        [3, 4, 5]
    );
    assert_eq!(
        host.run(range().returning::<(i64, String, f64)>()).unwrap(),
        (3, "4".to_owned(), 5.0)
    );
    let other = host.key("other");
    let moved: i64 = host
        .run(cmd("LMOVE").arg(&key).arg(&other).args(["LEFT", "RIGHT"]))
        .unwrap();
    assert_eq!(moved, 3);
    assert_eq!(
        host.run(cmd::<Option<usize>>("LPOS").arg(&key).arg(5))
            .unwrap(),
        Some(1)
    );
    assert_eq!(
        host.run(cmd::<usize>("LREM").arg(&key).arg(0).arg(4))
            .unwrap(),
        1
    );
    assert_eq!(host.run(cmd::<usize>("LLEN").arg(&key)).unwrap(), 1);
}

fn sets_are_sets(host: &Host) {
    let (one, two) = (host.key("one"), host.key("two"));
    assert_eq!(
        host.run(cmd::<usize>("SADD").arg(&one).args(["a", "b", "c", "a"]))
            .unwrap(),
        3
    );
    host.run(cmd::<()>("SADD").arg(&two).args(["c", "d"]))
        .unwrap();
    let members: HashSet<String> = host.run(cmd("SMEMBERS").arg(&one)).unwrap();
    assert_eq!(members, ["a", "b", "c"].map(str::to_owned).into());
    let union: BTreeSet<String> = host.run(cmd("SUNION").arg(&one).arg(&two)).unwrap();
    assert!(union.iter().eq(["a", "b", "c", "d"]));
    assert_eq!(
        host.run(cmd::<Vec<String>>("SINTER").arg(&one).arg(&two))
            .unwrap(),
        ["c"]
    );
    let there: Vec<bool> = host
        .run(cmd("SMISMEMBER").arg(&one).args(["a", "x"]))
        .unwrap();
    assert_eq!(there, [true, false]);
    let popped: Vec<String> = host.run(cmd("SPOP").arg(&two).arg(9)).unwrap();
    assert_eq!(popped.len(), 2);
    assert_eq!(
        host.run(cmd::<Option<String>>("SPOP").arg(&two)).unwrap(),
        None
    );
}

fn what_is_not_there_is_empty(host: &Host) {
    let none = host.key("none");
    assert!(
        host.run(cmd::<HashMap<String, String>>("HGETALL").arg(&none))
            .unwrap()
            .is_empty()
    );
    assert!(
        host.run(cmd::<Vec<String>>("LRANGE").arg(&none).arg(0).arg(-1))
            .unwrap()
            .is_empty()
    );
    assert!(
        host.run(cmd::<BTreeSet<String>>("SMEMBERS").arg(&none))
            .unwrap()
            .is_empty()
    );
    assert_eq!(
        host.run(cmd::<Option<String>>("HGET").arg(&none).arg("f"))
            .unwrap(),
        None
    );
    assert_eq!(
        host.run(cmd::<Option<String>>("LPOP").arg(&none)).unwrap(),
        None
    );
    assert_eq!(
        host.run(cmd::<Option<Vec<String>>>("LPOP").arg(&none).arg(3))
            .unwrap(),
        None
    );
    assert_eq!(host.run(cmd::<usize>("SCARD").arg(&none)).unwrap(), 0);
}
