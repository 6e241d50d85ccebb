//! Streams: entries keep their order and their fields, and groups give each to one.

use std::collections::HashMap;

use arknet::redis::{Value, cmd};

use crate::harness::{Host, bytes};

in_every_cell![entries_come_in_order, groups_give_each_entry_to_one];

type Entry = (String, HashMap<String, Vec<u8>>);

fn entries_come_in_order(host: &Host) {
    let key = host.key("stream");
    let raw = bytes(100);
    for (id, value) in [("1-1", &raw[..]), ("1-2", b""), ("2-0", b"\r\n")] {
        let added: String = host
            .run(cmd("XADD").arg(&key).arg(id).arg("field").arg(value))
            .unwrap();
        assert_eq!(added, id);
    }
    let entries: Vec<Entry> = host.run(cmd("XRANGE").arg(&key).args(["-", "+"])).unwrap();
    assert_eq!(entries.len(), 3);
    assert_eq!(
        (entries[0].0.as_str(), &entries[0].1["field"]),
        ("1-1", &raw)
    );
    assert_eq!(entries[2].1["field"], b"\r\n");
    let back: Vec<Entry> = host
        .run(cmd("XREVRANGE").arg(&key).args(["+", "-", "COUNT", "1"]))
        .unwrap();
    assert_eq!(back[0].0, "2-0");
    // A map in RESP3, a list of pairs in RESP2.
    let read = || {
        cmd::<Option<HashMap<String, Vec<Entry>>>>("XREAD")
            .arg("STREAMS")
            .arg(&key)
    };
    let new = host.run(read().arg("1-1")).unwrap().unwrap();
    assert_eq!(new[&key].len(), 2);
    assert_eq!(host.run(read().arg("$")).unwrap(), None);
    assert_eq!(host.run(cmd::<usize>("XLEN").arg(&key)).unwrap(), 3);
    assert_eq!(
        host.run(cmd::<usize>("XDEL").arg(&key).arg("1-2")).unwrap(),
        1
    );
    let info: HashMap<String, Value> = host.run(cmd("XINFO").arg("STREAM").arg(&key)).unwrap();
    assert_eq!(info["length"], Value::Integer(2));
    let generated: String = host
        .run(cmd("XADD").arg(&key).args(["*", "f", "v"]))
        .unwrap();
    assert!(generated.contains('-'));
}

fn groups_give_each_entry_to_one(host: &Host) {
    let key = host.key("group");
    host.run(
        cmd::<()>("XGROUP")
            .arg("CREATE")
            .arg(&key)
            .args(["g", "0", "MKSTREAM"]),
    )
    .unwrap();
    for number in 1..=4 {
        let id = format!("{number}-0");
        host.run(cmd::<()>("XADD").arg(&key).arg(id).arg("n").arg(number))
            .unwrap();
    }
    let read = |consumer: &str, count: usize| {
        let read = cmd::<Option<Vec<(String, Vec<Entry>)>>>("XREADGROUP").args(["GROUP", "g"]);
        let read = read
            .arg(consumer)
            .arg("COUNT")
            .arg(count)
            .arg("STREAMS")
            .arg(&key)
            .arg(">");
        host.run(read).unwrap()
    };
    let first = read("anna", 3).unwrap();
    assert_eq!((first[0].0.as_str(), first[0].1.len()), (key.as_str(), 3));
    let second = read("bert", 3).unwrap();
    assert_eq!(second[0].1[0].0, "4-0");
    assert_eq!(read("bert", 3), None);
    assert_eq!(
        host.run(cmd::<usize>("XACK").arg(&key).args(["g", "1-0", "4-0"]))
            .unwrap(),
        2
    );
    let (pending, least, most, owners): (usize, String, String, HashMap<String, usize>) =
        host.run(cmd("XPENDING").arg(&key).arg("g")).unwrap();
    assert_eq!((pending, least.as_str(), most.as_str()), (2, "2-0", "3-0"));
    assert_eq!(owners, HashMap::from([("anna".to_owned(), 2)]));
    let (next, claimed, _gone): (String, Vec<Entry>, Vec<String>) = host
        .run(cmd("XAUTOCLAIM").arg(&key).args(["g", "bert", "0", "0"]))
        .unwrap();
    assert_eq!((next.as_str(), claimed.len()), ("0-0", 2));
}
