//! Lists.

use std::time::Duration;

use arknet::redis::commands::lists::*;

use crate::harness::Host;

in_both_protocols![elements, waiting];

const SHORT: Option<Duration> = Some(Duration::from_millis(10));

fn elements(host: &Host) {
    assert_eq!(host.run(rpush("l", ["b", "c"])).unwrap(), 2);
    assert_eq!(host.run(lpush("l", "a")).unwrap(), 3);
    assert_eq!(host.run(lpushx("none", "a")).unwrap(), 0);
    assert_eq!(host.run(rpushx("l", "d")).unwrap(), 4);
    assert_eq!(
        host.run(lrange::<String>("l", 0, -1)).unwrap(),
        ["a", "b", "c", "d"]
    );
    assert_eq!(
        host.run(lindex::<Option<String>>("l", 1)).unwrap().unwrap(),
        "b"
    );
    assert_eq!(host.run(linsert("l", Place::Before, "b", "x")).unwrap(), 5);
    assert_eq!(
        host.run(linsert("l", Place::After, "none", "x")).unwrap(),
        -1
    );
    assert_eq!(host.run(lpos("l", "b")).unwrap(), Some(2));
    assert_eq!(host.run(lpos("l", "none")).unwrap(), None);
    host.run(lset("l", 0, "A")).unwrap();
    assert_eq!(host.run(lrem("l", 0, "x")).unwrap(), 1);
    assert_eq!(
        host.run(lmove::<String>("l", "m", End::Left, End::Right))
            .unwrap(),
        "A"
    );
    let popped = host
        .run(lmpop::<String>(["none", "m"], End::Left, 9))
        .unwrap();
    assert_eq!(popped, Some(("m".to_owned(), vec!["A".to_owned()])));
    assert_eq!(
        host.run(lmpop::<String>(["none", "m"], End::Left, 9))
            .unwrap(),
        None
    );
    assert_eq!(host.run(lpop::<Option<String>>("l")).unwrap().unwrap(), "b");
    assert_eq!(host.run(rpop::<Option<String>>("l")).unwrap().unwrap(), "d");
    host.run(ltrim("l", 0, 0)).unwrap();
    assert_eq!(host.run(llen("l")).unwrap(), 1);
    assert_eq!(
        host.run(lpop_count::<String>("l", 5)).unwrap().unwrap(),
        ["c"]
    );
    assert_eq!(host.run(rpop_count::<String>("l", 5)).unwrap(), None);
}

fn waiting(host: &Host) {
    host.run(rpush("l", [1, 2, 3, 4])).unwrap();
    let first = |value| Some(("l".to_owned(), value));
    assert_eq!(
        host.run_on_lease(blpop::<i64>(["none", "l"], None))
            .unwrap(),
        first(1)
    );
    assert_eq!(
        host.run_on_lease(brpop::<i64>("l", None)).unwrap(),
        first(4)
    );
    let several = host
        .run_on_lease(blmpop::<i64>(["none", "l"], End::Left, 9, None))
        .unwrap();
    assert_eq!(several, Some(("l".to_owned(), vec![2, 3])));
    assert_eq!(host.run_on_lease(blpop::<i64>("l", SHORT)).unwrap(), None);
    assert_eq!(host.run_on_lease(brpop::<i64>("l", SHORT)).unwrap(), None);
    assert_eq!(
        host.run_on_lease(blmpop::<i64>("l", End::Right, 1, SHORT))
            .unwrap(),
        None
    );
    let moved = blmove::<i64>("l", "m", End::Left, End::Right, SHORT);
    assert_eq!(host.run_on_lease(moved.clone()).unwrap(), None);
    host.run(rpush("l", 5)).unwrap();
    assert_eq!(host.run_on_lease(moved).unwrap(), Some(5));
}
