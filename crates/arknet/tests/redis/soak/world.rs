//! What all loads share, and what is looked at when they have ended.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use arknet::pool::PoolConfig;
use arknet::redis::{Client, Config, Pool, cmd};
use arknet::{Lanes, Outcome};
use arknet_testkit::servers::redis::RedisServer;

use super::chance::Chance;
use super::listening::Heard;
use super::queue::Queue;
use super::tally::{Executed, Tally};
use crate::support::{PATIENCE, config};

/// The name of the pool's connections in the server's list.
pub(super) const POOL: &str = "soak-pool";

/// How long a request may take: less than the longest faults, so that both happen.
const LIMIT: Duration = Duration::from_millis(250);

pub(super) struct World {
    seed: u64,
    stopped: AtomicBool,
    pub(super) config: Config,
    pub(super) client: Client,
    pub(super) pool: Pool,
    pub(super) tally: Tally,
    counters: Mutex<BTreeMap<String, Executed>>,
    pub(super) queue: Mutex<Queue>,
    pub(super) heard: Mutex<Heard>,
}

impl World {
    pub(super) fn new(seed: u64, address: SocketAddr, lanes: &Lanes) -> Self {
        let config = config(address)
            .request_timeout(Some(LIMIT))
            .connect_timeout(2 * LIMIT);
        // Fewer connections than borrowers, so that there is a queue.
        let pool = PoolConfig::new()
            .max_connections(8)
            .queue(8)
            .acquire_timeout(LIMIT);
        Self {
            seed,
            stopped: AtomicBool::new(false),
            client: Client::new(config.clone().client_name("soak-shared"), lanes).unwrap(),
            pool: Pool::new(config.clone().client_name(POOL), pool, lanes).unwrap(),
            config,
            tally: Tally::default(),
            counters: Mutex::default(),
            queue: Mutex::default(),
            heard: Mutex::default(),
        }
    }

    pub(super) fn chance(&self, user: u64) -> Chance {
        Chance::new(self.seed, user)
    }

    pub(super) fn runs(&self) -> bool {
        !self.stopped.load(Ordering::Relaxed)
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// What a caller knows of a counter of the server, in addition to what others do.
    pub(super) fn counted(&self, key: &str, executed: Executed) {
        let mut counters = lock(&self.counters);
        let sum = counters.entry(key.to_owned()).or_default();
        sum.surely += executed.surely;
        sum.perhaps += executed.perhaps;
    }

    /// Waits until nothing is under way any more, and compares the server with what was told.
    pub(super) async fn settle(&self, server: &RedisServer) -> Verdict {
        self.is_found_again().await;
        let connections = self.no_lease_is_lost(server).await;
        for (key, executed) in lock(&self.counters).iter() {
            let count = match server.cli(&["INCRBY", key, "0"]).integer() {
                count @ 0.. => count.unsigned_abs(),
                count => panic!("{key} is {count}"),
            };
            executed.check(key, count);
        }
        lock(&self.queue).check(server);
        lock(&self.heard).check();
        let pool = self.pool.close(PATIENCE).await;
        assert!(pool.finished, "{pool:?}");
        assert!(self.client.close(PATIENCE).await.finished);
        let stats = self.pool.stats();
        Verdict {
            connections,
            connected: stats.pool.connected,
            lent: stats.pool.lent,
            resets: stats.resets,
        }
    }

    /// Both clients find the server again, whatever happened last.
    async fn is_found_again(&self) {
        let patient = self.client.within(Some(PATIENCE));
        patient.run(cmd::<()>("PING")).await.unwrap();
        loop {
            let mut lease = self.pool.acquire_within(PATIENCE).await.unwrap();
            match lease.run(cmd::<()>("PING")).await {
                Ok(()) => return,
                // It had ended, and nobody had been told yet.
                Err(error) => assert_eq!(error.outcome(), Outcome::NotSent, "{error}"),
            }
        }
    }

    /// Waits until the server sees the connections that the pool has, and no others.
    async fn no_lease_is_lost(&self, server: &RedisServer) -> usize {
        let late = tokio::time::Instant::now() + PATIENCE;
        loop {
            let seen = server.client_list();
            let seen = seen.iter().filter(|client| client.name() == POOL).count();
            let stats = self.pool.stats().pool;
            let busy = stats.leased + stats.connecting + stats.ending + stats.waiting;
            if busy == 0 && stats.idle == seen {
                return seen;
            }
            let now = tokio::time::Instant::now();
            assert!(now < late, "the server sees {seen} connections: {stats:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// A lock that is held by nobody who waits for anything.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

/// How it ended.
pub(super) struct Verdict {
    connections: usize,
    connected: u64,
    lent: u64,
    resets: u64,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "0 wrong replies, 0 lost leases: {} leases and {} resets on {} connections, {} of them left",
            self.lent, self.resets, self.connected, self.connections
        )
    }
}
