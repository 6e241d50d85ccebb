//! A pool counts leases, waits and connections.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use arknet::Lanes;
use arknet::pool::{AcquireError, Manager, Pool, PoolConfig, Reset};

use crate::recorder::Notes;
use crate::{PATIENCE, until};

#[derive(Clone, Debug, thiserror::Error)]
#[error("no")]
struct No;

/// Connections that are what has become of them.
#[derive(Default)]
struct Switches {
    refuses: AtomicBool,
}

impl Manager for Switches {
    type Connection = Reset;
    type Error = No;

    async fn connect(&self, _: Instant) -> Result<Reset, No> {
        match self.refuses.load(Ordering::Relaxed) {
            true => Err(No),
            false => Ok(Reset::Clean),
        }
    }

    fn reset(&self, connection: &mut Reset) -> Reset {
        std::mem::replace(connection, Reset::Clean)
    }

    fn is_reusable(&self, _: &mut Reset, _: Duration) -> bool {
        true
    }

    async fn farewell(&self, _: Reset) {}

    fn name(&self) -> String {
        "switches".to_owned()
    }
}

#[test]
fn a_pool_counts_what_its_users_and_connections_do() {
    let notes = Notes::default();
    let lanes = Lanes::sharded(1).unwrap();
    let config = PoolConfig::new().max_connections(1).queue(1);
    let pool = notes.while_making(|| Pool::new(Switches::default(), config, &lanes).unwrap());
    let value = |name: &str| notes.value(&format!("arknet_pool_{name}"), &["switches"]);

    let mut lease = lanes.block_on(pool.acquire()).unwrap().unwrap();
    assert_eq!(value("leases_total"), 1.0);
    assert_eq!(value("connects_total"), 1.0);
    assert_eq!(value("connections_open"), 1.0);
    assert_eq!(value("connections_lent"), 1.0);
    // The first had to wait for the connection to be made.
    assert_eq!(value("waits_total"), 1.0);

    // One waits, one finds no room, and the one that waits has its turn.
    lanes
        .block_on(async {
            let mut waits = Box::pin(pool.acquire_within(PATIENCE));
            assert!(futures_util::poll!(waits.as_mut()).is_pending());
            assert_eq!(value("acquires_waiting"), 1.0);
            let refused = pool.acquire().await;
            assert!(matches!(refused, Err(AcquireError::QueueFull { limit: 1 })));
            *lease = Reset::Sent;
            drop(lease);
            drop(waits.await.unwrap());
        })
        .unwrap();
    assert_eq!(value("refusals_total"), 1.0);
    assert_eq!(value("resets_total"), 1.0);
    assert_eq!(value("acquires_waiting"), 0.0);
    assert_eq!(value("connections_idle"), 1.0);
    assert_eq!(value("connections_lent"), 0.0);
    assert_eq!(value("leases_total"), 2.0);
    let waited = notes.recorded("arknet_pool_wait_seconds", &["switches"]);
    assert_eq!(waited.len(), 2);
    assert!(waited.iter().all(|wait| (0.0..60.0).contains(wait)));

    // Its connection is of no use any more, and another cannot be made.
    pool.manager().refuses.store(true, Ordering::Relaxed);
    pool.try_acquire().unwrap().discard();
    assert_eq!(value("discards_total"), 1.0);
    let brief = pool.acquire_within(Duration::from_millis(20));
    assert!(lanes.block_on(brief).unwrap().is_err());
    assert_eq!(value("timeouts_total"), 1.0);
    until("a connect fails", || value("failed_connects_total") >= 1.0);
    assert!(lanes.block_on(pool.close(PATIENCE)).unwrap().finished);
    assert_eq!(value("connections_open"), 0.0);
}

#[test]
fn pools_of_one_name_add_up_and_leave_nothing_behind() {
    let notes = Notes::default();
    let lanes = Lanes::sharded(1).unwrap();
    let pool = || {
        let config = PoolConfig::new().min_connections(3).max_connections(3);
        Pool::new(Switches::default(), config, &lanes).unwrap()
    };
    let (one, other) = notes.while_making(|| (pool(), pool()));
    let idle = || notes.value("arknet_pool_connections_idle", &["switches"]);
    until("all are there", || idle() == 6.0);
    drop(one);
    until("those of one have gone", || idle() == 3.0);
    drop(other);
    until("all have gone", || idle() == 0.0);
}
