//! Leases that are dropped anywhere, and in any state.

use arknet::Lanes;
use arknet::pool::{Pool, PoolConfig};

use crate::rig::{LIMIT, Rig, eventually, wait};
use crate::server::Server;

on_all_lanes!(
    a_lease_can_be_dropped_on_any_thread,
    a_lease_that_a_reset_gives_up_is_dropped,
    a_discarded_lease_is_not_reset,
    a_lease_survives_the_lanes_and_the_pool,
);

fn a_lease_can_be_dropped_on_any_thread(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(4));
    for _ in 0..20 {
        let lease = wait("a lease", pool.acquire()).unwrap();
        // A thread that knows no runtime, ...
        std::thread::spawn(move || drop(lease)).join().unwrap();
        let lease = wait("a lease", pool.acquire()).unwrap();
        // ... and a lane.
        rig.lanes.post(move || drop(lease));
        eventually("all are back", || pool.stats().leased == 0);
    }
    assert_eq!(pool.stats().idle, rig.server.live());
    rig.finish(pool);
}

fn a_lease_that_a_reset_gives_up_is_dropped(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(1));
    rig.server.set_discards(true);
    for number in 0..5 {
        let lease = wait("a lease", pool.acquire()).unwrap();
        assert_eq!(lease.number, number);
    }
    assert_eq!(pool.stats().discarded, 5);
    assert_eq!((rig.server.most(), rig.server.farewells()), (1, 0));
    rig.finish(pool);
}

fn a_discarded_lease_is_not_reset(rig: Rig) {
    let pool = rig.pool(PoolConfig::new().max_connections(1));
    wait("a lease", pool.acquire()).unwrap().discard();
    assert_eq!((rig.server.resets(), rig.server.live()), (0, 0));
    assert_eq!(pool.stats().discarded, 1);
    rig.finish(pool);
}

fn a_lease_survives_the_lanes_and_the_pool(rig: Rig) {
    let pool = rig.pool(PoolConfig::new());
    let first = wait("a lease", pool.acquire()).unwrap();
    let second = wait("a lease", pool.acquire()).unwrap();
    drop(pool);
    let _ = wait("the lanes end", rig.lanes.shutdown(LIMIT));
    first.begin();
    drop(first);
    second.discard();
    eventually("no connection is left", || rig.server.live() == 0);
}

#[test]
fn leases_outlive_lanes_whose_last_handle_is_gone() {
    let server = Server::default();
    let lanes = Lanes::sharded(1).unwrap();
    let pool = Pool::new(server.clone(), PoolConfig::new(), &lanes).unwrap();
    let lease = wait("a lease", pool.acquire()).unwrap();
    drop(lanes);
    drop(pool);
    drop(lease);
    eventually("no connection is left", || server.live() == 0);
}

#[test]
fn a_lease_can_be_sent_and_is_not_shared() {
    fn is_send<T: Send>() {}
    is_send::<arknet::pool::Lease<Server>>();
    is_send::<arknet::pool::Acquire<'_, Server>>();
    is_send::<Pool<Server>>();
}
