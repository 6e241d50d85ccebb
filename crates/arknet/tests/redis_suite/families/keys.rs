//! Keys, and what is published.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use arknet::redis::commands::ScanOptions;
use arknet::redis::commands::keys::*;
use arknet::redis::commands::lists::rpush;
use arknet::redis::commands::pubsub::*;
use arknet::redis::commands::strings::{get, set};

use crate::harness::Host;

in_both_protocols![life, places_and_walks, messages];

const HOUR: Duration = Duration::from_secs(3_600);

fn life(host: &Host) {
    assert_eq!(host.run(ttl("k")).unwrap(), Ttl::Missing);
    host.run(set("k", "v")).unwrap();
    assert_eq!(host.run(ttl("k")).unwrap(), Ttl::Endless);
    assert!(host.run(expire("k", HOUR)).unwrap());
    assert!(!host.run(expire_if("k", HOUR, ExpireIf::None)).unwrap());
    assert!(
        !host
            .run(expire_if("k", 2 * HOUR, ExpireIf::Sooner))
            .unwrap()
    );
    assert!(host.run(expire_if("k", 2 * HOUR, ExpireIf::Later)).unwrap());
    assert!(host.run(expire_if("k", HOUR, ExpireIf::Some)).unwrap());
    assert!(host.run(expireat("k", SystemTime::now() + HOUR)).unwrap());
    assert!(matches!(host.run(ttl("k")).unwrap(), Ttl::Left(left) if left <= HOUR));
    assert!(host.run(persist("k")).unwrap());
    assert_eq!(host.run(type_of("k")).unwrap(), "string");
    assert_eq!(host.run(type_of("none")).unwrap(), "none");
    assert!(host.run(object_encoding("k")).unwrap().is_some());
    assert!(host.run(object_idletime("k")).unwrap().is_some());
    assert_eq!(host.run(object_encoding("none")).unwrap(), None);
    assert!(
        host.run(expireat("k", SystemTime::UNIX_EPOCH + HOUR))
            .unwrap()
    );
    assert_eq!(host.run(exists("k")).unwrap(), 0);
}

fn places_and_walks(host: &Host) {
    host.run(set("k", "v")).unwrap();
    assert_eq!(host.run(exists(["k", "k", "none"])).unwrap(), 2);
    assert_eq!(host.run(touch(["k", "none"])).unwrap(), 1);
    assert!(host.run(copy("k", "l", false)).unwrap());
    assert!(!host.run(copy("k", "l", false)).unwrap());
    assert!(host.run(copy("k", "l", true)).unwrap());
    assert!(!host.run(renamenx("k", "l")).unwrap());
    host.run(rename("k", "m")).unwrap();
    let dumped = host.run(dump("m")).unwrap().unwrap();
    assert!(host.run(restore("l", &dumped, false)).is_err());
    host.run(restore("l", &dumped, true)).unwrap();
    assert_eq!(host.run(get::<String>("l")).unwrap(), "v");
    let mut found = host.run(keys::<String>("?")).unwrap();
    found.sort();
    assert_eq!(found, ["l", "m"]);
    host.run(rpush("numbers", [3, 1, 2])).unwrap();
    assert_eq!(host.run(sort::<i64>("numbers", false)).unwrap(), [1, 2, 3]);
    assert_eq!(host.run(sort::<i64>("numbers", true)).unwrap(), [1, 2, 3]);
    let mut scan = scan::<String>(ScanOptions::new().of_type("string").count(100)).cursor();
    let mut found = BTreeSet::new();
    while let Some(page) = scan.page() {
        found.extend(scan.take(host.run(page).unwrap()));
    }
    assert!(scan.is_finished() && found.iter().eq(["l", "m"]));
    assert!(host.run(randomkey::<Option<String>>()).unwrap().is_some());
    assert_eq!(host.run(unlink("l")).unwrap(), 1);
    assert_eq!(host.run(del(["l", "m", "numbers"])).unwrap(), 2);
    assert_eq!(host.run(randomkey::<Option<String>>()).unwrap(), None);
}

fn messages(host: &Host) {
    assert_eq!(host.run(publish("c", "m")).unwrap(), 0);
    assert_eq!(host.run(spublish("c", "m")).unwrap(), 0);
    assert!(
        host.run(pubsub_channels::<String>(None))
            .unwrap()
            .is_empty()
    );
    assert!(
        host.run(pubsub_channels::<String>(Some("c*")))
            .unwrap()
            .is_empty()
    );
    assert!(
        host.run(pubsub_shardchannels::<String>(None))
            .unwrap()
            .is_empty()
    );
    assert_eq!(host.run(pubsub_numpat()).unwrap(), 0);
    let nobody = [("a".to_owned(), 0), ("b".to_owned(), 0)];
    assert_eq!(host.run(pubsub_numsub(["a", "b"])).unwrap(), nobody);
    assert_eq!(host.run(pubsub_shardnumsub(["a", "b"])).unwrap(), nobody);
}
