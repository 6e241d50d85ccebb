//! Strings and counters.

use std::time::{Duration, SystemTime};

use arknet::redis::commands::Expiry;
use arknet::redis::commands::keys::{Ttl, ttl};
use arknet::redis::commands::strings::*;

use crate::harness::Host;

in_both_protocols![values, counters, bits_and_pieces];

const HOUR: Duration = Duration::from_secs(3_600);

fn values(host: &Host) {
    host.run(set("k", "v")).unwrap();
    assert_eq!(host.run(get::<String>("k")).unwrap(), "v");
    assert_eq!(host.run(get::<Option<String>>("none")).unwrap(), None);
    let options = SetOptions::new().only_if_absent();
    assert!(!host.run(set_with::<WasSet>("k", "w", options)).unwrap().0);
    let options = SetOptions::new().only_if_present().expire_in(HOUR);
    assert!(host.run(set_with::<WasSet>("k", "w", options)).unwrap().0);
    let options = SetOptions::new().get().keep_expiry();
    assert_eq!(
        host.run(set_with::<Option<String>>("k", "x", options))
            .unwrap()
            .unwrap(),
        "w"
    );
    assert!(matches!(host.run(ttl("k")).unwrap(), Ttl::Left(left) if left <= HOUR));
    let later = Expiry::At(SystemTime::now() + HOUR);
    assert_eq!(host.run(getex::<String>("k", Some(later))).unwrap(), "x");
    assert!(matches!(host.run(ttl("k")).unwrap(), Ttl::Left(_)));
    assert_eq!(host.run(getex::<String>("k", None)).unwrap(), "x");
    assert_eq!(host.run(ttl("k")).unwrap(), Ttl::Endless);
    host.run(setex("k", "y", Expiry::In(HOUR))).unwrap();
    assert!(!host.run(setnx("k", "z")).unwrap());
    assert_eq!(
        host.run(getdel::<Option<String>>("k")).unwrap().unwrap(),
        "y"
    );
    assert_eq!(host.run(getdel::<Option<String>>("k")).unwrap(), None);
    host.run(mset([("a", 1), ("b", 2)])).unwrap();
    assert!(!host.run(msetnx([("b", 3), ("c", 4)])).unwrap());
    let all: Vec<Option<i64>> = host.run(mget(["a", "b", "c"])).unwrap();
    assert_eq!(all, [Some(1), Some(2), None]);
}

fn counters(host: &Host) {
    assert_eq!(host.run(incr("n")).unwrap(), 1);
    assert_eq!(host.run(incrby("n", 10)).unwrap(), 11);
    assert_eq!(host.run(decr("n")).unwrap(), 10);
    assert_eq!(host.run(decrby("n", 20)).unwrap(), -10);
    assert_eq!(host.run(incrbyfloat("n", 0.5)).unwrap(), -9.5);
}

fn bits_and_pieces(host: &Host) {
    assert_eq!(host.run(append("k", "hello world")).unwrap(), 11);
    assert_eq!(host.run(strlen("k")).unwrap(), 11);
    assert_eq!(host.run(getrange::<String>("k", -5, -1)).unwrap(), "world");
    assert_eq!(host.run(setrange("k", 6, "redis")).unwrap(), 11);
    assert_eq!(host.run(get::<String>("k")).unwrap(), "hello redis");
    host.run(set("other", "yellow red")).unwrap();
    assert_eq!(host.run(lcs::<String>("k", "other")).unwrap(), "ello red");
    assert!(!host.run(setbit("bits", 7, true)).unwrap());
    assert!(host.run(getbit("bits", 7)).unwrap());
    assert_eq!(host.run(bitcount("bits")).unwrap(), 1);
    assert_eq!(host.run(bitpos("bits", true)).unwrap(), 7);
}
