//! A panic anywhere costs a connection at most.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arknet::pool::{ConnectFailure, PoolConfig};

use crate::rig::{Rig, eventually, wait};
use crate::server::Mood;

on_all_lanes!(
    a_panic_gives_the_lease_back,
    a_reset_that_panics_costs_its_connection,
    a_reset_that_panics_during_a_panic_costs_its_connection,
    a_check_that_panics_costs_its_connection,
    a_drop_that_panics_takes_nothing_with_it,
    a_connect_that_panics_is_a_failed_one,
    a_farewell_that_panics_ends_its_connection,
);

fn a_panic_gives_the_lease_back(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(1));
    let lease = wait("a lease", pool.acquire()).unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(move || {
        let _lease = lease;
        panic!("while leased, on purpose");
    }));
    assert!(panicked.is_err());
    assert_eq!((pool.stats().idle, rig.server.resets()), (1, 1));
    rig.finish(pool);
}

fn a_reset_that_panics_costs_its_connection(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(1));
    let lease = wait("a lease", pool.acquire()).unwrap();
    rig.server.set(Mood::ResetPanics);
    drop(lease);
    assert_eq!((pool.stats().discarded, rig.server.live()), (1, 0));
    rig.server.set(Mood::Good);
    drop(wait("a lease", pool.acquire()).unwrap());
    rig.finish(pool);
}

fn a_reset_that_panics_during_a_panic_costs_its_connection(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(1));
    let lease = wait("a lease", pool.acquire()).unwrap();
    rig.server.set(Mood::ResetPanics);
    let panicked = catch_unwind(AssertUnwindSafe(move || {
        let _lease = lease;
        panic!("while leased, on purpose");
    }));
    assert!(panicked.is_err());
    assert_eq!(pool.stats().discarded, 1);
    rig.server.set(Mood::Good);
    drop(wait("a lease", pool.acquire()).unwrap());
    rig.finish(pool);
}

fn a_check_that_panics_costs_its_connection(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(1));
    drop(wait("a lease", pool.acquire()).unwrap());
    rig.server.set(Mood::CheckPanics);
    assert!(pool.try_acquire().is_err());
    assert_eq!(pool.stats().discarded, 1);
    rig.server.set(Mood::Good);
    drop(wait("a lease", pool.acquire()).unwrap());
    rig.finish(pool);
}

fn a_drop_that_panics_takes_nothing_with_it(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(1));
    let lease = wait("a lease", pool.acquire()).unwrap();
    rig.server.set(Mood::DropPanics);
    lease.discard();
    rig.server.set(Mood::Good);
    let lease = wait("a lease", pool.acquire()).unwrap();
    drop(lease);
    rig.server.set(Mood::DropPanics);
    let report = wait("a close", pool.close(crate::rig::LIMIT));
    assert!(report.finished);
    rig.server.set(Mood::Good);
    rig.finish(pool);
}

fn a_connect_that_panics_is_a_failed_one(rig: Rig) {
    let pool = rig.pool(PoolConfig::new());
    rig.server.set(Mood::ConnectPanics);
    // Long enough for a connect to have been tried on a busy machine.
    let within = std::time::Duration::from_secs(1);
    let error = wait("a refusal", pool.acquire_within(within)).unwrap_err();
    assert!(matches!(
        error.connect_failure(),
        Some(ConnectFailure::Panicked)
    ));
    rig.server.set(Mood::Good);
    drop(wait("a lease", pool.acquire()).unwrap());
    rig.finish(pool);
}

fn a_farewell_that_panics_ends_its_connection(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().min_connections(1));
    eventually("a connection", || pool.stats().idle == 1);
    rig.server.set(Mood::FarewellPanics);
    rig.finish(pool);
}
