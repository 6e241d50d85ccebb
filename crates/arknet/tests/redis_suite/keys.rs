//! Keys: their life, their type, walks over them, and what moves them about.

use std::collections::BTreeSet;
use std::time::Duration;

use arknet::redis::{ErrorKind, cmd};

use crate::harness::{Host, eventually};

in_every_cell![
    keys_live_as_long_as_told,
    a_walk_finds_each_key,
    what_is_dumped_is_restored
];

fn keys_live_as_long_as_told(host: &Host) {
    let key = host.key("life");
    assert_eq!(host.run(cmd::<i64>("TTL").arg(&key)).unwrap(), -2);
    host.run(cmd::<()>("SET").arg(&key).arg("v")).unwrap();
    assert_eq!(host.run(cmd::<i64>("TTL").arg(&key)).unwrap(), -1);
    assert_eq!(host.run(cmd::<String>("TYPE").arg(&key)).unwrap(), "string");
    assert!(host.run(cmd::<bool>("PEXPIRE").arg(&key).arg(20)).unwrap());
    eventually("the key expires", || {
        !host.run(cmd::<bool>("EXISTS").arg(&key)).unwrap()
    });
    host.run(cmd::<()>("SET").arg(&key).arg("v")).unwrap();
    assert!(
        host.run(
            cmd::<bool>("EXPIRE")
                .arg(&key)
                .arg(Duration::from_secs(100).as_secs())
        )
        .unwrap()
    );
    assert!(host.run(cmd::<bool>("PERSIST").arg(&key)).unwrap());
    assert!(!host.run(cmd::<bool>("PERSIST").arg(&key)).unwrap());
    let other = host.key("another life");
    host.run(cmd::<()>("RENAME").arg(&key).arg(&other)).unwrap();
    let missing = host
        .run(cmd::<()>("RENAME").arg(&key).arg(&other))
        .unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Server);
    assert!(host.run(cmd::<bool>("COPY").arg(&other).arg(&key)).unwrap());
    assert_eq!(
        host.run(cmd::<usize>("UNLINK").arg(&key).arg(&other).arg("none"))
            .unwrap(),
        2
    );
}

fn a_walk_finds_each_key(host: &Host) {
    let expected: BTreeSet<String> = (0..100).map(|n| host.key(&format!("walk {n}"))).collect();
    for key in &expected {
        host.run(cmd::<()>("SET").arg(key).arg("v")).unwrap();
    }
    let (mut cursor, mut found) = (0_u64, BTreeSet::new());
    let pattern = host.key("walk *");
    loop {
        let scan = cmd::<(u64, Vec<String>)>("SCAN")
            .arg(cursor)
            .arg("MATCH")
            .arg(&pattern);
        let (next, keys) = host.run(scan.arg("COUNT").arg(50)).unwrap();
        found.extend(keys);
        cursor = next;
        if cursor == 0 {
            break;
        }
    }
    assert_eq!(found, expected);
    let hash = host.key("walked hash");
    host.run(cmd::<()>("HSET").arg(&hash).args(["a", "1", "b", "2"]))
        .unwrap();
    let (cursor, pairs): (u64, Vec<(String, u8)>) =
        host.run(cmd("HSCAN").arg(&hash).arg(0)).unwrap();
    assert_eq!((cursor, pairs.len()), (0, 2));
}

fn what_is_dumped_is_restored(host: &Host) {
    let (from, to) = (host.key("dumped"), host.key("restored"));
    host.run(cmd::<()>("RPUSH").arg(&from).args(["a", "\r\n", ""]))
        .unwrap();
    // A dump is bytes of every value.
    let dump: Vec<u8> = host.run(cmd("DUMP").arg(&from)).unwrap();
    host.run(cmd::<()>("RESTORE").arg(&to).arg(0).arg(&dump))
        .unwrap();
    let restored: Vec<String> = host.run(cmd("LRANGE").arg(&to).arg(0).arg(-1)).unwrap();
    assert_eq!(restored, ["a", "\r\n", ""]);
    assert_eq!(
        host.run(cmd::<Option<Vec<u8>>>("DUMP").arg(host.key("none")))
            .unwrap(),
        None
    );
}
