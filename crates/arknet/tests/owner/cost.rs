//! What is promised of the cost and can be counted: allocations, and that a burst is delivered in one update.
//! Times are in `benches/owner.rs`.

use arknet::owner::{Io, Lost};
use arknet_testkit::alloc;

use crate::support::Stage;

#[test]
fn a_thousand_completions_are_delivered_in_one_update() {
    for in_tasks in [false, true] {
        let mut stage = Stage::<u32>::inline();
        let service = stage.service("s", async |()| Ok::<_, Lost>(())).unwrap();
        for _ in 0..1000 {
            if in_tasks {
                let call = service.try_call(()).unwrap();
                stage
                    .spawn(async move |cx| {
                        call.await.unwrap();
                        cx.with(|world| *world += 1);
                    })
                    .unwrap();
            } else {
                service.send((), |world: &mut u32, _| *world += 1).unwrap();
            }
        }
        // The first polls of the tasks, and the round on the lane.
        let _ = stage.update();
        let _ = stage.update();
        assert_eq!(stage.world, 1000);
        drop(service);
        let _ = stage.update();
        stage.end();
    }
}

/// Tasks that submit one operation after the other, so many at once.
fn steady_state(io: Io, tasks: u64) {
    let mut stage = Stage::<u64>::new(io);
    let service = stage.service("s", async |n: u64| Ok::<_, Lost>(n)).unwrap();
    let tasks: Vec<_> = (0..tasks)
        .map(|key| {
            let service = service.ordered(key);
            stage
                .spawn(async move |cx| {
                    loop {
                        let n = service.call(1).await.unwrap();
                        cx.with(|world| *world += n);
                    }
                })
                .unwrap()
        })
        .collect();
    while stage.world < 50_000 {
        let _ = stage.update();
    }
    let before = stage.world;
    let counts = alloc::measure(|| {
        while stage.world < before + 50_000 {
            let _ = stage.update();
        }
    });
    let operations = stage.world - before;
    assert!(
        counts.allocations * 1000 <= operations,
        "{} allocations for {operations} operations",
        counts.allocations
    );
    for task in tasks {
        task.cancel();
    }
    while service.in_flight() > 0 {
        let _ = stage.update();
    }
    drop(service);
    // The queues have kept the room that so many operations needed.
    stage.end_with_slack(4 << 20);
}

#[test]
fn the_steady_state_allocates_nothing_of_its_own() {
    steady_state(Io::threads(1), 16);
}

/// tokio allocates the list of those who yield anew each time that its runtime is polled, which is twice in an update that
/// submits: little where much is done in each, and out of our hands.
#[test]
fn an_inline_owner_allocates_what_tokio_does_for_each_poll() {
    steady_state(Io::inline(), 4096);
}

#[test]
fn a_callback_that_captures_nothing_and_a_post_in_the_steady_state_allocate_nothing() {
    let mut stage = Stage::<u64>::new(Io::threads(1));
    let service = stage.service("s", async |n: u64| Ok::<_, Lost>(n)).unwrap();
    let poster = stage.poster();
    let round = |stage: &mut Stage<u64>| {
        for _ in 0..16 {
            service
                .send(1, |world: &mut u64, n| *world += n.unwrap())
                .unwrap();
            poster.post(|world| *world += 1).unwrap();
        }
        while service.in_flight() > 0 {
            let _ = stage.update();
        }
        let _ = stage.update();
    };
    for _ in 0..100 {
        round(&mut stage);
    }
    let before = stage.world;
    let counts = alloc::measure(|| {
        for _ in 0..1000 {
            round(&mut stage);
        }
    });
    let operations = stage.world - before;
    assert!(
        counts.allocations * 1000 <= operations,
        "{} allocations for {operations} operations",
        counts.allocations
    );
    drop((service, poster));
    stage.end();
}
