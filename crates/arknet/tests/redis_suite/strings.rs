//! Strings and counters: what is stored comes back, of whatever type and bytes.

use arknet::redis::{ErrorKind, cmd};

use crate::harness::{Host, bytes};

in_every_cell![
    values_come_back_as_what_they_were,
    keys_and_values_may_be_any_bytes,
    options_of_set_are_honoured,
    counters_count,
];

fn values_come_back_as_what_they_were(host: &Host) {
    let key = host.key("value");
    let set = |value: &str| {
        host.run(cmd::<()>("SET").arg(&key).arg(value)).unwrap();
    };
    set("-9223372036854775808");
    assert_eq!(host.run(cmd::<i64>("GET").arg(&key)).unwrap(), i64::MIN);
    assert_eq!(
        host.run(cmd::<i128>("GET").arg(&key)).unwrap(),
        i128::from(i64::MIN)
    );
    let narrow = host.run(cmd::<i32>("GET").arg(&key)).unwrap_err();
    assert_eq!(narrow.kind(), ErrorKind::Decode);
    set("0.1");
    assert_eq!(host.run(cmd::<f64>("GET").arg(&key)).unwrap(), 0.1);
    set("1");
    assert!(host.run(cmd::<bool>("GET").arg(&key)).unwrap());
    set("grüße");
    assert_eq!(host.run(cmd::<String>("GET").arg(&key)).unwrap(), "grüße");
    assert_eq!(
        host.run(cmd::<Option<String>>("GET").arg(&key))
            .unwrap()
            .unwrap(),
        "grüße"
    );
    assert_eq!(
        host.run(cmd::<Option<String>>("GET").arg(host.key("none")))
            .unwrap(),
        None
    );
    let none = host
        .run(cmd::<String>("GET").arg(host.key("none")))
        .unwrap_err();
    assert_eq!(none.kind(), ErrorKind::Decode);
    host.run(cmd::<()>("SET").arg(&key).arg(u64::MAX)).unwrap();
    assert_eq!(host.run(cmd::<u64>("GET").arg(&key)).unwrap(), u64::MAX);
    host.run(cmd::<()>("SET").arg(&key).arg(1.5e300)).unwrap();
    assert_eq!(host.run(cmd::<f64>("GET").arg(&key)).unwrap(), 1.5e300);
}

fn keys_and_values_may_be_any_bytes(host: &Host) {
    let mut key = host.key("any bytes").into_bytes();
    key.extend(0..=255_u8);
    for value in [&b""[..], b"\r\n", b"$3\r\nfoo\r\n", &bytes(1_000), b"\0"] {
        host.run(cmd::<()>("SET").arg(&key).arg(value)).unwrap();
        assert_eq!(host.run(cmd::<Vec<u8>>("GET").arg(&key)).unwrap(), value);
        assert_eq!(
            host.run(cmd::<usize>("STRLEN").arg(&key)).unwrap(),
            value.len()
        );
        assert_eq!(host.run(cmd::<Vec<u8>>("ECHO").arg(value)).unwrap(), value);
    }
    let many = cmd::<Vec<Option<Vec<u8>>>>("MGET").args([&key[..], b"\xff none", &key]);
    assert_eq!(
        host.run(many).unwrap(),
        [Some(vec![0]), None, Some(vec![0])]
    );
}

fn options_of_set_are_honoured(host: &Host) {
    let key = host.key("options");
    let set = |value: &str, options: &[&str]| {
        let set = cmd::<Option<String>>("SET").arg(&key).arg(value);
        host.run(set.args(options)).unwrap()
    };
    assert_eq!(set("a", &["NX"]).as_deref(), Some("OK"));
    assert_eq!(set("b", &["NX"]), None);
    assert_eq!(set("c", &["XX", "GET"]).as_deref(), Some("a"));
    assert_eq!(set("d", &["EX", "100"]).as_deref(), Some("OK"));
    let ttl = host.run(cmd::<i64>("TTL").arg(&key)).unwrap();
    assert!((90..=100).contains(&ttl), "{ttl}");
    assert_eq!(set("e", &["KEEPTTL"]).as_deref(), Some("OK"));
    assert!(host.run(cmd::<i64>("TTL").arg(&key)).unwrap() > 0);
    assert_eq!(host.run(cmd::<String>("GETDEL").arg(&key)).unwrap(), "e");
    assert!(!host.run(cmd::<bool>("EXISTS").arg(&key)).unwrap());
}

fn counters_count(host: &Host) {
    let key = host.key("counter");
    assert_eq!(host.run(cmd::<i64>("INCR").arg(&key)).unwrap(), 1);
    assert_eq!(
        host.run(cmd::<i64>("INCRBY").arg(&key).arg(41)).unwrap(),
        42
    );
    assert_eq!(host.run(cmd::<i64>("DECR").arg(&key)).unwrap(), 41);
    assert_eq!(
        host.run(cmd::<f64>("INCRBYFLOAT").arg(&key).arg(0.5))
            .unwrap(),
        41.5
    );
    let refused = host.run(cmd::<i64>("INCR").arg(&key)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Server);
    assert_eq!(
        host.run(cmd::<usize>("APPEND").arg(&key).arg("!")).unwrap(),
        5
    );
    assert_eq!(
        host.run(cmd::<String>("GETRANGE").arg(&key).arg(0).arg(1))
            .unwrap(),
        "41"
    );
    assert_eq!(
        host.run(cmd::<usize>("SETRANGE").arg(&key).arg(6).arg("x"))
            .unwrap(),
        7
    );
    assert_eq!(
        host.run(cmd::<Vec<u8>>("GET").arg(&key)).unwrap(),
        b"41.5!\0x"
    );
    assert_eq!(
        host.run(cmd::<u8>("SETBIT").arg(&key).arg(0).arg(1))
            .unwrap(),
        0
    );
    assert!(host.run(cmd::<bool>("GETBIT").arg(&key).arg(0)).unwrap());
}
