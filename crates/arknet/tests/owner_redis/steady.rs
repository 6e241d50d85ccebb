//! What is promised of the cost and can be counted: allocations.

use arknet::owner::Io;
use arknet::redis::cmd;
use arknet_testkit::servers::redis::{Options, RedisServer};
use arknet_testkit::{alloc, need};

use crate::support::Stage;

/// Requests under way, each of a task of its own.
const TASKS: usize = 16;

#[test]
fn requests_of_tasks_allocate_nothing_in_the_steady_state() {
    let server = need!(RedisServer::start(Options::default()));
    let mut stage = Stage::<u64>::new(Io::inline(), server.addr(), 4);
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let redis = stage.redis.clone();
            stage
                .owner
                .spawn(async move |cx| {
                    loop {
                        redis.call(cmd::<i64>("INCR").arg("n")).await.unwrap();
                        cx.with(|world| *world += 1);
                    }
                })
                .unwrap()
        })
        .collect();
    stage.until("the warm-up", |world| *world > 2000);
    let before = stage.world;
    let mut updates = 0;
    let counts = alloc::measure(|| {
        while stage.world < before + 5000 {
            stage.update();
            updates += 1;
        }
    });
    // tokio allocates the list of those who yield, at each poll of its runtime: twice per update at most.
    let own = counts.allocations.saturating_sub(2 * updates);
    assert!(
        own * 1000 <= stage.world - before,
        "{own} allocations for {} requests in {updates} updates",
        stage.world - before
    );
    for task in tasks {
        task.cancel();
    }
    let _ = stage.end();
}
