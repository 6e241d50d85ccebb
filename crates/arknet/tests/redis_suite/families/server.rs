//! The server and its connections.

use std::time::{Duration, SystemTime};

use arknet::redis::commands::server::*;
use arknet::redis::commands::strings::{get, set};
use arknet::redis::commands::transactions::*;
use arknet::redis::{Commit, Value};

use crate::harness::Host;

in_both_protocols![
    what_it_says_of_itself,
    its_clients,
    its_data,
    transactions_by_hand
];

fn what_it_says_of_itself(host: &Host) {
    host.run(ping()).unwrap();
    assert_eq!(host.run(echo::<String>("hello")).unwrap(), "hello");
    let all = host.run(info(None)).unwrap();
    assert_eq!(
        all.get("tcp_port"),
        Some(host.server.addr().port().to_string().as_str())
    );
    let some = host.run(info(Some("clients"))).unwrap();
    assert!(some.get("connected_clients").is_some() && some.get("tcp_port").is_none());
    let now = host.run(time()).unwrap().0;
    let apart = SystemTime::now().duration_since(now).unwrap_or_default();
    assert!(apart < Duration::from_secs(60), "{apart:?}");
    assert!(host.run(lastsave()).unwrap().0 <= SystemTime::now());
    assert!(host.run(command_count()).unwrap() > 200);
    let found = host.run(config_get(["maxclients", "databases"])).unwrap();
    assert_eq!(found["databases"], "16");
    host.run(config_set([
        ("maxmemory", 0),
        ("slowlog-log-slower-than", 0),
    ]))
    .unwrap();
    host.run(config_resetstat()).unwrap();
    assert!(host.run(slowlog_len()).unwrap() > 0);
    assert!(!host.run(slowlog_get::<Value>(1)).unwrap().is_empty());
    host.run(slowlog_reset()).unwrap();
    host.run(config_rewrite()).unwrap();
    let Value::Array(role) = host.run(role::<Value>()).unwrap() else {
        panic!("a list was expected");
    };
    assert_eq!(role.len(), 3);
    assert_eq!(
        host.run_on_lease(wait(0, Some(Duration::from_millis(10))))
            .unwrap(),
        0
    );
}

fn its_clients(host: &Host) {
    assert_eq!(host.run(acl_whoami()).unwrap(), "default");
    let name = host.run(client_getname()).unwrap().unwrap();
    assert!(
        host.run(client_info())
            .unwrap()
            .contains(&format!("name={name} "))
    );
    assert!(
        host.run(client_list())
            .unwrap()
            .contains(&format!("name={name} "))
    );
    assert!(host.run(client_id()).unwrap() > 0);
    assert!(!host.run(client_kill(u64::MAX >> 1)).unwrap());
    assert!(!host.run(client_unblock(u64::MAX >> 1)).unwrap());
    host.run(client_pause(Duration::from_millis(1), true))
        .unwrap();
    host.run(client_unpause()).unwrap();
    host.run_on_lease(client_no_evict(true)).unwrap();
    host.lease(async |lease| {
        lease.run(client_setname("other")).await.unwrap();
        assert_eq!(
            lease.run(client_getname()).await.unwrap().as_deref(),
            Some("other")
        );
        lease.run(select(3)).await.unwrap();
        assert!(lease.run(client_info()).await.unwrap().contains(" db=3 "));
        let wrong = lease.run(auth("nobody", "wrong")).await.unwrap_err();
        assert_eq!(wrong.server().unwrap().code(), "WRONGPASS");
    });
}

fn its_data(host: &Host) {
    host.run(set("k", "v")).unwrap();
    assert_eq!(host.run(dbsize()).unwrap(), 1);
    assert!(host.run(memory_usage("k")).unwrap().unwrap() > 0);
    assert_eq!(host.run(memory_usage("none")).unwrap(), None);
    host.run(swapdb(0, 1)).unwrap();
    assert_eq!(host.run(get::<Option<String>>("k")).unwrap(), None);
    host.run(swapdb(0, 1)).unwrap();
    host.run(flushdb(Flush::Sync)).unwrap();
    assert_eq!(host.run(dbsize()).unwrap(), 0);
    host.run(flushall(Flush::Async)).unwrap();
}

fn transactions_by_hand(host: &Host) {
    host.lease(async |lease| {
        lease.run(watch(["k", "l"])).await.unwrap();
        lease.run(unwatch()).await.unwrap();
        lease.run(multi()).await.unwrap();
        lease.run(discard()).await.unwrap();
        lease.run(watch("k")).await.unwrap();
        lease.run(multi()).await.unwrap();
        let queued = lease.run(set("k", 7).returning::<String>()).await.unwrap();
        assert_eq!(queued, "QUEUED");
        let done: ((),) = lease.run(exec()).await.unwrap();
        assert_eq!(done, ((),));
        let doubled = lease.transaction().commit(get::<i64>("k")).await.unwrap();
        let Commit::Applied(Ok(7)) = doubled else {
            panic!("{doubled:?}");
        };
    });
}
