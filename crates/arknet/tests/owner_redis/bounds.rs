//! C7: what waits is bounded by count and by bytes, and what is refused comes back whole.

use arknet::owner::{Io, Limits, Owner, RejectReason};
use arknet::redis::commands::strings::{get, set};
use arknet_testkit::servers::redis::{Options, RedisServer};
use arknet_testkit::{alloc, need};

use crate::support::{Stage, snapshot};

fn limited(io: Io, in_flight: usize, bytes: usize) -> Owner<u32> {
    let mut limits = Limits::default();
    limits.in_flight = in_flight;
    limits.bytes = bytes;
    Owner::builder().io(io).limits(limits).build().unwrap()
}

#[test]
fn an_owner_that_has_stalled_holds_no_more_than_its_limits() {
    const VALUE: usize = 10_000;
    const BYTES: usize = 1 << 20;
    let server = need!(RedisServer::start(Options::default()));
    let _ = server.cli(&["SET", "large", &"x".repeat(VALUE)]);
    for io in [Io::threads(1), Io::inline()] {
        let _ = snapshot(server.addr());
        let mut stage = Stage::of(limited(io, 2000, BYTES), server.addr(), 4);
        let heap = alloc::counts().live_bytes;
        let (mut accepted, mut refused) = (0_u32, 0_u32);
        let mut request = None;
        for _ in 0..1_000_000 {
            let next = request.take().unwrap_or_else(|| get::<String>("large"));
            let sent = stage.redis.send(next, |world, value| {
                assert_eq!(value.unwrap().len(), VALUE);
                *world += 1;
            });
            match sent {
                Ok(()) => accepted += 1,
                Err(rejected) => {
                    assert!(rejected.is_full());
                    refused += 1;
                    request = Some(rejected.operation);
                }
            }
        }
        assert_eq!((accepted, refused), (2000, 998_000));
        let held = alloc::counts().live_bytes.saturating_sub(heap);
        // Each of the accepted is a slot, a box for the callback, one for the request, and its own bytes.
        let most = (8 * BYTES) as i64 + i64::from(accepted) * 1024;
        assert!(held < most, "{held} bytes for {accepted} requests");
        stage.until("all that was accepted", |world| *world == accepted);
        let _ = stage.end();
    }
}

#[test]
fn what_is_refused_for_its_bytes_comes_back_and_can_be_sent_later() {
    let server = need!(RedisServer::start(Options::default()));
    let mut stage = Stage::of(limited(Io::threads(1), 1000, 1000), server.addr(), 1);
    // One always has room, whatever its size.
    stage
        .redis
        .send(set("a", "x".repeat(5000)), |world, saved| {
            saved.unwrap();
            *world += 1;
        })
        .unwrap();
    let rejected = stage
        .redis
        .send(set("b", "y".repeat(50)), |_, _| unreachable!("refused"))
        .unwrap_err();
    assert_eq!(
        rejected.reason,
        RejectReason::Bytes {
            most: 1000,
            of: "redis"
        }
    );
    stage.until("room", |world| *world == 1);
    stage
        .redis
        .send(rejected.operation, |world, saved| {
            saved.unwrap();
            *world += 1;
        })
        .unwrap();
    stage.until("the second", |world| *world == 2);
    assert_eq!(server.cli(&["STRLEN", "b"]).integer(), 50);
    let _ = stage.end();
}

/// Tasks wait for room, in the order in which they came, however large they are.
#[test]
fn tasks_that_wait_for_room_are_served_in_turn() {
    let server = need!(RedisServer::start(Options::default()));
    for io in [Io::threads(1), Io::inline()] {
        let mut stage = Stage::of(limited(io, 3, 2000), server.addr(), 2);
        for task in 0..200_usize {
            let redis = stage.redis.clone();
            stage
                .owner
                .spawn(async move |cx| {
                    let value = "x".repeat(if task % 5 == 0 { 1900 } else { 10 });
                    redis.call(set(task, value)).await.unwrap();
                    cx.with(|world| *world += 1);
                })
                .unwrap();
        }
        stage.until("all tasks", |world| *world == 200);
        let _ = stage.end();
    }
}
