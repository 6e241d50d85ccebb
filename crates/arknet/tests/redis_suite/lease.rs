//! What only a lease can do: wait, watch, and change its session.

use std::time::Duration;

use arknet::redis::{Commit, ErrorKind, cmd};

use crate::harness::{Host, eventually};

in_every_lease_cell![
    a_transaction_is_applied_if_nobody_interferes,
    a_transaction_meets_a_conflict,
    counters_under_watch_lose_nothing,
    a_waiting_command_gets_what_is_pushed,
    a_waiting_command_has_its_own_time,
    a_changed_session_is_not_lent_again,
];

fn a_transaction_is_applied_if_nobody_interferes(host: &Host) {
    let key = host.key("applied");
    host.lease(async |lease| {
        let mut transaction = lease.transaction();
        transaction.watch(&key).await.unwrap();
        let before: Option<i64> = transaction.run(cmd("GET").arg(&key)).await.unwrap();
        assert_eq!(before, None);
        let set = arknet::redis::pipeline()
            .add(cmd::<()>("SET").arg(&key).arg(1))
            .add(cmd::<i64>("INCR").arg(&key));
        let Commit::Applied((set, incremented)) = transaction.commit(set).await.unwrap() else {
            panic!("a conflict with nobody");
        };
        set.unwrap();
        assert_eq!(incremented.unwrap(), 2);
    });
    assert_eq!(host.run(cmd::<i64>("GET").arg(&key)).unwrap(), 2);
}

fn a_transaction_meets_a_conflict(host: &Host) {
    let key = host.key("conflict");
    host.lease(async |lease| {
        let mut transaction = lease.transaction();
        transaction.watch(&key).await.unwrap();
        host.server.cli(&["SET", &key, "theirs"]);
        let set = transaction
            .commit(cmd::<()>("SET").arg(&key).arg("ours"))
            .await;
        assert!(set.unwrap().is_conflict());
        // What was watched is watched no more.
        let again = lease.transaction();
        let set = again
            .commit(cmd::<()>("SET").arg(&key).arg("ours"))
            .await
            .unwrap();
        set.applied().unwrap().unwrap();
    });
    assert_eq!(host.run(cmd::<String>("GET").arg(&key)).unwrap(), "ours");
}

fn counters_under_watch_lose_nothing(host: &Host) {
    const ROUNDS: usize = 50;
    let key = host.key("counter");
    let count = async || {
        for _ in 0..ROUNDS {
            let mut lease = host.pool().acquire().await.unwrap();
            loop {
                let mut transaction = lease.transaction();
                transaction.watch(&key).await.unwrap();
                let now: Option<usize> = transaction.run(cmd("GET").arg(&key)).await.unwrap();
                let next = cmd::<()>("SET").arg(&key).arg(now.unwrap_or(0) + 1);
                if let Commit::Applied(set) = transaction.commit(next).await.unwrap() {
                    set.unwrap();
                    break;
                }
            }
        }
    };
    host.wait(async {
        tokio::join!(count(), count());
    });
    assert_eq!(host.run(cmd::<usize>("GET").arg(&key)).unwrap(), 2 * ROUNDS);
}

fn a_waiting_command_gets_what_is_pushed(host: &Host) {
    let key = host.key("queue");
    let pop = cmd::<Option<(String, String)>>("BLPOP").arg(&key).arg(0);
    let server = host.server.clone();
    let queue = key.clone();
    let pusher = std::thread::spawn(move || {
        // It is pushed when it is waited for.
        eventually("somebody waits", || {
            let clients = server.client_list();
            clients
                .iter()
                .any(|client| client.field("flags").contains('b') && client.field("cmd") == "blpop")
        });
        server.cli(&["RPUSH", &queue, "item"]);
    });
    let popped = host.run_on_lease(pop).unwrap();
    pusher.join().unwrap();
    assert_eq!(popped, Some((key, "item".to_owned())));
}

fn a_waiting_command_has_its_own_time(host: &Host) {
    let key = host.key("nothing");
    host.lease(async |lease| {
        // The request's own limit does not cut the wait that was asked for.
        lease.set_request_timeout(Some(Duration::from_millis(500)));
        let pop = cmd::<Option<(String, String)>>("BLPOP").arg(&key).arg(0.7);
        assert_eq!(lease.run(pop).await.unwrap(), None);
        assert_eq!(
            lease.run(cmd::<String>("ECHO").arg("next")).await.unwrap(),
            "next"
        );
    });
}

fn a_changed_session_is_not_lent_again(host: &Host) {
    host.lease(async |lease| {
        lease.run(cmd::<()>("SELECT").arg(5)).await.unwrap();
        lease
            .run(cmd::<()>("CLIENT").args(["SETNAME", "changed"]))
            .await
            .unwrap();
        assert!(lease.is_dirty());
    });
    for _ in 0..3 {
        host.lease(async |lease| {
            let info: String = lease.run(cmd("CLIENT").arg("INFO")).await.unwrap();
            assert!(
                info.contains(" db=0 ") && info.contains(" name=suite-"),
                "{info}"
            );
        });
    }
    let unknown = host.run(cmd::<()>("NOSUCHCOMMAND")).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Server);
}
