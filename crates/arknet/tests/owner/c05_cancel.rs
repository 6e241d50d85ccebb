//! C5: cancelling is synchronous: after it nothing of the group runs, and its futures have been dropped on the owner.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arknet::owner::{Io, Lost, OnCancel, Service};

use crate::support::{Probe, Stage, placements};

#[derive(Default)]
struct World {
    alive: bool,
    results: u32,
}

type Work = Service<World, (), Result<u32, Lost>>;

/// A service that begins nothing before it is told, and counts what it has done.
fn gated(stage: &Stage<World>) -> (Work, Arc<tokio::sync::Semaphore>, Arc<AtomicUsize>) {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let done = Arc::new(AtomicUsize::new(0));
    let (open, count) = (gate.clone(), done.clone());
    let service = stage
        .service("gated", move |()| {
            let (open, count) = (open.clone(), count.clone());
            async move {
                open.acquire().await.unwrap().forget();
                count.fetch_add(1, Ordering::SeqCst);
                Ok(1)
            }
        })
        .unwrap();
    (service, gate, done)
}

fn settle(stage: &mut Stage<World>, service: &Work) {
    let late = std::time::Instant::now() + crate::support::PATIENCE;
    while service.in_flight() > 0 {
        assert!(std::time::Instant::now() < late);
        let _ = stage.update();
        std::thread::yield_now();
    }
}

#[test]
fn a_despawn_in_the_tick_in_which_the_result_arrives() {
    for io in placements() {
        let mut stage = Stage::<World>::new(io);
        let (service, gate, done) = gated(&stage);
        for in_a_task in [false, true] {
            stage.world = World {
                alive: true,
                results: 0,
            };
            let player = Rc::new(RefCell::new(Some(stage.group("player").unwrap())));
            // Registered first, so that it is delivered in the same update just before the player's own result.
            let despawn = player.clone();
            service
                .send((), move |world: &mut World, _| {
                    despawn.borrow_mut().take().unwrap().cancel();
                    world.alive = false;
                })
                .unwrap();
            if in_a_task {
                let service = service.clone();
                let group = player.borrow();
                let group = group.as_ref().unwrap();
                group
                    .spawn(async move |cx| {
                        service.call(()).await.unwrap();
                        cx.with(|world| world.results += 1);
                    })
                    .unwrap();
            } else {
                let of_player = service.within(player.borrow().as_ref().unwrap());
                of_player
                    .send((), |world: &mut World, _| world.results += 1)
                    .unwrap();
            }
            let _ = stage.update();
            let before = done.load(Ordering::SeqCst);
            gate.add_permits(2);
            while done.load(Ordering::SeqCst) < before + 2 {
                // An inline owner does it itself.
                let _ = stage.update();
                std::thread::yield_now();
            }
            settle(&mut stage, &service);
            assert!(!stage.world.alive);
            // Both came; whichever was delivered first, nothing of the player ran after the cancel.
            assert!(stage.world.results <= 1);
        }
        drop(service);
        stage.end();
    }
}

#[test]
fn after_a_cancel_no_callback_runs_and_the_write_is_done() {
    for io in placements() {
        let mut stage = Stage::<World>::new(io);
        let (service, gate, done) = gated(&stage);
        let group = stage.group("player").unwrap();
        let of_group = service.within(&group);
        for _ in 0..10 {
            of_group
                .send((), |world: &mut World, _| world.results += 1)
                .unwrap();
        }
        let _ = stage.update();
        assert_eq!(group.cancel(), 10);
        gate.add_permits(10);
        settle(&mut stage, &service);
        assert_eq!(done.load(Ordering::SeqCst), 10, "an accepted write is done");
        assert_eq!(stage.world.results, 0);
        assert!(of_group.send((), |_, _| ()).is_err(), "the group is closed");
        drop((service, of_group));
        stage.end();
    }
}

#[test]
fn what_is_to_be_withdrawn_and_has_not_begun_is_never_done() {
    for io in placements() {
        let mut stage = Stage::<World>::new(io);
        let (service, gate, done) = gated(&stage);
        let group = stage.group("player").unwrap();
        // The first of the key holds the others back.
        let of_group = service
            .within(&group)
            .ordered(1)
            .on_cancel(OnCancel::Withdraw);
        for _ in 0..5 {
            of_group
                .send((), |world: &mut World, _| world.results += 1)
                .unwrap();
        }
        let _ = stage.update();
        group.cancel();
        gate.add_permits(5);
        settle(&mut stage, &service);
        assert!(done.load(Ordering::SeqCst) <= 1);
        assert_eq!(stage.world.results, 0);
        drop((service, of_group));
        stage.end();
    }
}

