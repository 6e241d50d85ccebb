//! C7: every queue is bounded by count and by bytes; what is refused comes back, what waits is let in later.

use arknet::owner::{InletLimits, Io, Limits, Lost, Overflow, Owner, RejectReason, ServiceOptions};

use crate::support::{PATIENCE, Stage};

fn limited(limits: Limits) -> Stage<u32> {
    Stage::build(|| {
        Owner::builder()
            .io(Io::threads(1))
            .limits(limits)
            .build()
            .unwrap()
    })
}

#[test]
fn a_million_messages_at_a_stalled_owner_leave_memory_flat() {
    let mut limits = Limits::default();
    limits.posts = 1000;
    let mut stage = limited(limits);
    let poster = stage.poster();
    let before = arknet_testkit::alloc::counts().live_bytes;
    let refused = std::thread::spawn(move || {
        (0..1_000_000)
            .filter(|_| poster.post(|world| *world += 1).is_err())
            .count()
    })
    .join()
    .unwrap();
    let held = arknet_testkit::alloc::counts().live_bytes - before;
    assert_eq!(refused, 999_000);
    assert!(held < 1 << 20, "{held} bytes are held for 1,000 posts");
    let _ = stage.update();
    assert_eq!(stage.stats().rejected, 999_000);
    assert_eq!(stage.end(), 1000);
}

#[test]
fn posts_are_bounded_by_bytes_and_come_back() {
    let mut limits = Limits::default();
    limits.bytes = 1000;
    let mut stage = limited(limits);
    let poster = stage.poster();
    poster.post_sized(600, |world| *world += 1).unwrap();
    let rejected = poster.post_sized(600, |world| *world += 10).unwrap_err();
    assert!(rejected.is_full());
    assert_eq!(
        rejected.reason,
        RejectReason::Bytes {
            most: 1000,
            of: "posts"
        }
    );
    let _ = stage.update();
    poster.post_sized(5000, rejected.operation).unwrap();
    let _ = stage.update();
    assert_eq!(stage.end(), 11);
}

#[test]
fn a_poster_waits_for_room() {
    let mut limits = Limits::default();
    limits.posts = 10;
    let mut stage = limited(limits);
    let poster = stage.poster();
    let sender = std::thread::spawn(move || {
        let lanes = arknet::Lanes::manual().unwrap();
        lanes
            .block_on(async {
                for _ in 0..1000 {
                    poster.send(|world| *world += 1).await.unwrap();
                }
            })
            .unwrap();
    });
    stage.until(|world| *world == 1000);
    sender.join().unwrap();
    stage.end();
}

#[test]
fn a_service_is_full_and_calls_wait_in_line() {
    let mut stage = Stage::<Vec<u32>>::new(Io::threads(1));
    let options = ServiceOptions::default().in_flight(4).concurrency(2);
    let service = stage
        .service_with("echo", options, async |n: u32| Ok::<_, Lost>(n))
        .unwrap();
    for _ in 0..4 {
        service.send(0, |_, _| ()).unwrap();
    }
    let rejected = service.send(77, |_, _| ()).unwrap_err();
    assert_eq!(rejected.operation, 77);
    assert!(rejected.to_string().contains("limit of echo"));
    for number in 0..50 {
        let service = service.clone();
        stage
            .spawn(async move |cx| {
                let number = service.call(number).await.unwrap();
                cx.with(|world| world.push(number));
            })
            .unwrap();
    }
    // One that waits and is cancelled passes its place on.
    let group = stage.group("impatient").unwrap();
    for _ in 0..20 {
        let service = service.clone();
        group
            .spawn(async move |_| service.call(0).await.unwrap())
            .unwrap();
    }
    let _ = stage.update();
    group.cancel();
    stage.until(|world| world.len() == 50);
    assert_eq!(
        stage.world,
        Vec::from_iter(0..50),
        "in the order in which they came"
    );
    let late = std::time::Instant::now() + PATIENCE;
    while service.in_flight() > 0 {
        assert!(std::time::Instant::now() < late);
        let _ = stage.update();
    }
    drop(service);
    stage.end();
}

#[test]
fn results_that_nobody_takes_hold_the_service_back() {
    let mut limits = Limits::default();
    limits.bytes = 10_000;
    let mut stage = limited(limits);
    static BEGUN: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let options = ServiceOptions::default()
        .concurrency(1)
        .weigh(|reply: &Result<Vec<u8>, Lost>| reply.as_ref().map_or(0, Vec::len));
    let service = stage
        .service_with("large", options, async |()| {
            BEGUN.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            Ok::<_, Lost>(vec![0; 4000])
        })
        .unwrap();
    for _ in 0..100 {
        service.send((), |world: &mut u32, _| *world += 1).unwrap();
    }
    // The owner stalls. The lane begins as long as there is room, and then it is idle: three results are 12,000 bytes.
    let late = std::time::Instant::now() + PATIENCE;
    while BEGUN.load(std::sync::atomic::Ordering::SeqCst) < 3 {
        assert!(std::time::Instant::now() < late);
        std::thread::yield_now();
    }
    // Whatever else it would begin, it would have begun by the time that another operation has gone through the lane.
    let (sender, receiver) = std::sync::mpsc::channel();
    let other = stage
        .service("other", move |()| {
            let sender = sender.clone();
            async move {
                sender.send(()).unwrap();
                Ok::<_, Lost>(())
            }
        })
        .unwrap();
    other.send((), |_, _| ()).unwrap();
    receiver.recv_timeout(PATIENCE).unwrap();
    assert_eq!(BEGUN.load(std::sync::atomic::Ordering::SeqCst), 3);
    stage.until(|world| *world == 100);
    drop((service, other));
    let _ = stage.update();
    stage.end();
}

#[test]
fn a_full_inlet_refuses_or_lets_the_oldest_go() {
    let mut stage = Stage::<Vec<u32>>::new(Io::threads(1));
    let limits = InletLimits::new(3, 100);
    let push = |world: &mut Vec<u32>, event| world.push(event);
    let stream = stage.inlet("stream", limits, push).unwrap();
    let datagrams = stage
        .inlet("datagrams", limits.overflow(Overflow::DropOldest), push)
        .unwrap();
    for event in 0..3 {
        stream.try_send(event, 10).unwrap();
    }
    assert_eq!(stream.try_send(3, 10).unwrap_err().operation, 3);
    for event in 10..20 {
        datagrams.try_send(event, 40).unwrap();
    }
    assert_eq!(datagrams.dropped(), 8);
    let _ = stage.update();
    drop((stream, datagrams));
    let _ = stage.update();
    assert_eq!(stage.end(), [0, 1, 2, 18, 19]);
}

#[test]
fn tasks_timers_groups_and_deferred_functions_have_bounds() {
    let mut limits = Limits::default();
    limits.tasks = 1;
    limits.timers = 1;
    limits.groups = 1;
    limits.deferred = 1;
    let mut stage = limited(limits);
    let second = std::time::Duration::from_secs(1);
    let task = stage
        .spawn(async |_| std::future::pending::<()>().await)
        .unwrap();
    assert!(stage.spawn(async |_| ()).unwrap_err().is_full());
    let timer = stage.after(second, |_| ()).unwrap();
    stage.after(second, |_| ()).unwrap_err();
    let group = stage.group("one").unwrap();
    assert_eq!(stage.group("two").unwrap_err().operation, "two");
    stage.defer(|_| ()).unwrap();
    stage.defer(|_| ()).unwrap_err();
    assert_eq!(stage.stats().rejected, 4);
    task.cancel();
    assert!(timer.cancel());
    drop(group);
    let _ = stage.update();
    stage.end();
}
