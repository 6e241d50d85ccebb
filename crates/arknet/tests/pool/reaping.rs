//! Connections that are old or that nobody needs end by themselves.

use std::time::Duration;

use arknet::pool::PoolConfig;
use futures_util::future::join_all;

use crate::rig::{Rig, eventually, wait};

on_all_lanes!(
    idle_connections_end_down_to_the_least_number,
    old_connections_end_and_are_replaced_where_they_are_kept,
);

fn idle_connections_end_down_to_the_least_number(rig: Rig) {
    let config = PoolConfig::new().min_connections(1).max_connections(4);
    let pool = rig.pool(config.max_idle(Some(Duration::from_millis(30))));
    let leases = wait("leases", join_all((0..4).map(|_| pool.acquire())));
    drop(leases);
    assert_eq!(rig.server.live(), 4);
    eventually("one connection is left", || rig.server.live() == 1);
    eventually("three ended", || pool.stats().idled_out == 3);
    assert_eq!(rig.server.farewells(), 3);
    rig.finish(pool);
}

fn old_connections_end_and_are_replaced_where_they_are_kept(rig: Rig) {
    let config = PoolConfig::new().min_connections(1).max_connections(2);
    let pool = rig.pool(config.max_age(Some(Duration::from_millis(20))));
    eventually("three have been replaced", || pool.stats().expired >= 3);
    eventually("one is there", || pool.stats().idle == 1);
    assert!(rig.server.most() <= 2);
    rig.finish(pool);
}