#[test]
fn futures_are_dropped_on_the_owner_before_cancel_returns() {
    let mut stage = Stage::<World>::new(Io::threads(1));
    let group = stage.group("player").unwrap();
    let (probe, dropped) = Probe::new();
    group
        .spawn(async move |cx| {
            let _probe = probe;
            cx.sleep(Duration::from_secs(1000)).await.unwrap();
        })
        .unwrap();
    let _ = stage.update();
    assert!(dropped.try_recv().is_err());
    assert_eq!(group.cancel(), 1);
    assert_eq!(dropped.try_recv(), Ok(std::thread::current().id()));
    assert_eq!(group.cancel(), 0);
    stage.end();
}

#[test]
fn a_task_that_cancels_its_own_group_ends_at_its_next_await() {
    let mut stage = Stage::<World>::inline();
    let group = stage.group("self").unwrap();
    let (probe, dropped) = Probe::new();
    group
        .spawn(async move |cx| {
            let _probe = probe;
            cx.cancel_group();
            cx.with(|world| world.results += 1);
            cx.yield_now().await;
            cx.with(|world| world.results += 100);
        })
        .unwrap();
    let _ = stage.update();
    assert_eq!(stage.world.results, 1);
    assert!(dropped.try_recv().is_ok());
    for _ in 0..3 {
        let _ = stage.update();
    }
    drop(group);
    assert_eq!(stage.end().results, 1);
}

#[test]
fn children_end_with_their_parent_and_before_it() {
    let mut stage = Stage::<World>::inline();
    let order = Rc::new(RefCell::new(Vec::new()));
    struct Named(&'static str, Rc<RefCell<Vec<&'static str>>>);
    impl Drop for Named {
        fn drop(&mut self) {
            self.1.borrow_mut().push(self.0);
        }
    }
    let parent = stage.group("parent").unwrap();
    let child = parent.group("child").unwrap();
    let grandchild = child.group("grandchild").unwrap();
    for (group, name) in [
        (&parent, "parent"),
        (&child, "child"),
        (&grandchild, "grandchild"),
    ] {
        let named = Named(name, order.clone());
        group
            .spawn(async move |_| {
                let _named = named;
                std::future::pending::<()>().await;
            })
            .unwrap();
    }
    let _ = stage.update();
    assert_eq!(parent.cancel(), 3);
    assert_eq!(*order.borrow(), ["grandchild", "child", "parent"]);
    assert!(child.is_cancelled() && grandchild.is_cancelled());
    assert!(grandchild.spawn(async |_| ()).is_err());
    stage.end();
}

#[test]
fn posts_timers_and_deferred_functions_of_a_cancelled_group_do_not_run() {
    let mut stage = Stage::<World>::new(Io::threads(1));
    let group = stage.group("player").unwrap();
    let poster = group.poster();
    poster.post(|world| world.results += 1).unwrap();
    group.defer(|world| world.results += 1).unwrap();
    group
        .after(Duration::ZERO, |world| world.results += 1)
        .unwrap();
    let inlet = group
        .inlet(
            "peer",
            arknet::owner::InletLimits::default(),
            |world: &mut World, ()| {
                world.results += 1;
            },
        )
        .unwrap();
    inlet.try_send((), 1).unwrap();
    group.cancel();
    assert!(inlet.is_closed());
    drop(inlet);
    for _ in 0..3 {
        let _ = stage.update();
    }
    assert_eq!(stage.end().results, 0);
}

#[test]
fn a_drop_that_works_on_the_owner_does_no_harm() {
    let mut stage = Stage::<World>::inline();
    let group = stage.group("player").unwrap();
    let refused = Rc::new(Cell::new(false));
    struct Spawns(arknet::owner::Cx<World>, Rc<Cell<bool>>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            self.1.set(self.0.spawn(async |_| ()).is_err());
            self.0.cancel_group();
        }
    }
    let spawns = Spawns(group.cx(), refused.clone());
    group
        .spawn(async move |_| {
            let _spawns = spawns;
            std::future::pending::<()>().await;
        })
        .unwrap();
    let _ = stage.update();
    group.cancel();
    assert!(refused.get());
    stage.end();
}
