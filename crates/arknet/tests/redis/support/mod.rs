//! What the stories have in common.

mod fake;

use std::net::SocketAddr;
use std::time::Duration;

use arknet::Lanes;
use arknet::redis::{Backoff, Config, ReconnectPolicy};

pub(crate) use fake::Fake;

/// Longer than anything takes that goes well, on a machine that does much else.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// How lanes are made.
type Make = fn() -> Lanes;

/// A name for the lanes, and how to make them; `current` are those of the calling test.
pub(crate) const LANES: [(&str, Make); 5] = [
    ("shared(2)", || Lanes::shared(2).unwrap()),
    ("shared(1)", || Lanes::shared(1).unwrap()),
    ("sharded(2)", || Lanes::sharded(2).unwrap()),
    ("manual", || Lanes::manual().unwrap()),
    ("current", || Lanes::current().unwrap()),
];

/// Runs a story on every kind of lanes.
pub(crate) fn on_all_lanes(story: impl AsyncFn(&Lanes)) {
    for (name, make) in LANES {
        if name == "current" {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async { in_time(story(&make())).await });
            continue;
        }
        let lanes = make();
        lanes.block_on(story(&lanes)).unwrap();
    }
}

/// Runs a story on one lane with a thread of its own.
pub(crate) fn on_a_lane(story: impl AsyncFn(&Lanes)) {
    let lanes = Lanes::sharded(1).unwrap();
    lanes.block_on(story(&lanes)).unwrap();
}

async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(2 * PATIENCE, future)
        .await
        .expect("the story takes too long")
}

/// A configuration that is quick to connect again.
pub(crate) fn config(address: SocketAddr) -> Config {
    Config::new(address)
        .unwrap()
        .reconnect(quick())
        .request_timeout(Some(PATIENCE))
}

/// Connects again after some milliseconds.
pub(crate) fn quick() -> ReconnectPolicy {
    ReconnectPolicy::backoff_with(Backoff {
        first: Duration::from_millis(5),
        max: Duration::from_millis(50),
        ..Backoff::default()
    })
}

/// Waits until something is so, looking again whenever the lane has a turn.
pub(crate) async fn until(what: &str, mut so: impl FnMut() -> bool) {
    let late = std::time::Instant::now() + PATIENCE;
    while !so() {
        assert!(std::time::Instant::now() < late, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
