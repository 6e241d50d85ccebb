//! C17: everything may be dropped in any order, on any thread, inside or outside of a runtime.

use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use arknet::Lanes;
use arknet::owner::{Budget, InletLimits, Io, Lost, Owner};

use crate::support::{PATIENCE, Probe, Stage, placements, snapshot};

#[test]
fn the_reply_arrives_after_the_owner_is_gone() {
    for io in [
        Io::threads(1),
        Io::inline(),
        Io::lanes(&Lanes::sharded(1).unwrap()),
    ] {
        let before = snapshot();
        let here = std::thread::current().id();
        let gate = Arc::new(tokio::sync::Semaphore::new(0));
        let open = gate.clone();
        let mut owner = Owner::<u32>::builder().io(io).build().unwrap();
        let service = owner
            .service("late", move |()| {
                let open = open.clone();
                async move {
                    open.acquire().await.unwrap().forget();
                    Ok::<_, Lost>(())
                }
            })
            .unwrap();
        let (probe, dropped) = Probe::new();
        let (in_callback, callback_dropped) = Probe::new();
        let by_task = service.clone();
        owner
            .spawn(async move |_| {
                let _probe = probe;
                let _ = by_task.call(()).await;
            })
            .unwrap();
        service
            .send((), move |world: &mut u32, _| {
                drop(in_callback);
                *world += 1;
            })
            .unwrap();
        let mut world = 0;
        let _ = owner.update(&mut world, Budget::default()).unwrap();
        drop(owner);
        assert_eq!(dropped.try_recv(), Ok(here));
        assert_eq!(callback_dropped.try_recv(), Ok(here));
        gate.add_permits(2);
        drop((service, gate));
        assert_eq!(world, 0);
        before.assert_no_leaks(PATIENCE);
    }
}

#[test]
fn wakers_work_and_drop_on_any_thread_after_the_owner() {
    let mut stage = Stage::<u32>::new(Io::threads(1));
    let (sender, receiver) = mpsc::channel::<Waker>();
    for _ in 0..100 {
        let sender = sender.clone();
        stage
            .spawn(async move |_| {
                std::future::poll_fn(|cx: &mut Context<'_>| {
                    let _ = sender.send(cx.waker().clone());
                    Poll::<()>::Pending
                })
                .await;
            })
            .unwrap();
    }
    let _ = stage.update();
    let threads: Vec<_> = receiver
        .try_iter()
        .map(|waker| {
            std::thread::spawn(move || {
                for _ in 0..10 {
                    waker.wake_by_ref();
                    std::thread::yield_now();
                }
                waker.wake();
            })
        })
        .collect();
    for _ in 0..10 {
        let _ = stage.update();
    }
    drop(receiver);
    stage.end_with_work_left();
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Everything that there is, in one owner.
struct Everything {
    things: Vec<Box<dyn FnOnce()>>,
}

fn everything(io: Io) -> Everything {
    let mut owner = Owner::<u32>::builder().io(io).build().unwrap();
    let service = owner
        .service("service", async |()| {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            Ok::<_, Lost>(())
        })
        .unwrap();
    let group = owner.group("group").unwrap();
    let inner = group.group("inner").unwrap();
    let poster = group.poster();
    let inlet = inner
        .inlet("inlet", InletLimits::default(), |world: &mut u32, ()| {
            *world += 1;
        })
        .unwrap();
    let timer = owner.after(Duration::from_secs(3600), |_| ()).unwrap();
    let of_task = service.within(&inner);
    let task = inner
        .spawn(async move |cx| {
            let _ = of_task.call(()).await;
            cx.sleep(Duration::from_secs(3600)).await.unwrap();
        })
        .unwrap();
    service.send((), |_, _| ()).unwrap();
    owner.blocking_then(|| (), |_, _| ()).unwrap();
    let mut world = 0;
    let _ = owner.update(&mut world, Budget::default()).unwrap();
    poster.post(|_| ()).unwrap();
    inlet.try_send((), 1).unwrap();
    owner.defer(|_| ()).unwrap();
    let cx = owner.cx();
    let elsewhere = poster.clone();
    let also = inlet.clone();
    Everything {
        things: vec![
            Box::new(move || drop(owner)),
            Box::new(move || drop(service)),
            Box::new(move || drop(group)),
            Box::new(move || drop(inner)),
            Box::new(move || drop(timer)),
            Box::new(move || drop(task)),
            Box::new(move || drop(cx)),
            Box::new(move || std::thread::spawn(move || drop(elsewhere)).join().unwrap()),
            Box::new(move || std::thread::spawn(move || drop(also)).join().unwrap()),
            Box::new(move || drop(poster)),
            Box::new(move || drop(inlet)),
        ],
    }
}

#[test]
fn in_any_order_without_a_panic_or_a_wait() {
    let before = snapshot();
    let mut dice = crate::support::Dice(11);
    for round in 0..200 {
        let [threads, inline] = placements();
        let mut things = everything(if round % 4 == 0 { threads } else { inline }).things;
        let began = Instant::now();
        let inside = (round % 3 == 0).then(|| {
            tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap()
        });
        let entered = inside.as_ref().map(|runtime| runtime.enter());
        while !things.is_empty() {
            let next = dice.below(things.len());
            things.swap_remove(next)();
        }
        drop(entered);
        assert!(began.elapsed() < Duration::from_secs(5));
    }
    before.assert_no_leaks(PATIENCE);
}

#[test]
fn shared_lanes_outlive_the_owner_and_may_end_before_it() {
    let before = snapshot();
    let lanes = Lanes::sharded(1).unwrap();
    let mut owner = Owner::<u32>::builder()
        .io(Io::lanes(&lanes))
        .build()
        .unwrap();
    let service = owner
        .service("service", async |()| {
            std::future::pending::<()>().await;
            Ok::<_, Lost>(())
        })
        .unwrap();
    let mut world = 0;
    for _ in 0..10 {
        service
            .send((), |world: &mut u32, result| {
                assert_eq!(result, Err(Lost::Ended));
                *world += 1;
            })
            .unwrap();
    }
    let _ = owner.update(&mut world, Budget::default()).unwrap();
    // The lanes end with operations under way: each of them is lost, and each says so.
    let report = lanes
        .block_on(lanes.shutdown(Duration::from_millis(10)))
        .unwrap();
    assert!(!report.finished);
    let late = Instant::now() + PATIENCE;
    while world < 10 {
        assert!(Instant::now() < late, "{world} of 10");
        let _ = owner.update(&mut world, Budget::default()).unwrap();
        std::thread::yield_now();
    }
    service
        .send((), |world: &mut u32, result| {
            assert_eq!(result, Err(Lost::Ended));
            *world += 1;
        })
        .unwrap();
    while world < 11 {
        assert!(Instant::now() < late);
        let _ = owner.update(&mut world, Budget::default()).unwrap();
    }
    drop((lanes, owner, service));
    before.assert_no_leaks(PATIENCE);
}

#[test]
fn an_owner_in_a_thread_local_ends_with_its_thread() {
    let before = snapshot();
    std::thread::spawn(|| {
        thread_local! {
            static OWNER: std::cell::RefCell<Option<Owner<u32>>> = const { std::cell::RefCell::new(None) };
        }
        let mut owner = Owner::<u32>::builder().io(Io::inline()).build().unwrap();
        owner
            .spawn(async |cx| cx.sleep(Duration::from_secs(9)).await.unwrap())
            .unwrap();
        let _ = owner.update(&mut 0, Budget::default()).unwrap();
        OWNER.set(Some(owner));
    })
    .join()
    .unwrap();
    before.assert_no_leaks(PATIENCE);
}
