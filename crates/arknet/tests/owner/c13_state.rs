//! C13: the world is lent to callbacks and tasks; tasks hold what is not `Send`; both can spawn and submit.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use arknet::owner::{Cx, Io, Lost};

use crate::support::{Stage, placements};

#[test]
fn a_callback_spawns_and_submits() {
    for io in placements() {
        let mut stage = Stage::<Vec<String>>::new(io);
        let service = stage
            .service("echo", async |text: String| Ok::<_, Lost>(text))
            .unwrap();
        let cx = stage.cx();
        stage
            .defer(move |world| {
                world.push("callback".into());
                let again = service.clone();
                service
                    .send("submitted".into(), |world: &mut Vec<String>, text| {
                        world.extend(text);
                    })
                    .unwrap();
                cx.spawn(async move |cx| {
                    let text = again.call("spawned".into()).await;
                    cx.with(|world| world.extend(text));
                })
                .unwrap();
            })
            .unwrap();
        stage.until(|world| world.len() == 3);
        let mut world = stage.end();
        world.sort_unstable();
        assert_eq!(world, ["callback", "spawned", "submitted"]);
    }
}

#[test]
fn a_task_holds_what_is_not_send_across_an_await() {
    let mut stage = Stage::<u32>::new(Io::threads(1));
    let shared = Rc::new(Cell::new(0));
    for _ in 0..10 {
        let shared = shared.clone();
        stage
            .spawn(async move |cx| {
                let mine = Rc::new(RefCell::new(1));
                cx.yield_now().await;
                *mine.borrow_mut() += 1;
                cx.blocking(|| ()).await.unwrap();
                shared.set(shared.get() + *mine.borrow());
                cx.with(|world| *world += 1);
            })
            .unwrap();
    }
    stage.until(|world| *world == 10);
    assert_eq!(shared.get(), 20);
    stage.end();
}

#[test]
fn the_world_is_never_lent_twice() {
    let mut stage = Stage::<u32>::inline();
    let cx = stage.cx();
    assert!(cx.try_with(|_| ()).is_none(), "no update runs");
    stage
        .spawn(async |cx| {
            cx.with(|world| {
                *world += 1;
                assert!(cx.try_with(|_| ()).is_none());
            });
        })
        .unwrap();
    stage
        .defer(move |world| {
            *world += 1;
            assert!(cx.try_with(|_| ()).is_none());
        })
        .unwrap();
    let report = stage.update();
    assert!(report.panics.is_empty(), "{:?}", report.panics);
    assert_eq!(stage.end(), 2);
}

#[test]
fn the_world_may_keep_handles_and_need_not_be_send() {
    #[derive(Default)]
    struct World {
        cx: Option<Cx<World>>,
        hits: Rc<Cell<u32>>,
    }
    let mut stage = Stage::<World>::inline();
    stage.world.cx = Some(stage.cx());
    let poster = stage.poster();
    std::thread::spawn(move || {
        poster
            .post(|world| {
                let cx = world.cx.clone().unwrap();
                cx.spawn(async |cx| cx.with(|world| world.hits.set(1)))
                    .unwrap();
            })
            .unwrap();
    })
    .join()
    .unwrap();
    let hits = stage.world.hits.clone();
    stage.until(|world| world.hits.get() == 1);
    stage.world.cx = None;
    stage.end();
    assert_eq!(hits.get(), 1);
}
