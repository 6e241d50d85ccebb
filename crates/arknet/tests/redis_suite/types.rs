//! Every type of the protocol, from the server that makes one of each, and what the session has agreed upon.

use std::collections::{BTreeMap, BTreeSet};

use arknet::redis::{Protocol, Value, cmd};
use arknet_testkit::servers::redis::ClientInfo;

use crate::harness::{Host, Transport};

in_every_cell![the_session_is_what_the_cell_says];
// A shared client takes no DEBUG, which may hold up the server.
in_every_lease_cell![every_type_is_decoded];

fn every_type_is_decoded(host: &Host) {
    let resp3 = host.cell.protocol != Protocol::Resp2;
    fn ask<T: arknet::redis::FromReply + Send + 'static>(host: &Host, what: &str) -> T {
        let command = cmd("DEBUG").arg("PROTOCOL").arg(what);
        host.run_on_lease(command).unwrap()
    }
    assert_eq!(ask::<String>(host, "string"), "Hello World");
    assert_eq!(ask::<i64>(host, "integer"), 12_345);
    let double: f64 = ask(host, "double");
    assert!((3.1409..3.1411).contains(&double), "{double}");
    assert_eq!(ask::<Option<String>>(host, "null"), None);
    assert_eq!(ask::<Vec<i64>>(host, "array"), [0, 1, 2]);
    assert_eq!(ask::<BTreeSet<i64>>(host, "set"), BTreeSet::from([0, 1, 2]));
    let map: BTreeMap<i64, bool> = ask(host, "map");
    assert_eq!(map, BTreeMap::from([(0, false), (1, true), (2, false)]));
    let verbatim: String = ask(host, "verbatim");
    assert!(verbatim.contains("verbatim"), "{verbatim}");
    assert!(ask::<bool>(host, "true"));
    assert!(!ask::<bool>(host, "false"));
    let digits: String = ask(host, "bignum");
    assert_eq!(digits, "1234567999999999999999999999999999999");
    let attributed: String = ask(host, "attrib");
    assert!(attributed.contains("attribute"), "{attributed}");

    let double: Value = ask(host, "double");
    assert_eq!(matches!(double, Value::Double(_)), resp3, "{double:?}");
    let map: Value = ask(host, "map");
    assert_eq!(matches!(map, Value::Map(_)), resp3, "{map:?}");
    let truth: Value = ask(host, "true");
    assert_eq!(
        truth,
        if resp3 {
            Value::Boolean(true)
        } else {
            Value::Integer(1)
        }
    );
}

fn the_session_is_what_the_cell_says(host: &Host) {
    let info: String = host.run(cmd("CLIENT").arg("INFO")).unwrap();
    let info = ClientInfo::parse(&info);
    let resp = if host.cell.protocol == Protocol::Resp2 {
        2
    } else {
        3
    };
    assert_eq!(
        (info.resp(), info.database(), info.user()),
        (resp, 0, "default")
    );
    assert!(info.name().starts_with("suite-"), "{}", info.name());
    let door = match host.cell.transport {
        Transport::Tcp => host.server.addr().to_string(),
        Transport::Tls | Transport::Mtls => host.server.tls_addr().to_string(),
        Transport::Unix => format!("{}:0", host.server.socket().display()),
    };
    assert_eq!(info.field("laddr"), door);
}
