//! What a user leaves in a session, the next one does not find.

use arknet::Lanes;
use arknet::redis::{Config, Lease, Pool, ResetPolicy, cmd};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};

use super::{config, echo, pool_of_one, tell};

const POLICIES: [ResetPolicy; 3] = [
    ResetPolicy::Automatic,
    ResetPolicy::Always,
    ResetPolicy::Discard,
];

/// Each way of changing a session: what is sent, one command a line.
const WAYS: &[&str] = &[
    "SELECT 5",
    "WATCH k",
    "MULTI",
    "MULTI\nSELECT 5\nDISCARD",
    "MULTI\nSELECT 5\nEXEC",
    "MULTI\nSET k 1",
    "SUBSCRIBE c",
    "SUBSCRIBE c d e",
    "PSUBSCRIBE c*",
    "CLIENT REPLY OFF",
    "CLIENT REPLY SKIP",
    "CLIENT TRACKING ON",
    "CLIENT TRACKING ON BCAST",
    "CLIENT SETNAME somebody",
    "CLIENT NO-EVICT ON",
    "CLIENT NO-TOUCH ON",
    "CLIENT SETINFO LIB-NAME else",
    "READONLY",
    "ASKING",
    "HELLO 2",
    "AUTH other secret",
    "HELLO 3 AUTH other secret SETNAME other",
    "MONITOR",
    "QUIT",
    "RESET",
    "XGROUP NONSENSE",
    "NO SUCH COMMAND",
];

fn server() -> Option<RedisServer> {
    RedisServer::start(Options::default().user("other", "secret")).ok()
}

async fn run_lines(lease: &mut Lease, lines: &str) {
    for line in lines.lines() {
        let mut words = line.split(' ');
        let command = cmd::<arknet::redis::Value>(words.next().unwrap().to_owned());
        // Refused or not, what matters is what the next user sees.
        let _ = lease.run(command.args(words)).await;
    }
}

/// What `CLIENT INFO` says of the things that a session can be changed in.
async fn state(lease: &mut Lease) -> Vec<String> {
    let info: String = lease.run(cmd("CLIENT").arg("INFO")).await.unwrap();
    let kept = [
        "name", "db", "sub", "psub", "ssub", "multi", "watch", "user", "flags", "redir", "resp",
    ];
    let fields = info.split_whitespace().filter(|field| {
        let name = field.split('=').next().unwrap();
        kept.contains(&name)
    });
    fields.map(str::to_owned).collect()
}

async fn is_pristine(pool: &Pool, pristine: &[String], after: &str) {
    let mut lease = pool.acquire().await.unwrap();
    echo(&mut lease, after).await;
    assert_eq!(state(&mut lease).await, pristine, "after {after:?}");
    let mut transaction = lease.transaction();
    transaction.watch("k").await.unwrap();
    let set = cmd::<()>("SET").arg("k").arg(after);
    let set = transaction.commit(set).await.unwrap();
    set.applied()
        .unwrap_or_else(|| panic!("a conflict after {after:?}"))
        .unwrap();
    let kept: String = lease.run(cmd("GET").arg("k")).await.unwrap();
    assert_eq!(kept, after);
    // A watch that has stayed behind would now be touched.
    let stored: i64 = lease.run(cmd("DBSIZE")).await.unwrap();
    assert_eq!(stored, 1, "after {after:?} in another database");
}

async fn every_way(lanes: Lanes, config: Config, policy: ResetPolicy) {
    let pool = pool_of_one(config, policy, &lanes);
    let pristine = state(&mut pool.acquire().await.unwrap()).await;
    assert!(pristine.contains(&"multi=-1".to_owned()), "{pristine:?}");
    is_pristine(&pool, &pristine, "nothing").await;
    for way in WAYS {
        let mut lease = pool.acquire().await.unwrap();
        run_lines(&mut lease, way).await;
        drop(lease);
        is_pristine(&pool, &pristine, way).await;
    }
}

fn under_every_policy(change: impl Fn(Config) -> Config) {
    let Some(server) = server() else {
        need!(RedisServer::start(Options::default()));
        return;
    };
    for policy in POLICIES {
        server.cli(&["FLUSHALL"]);
        let config =
            change(config(&server).request_timeout(Some(std::time::Duration::from_secs(2))));
        tell(|lanes| every_way(lanes, config, policy));
    }
}

#[test]
fn the_next_user_finds_a_session_as_it_began() {
    under_every_policy(|config| config.client_name("tests").database(3));
}

#[test]
fn so_it_is_in_resp2() {
    under_every_policy(|config| config.protocol(arknet::redis::Protocol::Resp2));
}

#[test]
fn so_it_is_for_a_user_with_a_password() {
    under_every_policy(|config| config.user("other").password("secret").database(1));
}

#[test]
fn a_clean_session_is_not_reset_and_a_changed_one_keeps_its_connection() {
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let pool = pool_of_one(config(&server), ResetPolicy::Automatic, &lanes);
        for number in 0..10 {
            let mut lease = pool.acquire().await.unwrap();
            echo(&mut lease, "clean").await;
            let set = cmd::<()>("SET").arg("k").arg(number);
            lease.run(set).await.unwrap();
        }
        assert_eq!(pool.stats().resets, 0);
        for _ in 0..10 {
            let mut lease = pool.acquire().await.unwrap();
            lease.run(cmd::<()>("SELECT").arg(7)).await.unwrap();
            assert!(lease.is_dirty());
        }
        let stats = pool.stats();
        assert_eq!(stats.resets, 10);
        assert_eq!(stats.pool.connected, 1, "a reset costs no connection");
    });
}

#[test]
fn a_push_storm_of_the_last_user_is_nothing_to_the_next() {
    let server = need!(RedisServer::start(Options::default()));
    tell(|lanes| async move {
        let pool = pool_of_one(config(&server), ResetPolicy::Automatic, &lanes);
        for round in 0..20 {
            let mut lease = pool.acquire().await.unwrap();
            let subscribe = cmd::<arknet::redis::Value>("SUBSCRIBE").arg("storm");
            lease.run(subscribe).await.unwrap();
            for message in 0..50 {
                server.cli(&["PUBLISH", "storm", &format!("{round}.{message}")]);
            }
            echo(&mut lease, "within the storm").await;
            drop(lease);
            let mut next = pool.acquire().await.unwrap();
            echo(&mut next, &format!("after storm {round}")).await;
        }
        assert_eq!(pool.stats().pool.connected, 1);
    });
}
