//! On manual lanes everything happens when they are polled, and nothing else does.

use std::time::{Duration, Instant};

use arknet::Lanes;
use arknet::pool::{Pool, PoolConfig};

use crate::rig::LIMIT;
use crate::server::{Mood, Server};

fn poll_until(lanes: &Lanes, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !done() {
        assert!(Instant::now() < deadline);
        lanes
            .poll_until(Instant::now() + Duration::from_millis(1))
            .unwrap();
    }
}

#[test]
fn nothing_happens_until_the_lanes_are_polled() {
    let server = Server::default();
    let lanes = Lanes::manual().unwrap();
    let pool = Pool::new(server.clone(), PoolConfig::new(), &lanes).unwrap();
    assert!(pool.try_acquire().is_err());
    assert_eq!(server.connects(), 0);
    assert_eq!(pool.stats().connecting, 1);
    poll_until(&lanes, || pool.stats().idle == 1);
    // What is idle is lent without a poll.
    drop(pool.try_acquire().unwrap());
    let report = lanes.block_on(pool.close(LIMIT)).unwrap();
    assert!(report.finished);
}

#[test]
fn a_callback_is_called_in_a_poll() {
    let server = Server::default();
    let lanes = Lanes::manual().unwrap();
    let pool = Pool::new(server, PoolConfig::new(), &lanes).unwrap();
    let (send, called) = std::sync::mpsc::channel();
    let here = std::thread::current().id();
    pool.acquire_with(move |lease| {
        assert_eq!(std::thread::current().id(), here);
        drop(lease.unwrap());
        send.send(()).unwrap();
    });
    poll_until(&lanes, || called.try_recv().is_ok());
    let report = lanes.block_on(pool.close(LIMIT)).unwrap();
    assert!(report.finished);
}

#[test]
fn deadlines_pass_in_a_poll() {
    let server = Server::default();
    server.set(Mood::Hangs);
    let lanes = Lanes::manual().unwrap();
    let pool = Pool::new(server, PoolConfig::new(), &lanes).unwrap();
    let within = Duration::from_millis(20);
    let error = lanes.block_on(async { pool.acquire_within(within).await.unwrap_err() });
    assert!(error.unwrap().is_timeout());
    let report = lanes.block_on(pool.close(LIMIT)).unwrap();
    assert!(report.finished, "{report:?}");
}

#[test]
fn a_pool_of_lanes_that_are_gone_is_closed() {
    let server = Server::default();
    let lanes = Lanes::manual().unwrap();
    let pool = Pool::new(server.clone(), PoolConfig::new(), &lanes).unwrap();
    let lease = lanes.block_on(pool.acquire()).unwrap().unwrap();
    let report = lanes.block_on(lanes.shutdown(LIMIT)).unwrap();
    assert!(report.finished, "{report:?}");
    assert!(pool.is_closed());
    drop(lease);
    // Its farewell is spoken when somebody polls.
    poll_until(&lanes, || server.live() == 0);
}
