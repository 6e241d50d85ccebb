//! C10: a journal that is replayed delivers the same things in the same order, and two replays are equal byte for byte.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use arknet::owner::{
    Budget, Codec, InletLimits, Io, Journal, Lost, Missed, Owner, OwnerError, ServiceOptions,
};

use crate::support::{Dice, PATIENCE};

#[derive(Default)]
struct World {
    trace: Vec<String>,
    executed: Arc<AtomicU32>,
}

type Reply = Result<u32, Lost>;

fn encode(reply: &Reply) -> Vec<u8> {
    reply.map_or_else(|_| Vec::new(), |number| number.to_le_bytes().to_vec())
}

fn decode(bytes: &[u8]) -> Reply {
    bytes
        .try_into()
        .map(u32::from_le_bytes)
        .map_err(|_| Lost::Ended)
}

/// A program with everything in it that comes from elsewhere, and whose order is left to chance.
fn program(journal: Option<Journal>, salt: u64) -> (Vec<String>, Vec<u8>, u32) {
    let start = Instant::now();
    let mut builder = Owner::<World>::builder()
        .io(Io::threads(2))
        .clock(start)
        .record(1 << 20);
    let replaying = journal.is_some();
    if let Some(journal) = journal {
        builder = builder.replay(journal);
    }
    let mut owner = builder.build().unwrap();
    let mut world = World::default();
    let executed = world.executed.clone();
    let dice = std::sync::Mutex::new(Dice(salt));
    let options = ServiceOptions::default().journalled(Codec { encode, decode });
    let service = owner
        .service_with("store", options, move |n: u32| {
            executed.fetch_add(1, Ordering::SeqCst);
            let yields = dice.lock().unwrap().below(30);
            async move {
                for _ in 0..yields {
                    tokio::task::yield_now().await;
                }
                Ok(n * 2)
            }
        })
        .unwrap();
    let inlet = owner
        .inlet_journalled(
            "peer",
            InletLimits::default(),
            Codec {
                encode: |event: &u32| event.to_le_bytes().to_vec(),
                decode: |bytes| bytes.try_into().map_or(0, u32::from_le_bytes),
            },
            |world: &mut World, event| world.trace.push(format!("event {event}")),
        )
        .unwrap();
    owner
        .every(Duration::from_millis(1), Missed::Skip, |world, missed| {
            world.trace.push(format!("timer {missed}"));
        })
        .unwrap();
    for number in 0..20 {
        let service = service.clone();
        owner
            .spawn(async move |cx| {
                let result = service.call(number).await;
                cx.with(|world| world.trace.push(format!("task {number} {result:?}")));
                let blocking = cx.blocking(move || number + 1).await;
                cx.with(|world| world.trace.push(format!("blocking {blocking:?}")));
            })
            .unwrap();
    }
    let threads: Vec<_> = (0..2)
        .map(|thread| {
            let poster = owner.poster();
            std::thread::spawn(move || {
                for post in 0..20 {
                    poster
                        .post(move |world| world.trace.push(format!("post {thread} {post}")))
                        .unwrap();
                    std::thread::yield_now();
                }
            })
        })
        .collect();
    // What the network says in the first run comes from the journal in the others.
    if !replaying {
        for event in 0..10 {
            inlet
                .try_send(event + u32::try_from(salt).unwrap(), 4)
                .unwrap();
        }
    }
    let late = Instant::now() + PATIENCE;
    let done = |world: &World| {
        world
            .trace
            .iter()
            .filter(|line| !line.starts_with("timer"))
            .count()
            == 90
    };
    let mut tick = 0;
    while !done(&world) {
        assert!(Instant::now() < late, "{:?}", world.trace);
        tick += 1;
        let _ = owner
            .update_at(
                start + tick * Duration::from_micros(300),
                &mut world,
                Budget::operations(7),
            )
            .unwrap();
        std::thread::yield_now();
    }
    for thread in threads {
        thread.join().unwrap();
    }
    assert!(!owner.is_replaying() || replaying);
    let journal = owner.journal().unwrap();
    assert!(!journal.is_truncated());
    let executed = world.executed.load(Ordering::SeqCst);
    (world.trace, journal.to_bytes(), executed)
}

#[test]
fn two_replays_are_equal_byte_for_byte() {
    let (trace, bytes, executed) = program(None, 3);
    assert_eq!(executed, 20);
    let journal = Journal::from_bytes(&bytes).unwrap();
    for salt in [1, 2] {
        let (replayed, again, executed) = program(Some(journal.clone()), salt);
        assert_eq!(replayed, trace);
        assert_eq!(executed, 0, "results come from the journal");
        assert!(again == bytes, "the journal of the replay differs");
    }
}

#[test]
fn a_program_that_does_something_else_is_told_what_was_expected() {
    let mut owner = Owner::<u32>::builder()
        .io(Io::inline())
        .record(1 << 20)
        .build()
        .unwrap();
    let mut world = 0;
    owner
        .spawn_named("there", async |cx| cx.with(|world| *world += 1))
        .unwrap();
    let _ = owner.update(&mut world, Budget::default()).unwrap();
    let journal = owner.journal().unwrap();
    assert_eq!(journal.len(), 1);
    drop(owner);

    // The task is of the class that a replay finds here and now or never; the patience of a replay is for others.
    let mut owner = Owner::<u32>::builder()
        .io(Io::inline())
        .replay(journal)
        .build()
        .unwrap();
    let error = owner.update(&mut world, Budget::default()).unwrap_err();
    assert!(matches!(error, OwnerError::Replay { tick: 1, .. }));
    assert!(error.to_string().contains("there"), "{error}");
}

#[test]
fn after_the_last_delivery_of_the_journal_the_owner_lives_on() {
    let build = |journal: Option<Journal>| {
        let builder = Owner::<Vec<u32>>::builder()
            .io(Io::inline())
            .record(1 << 20);
        match journal {
            Some(journal) => builder.replay(journal),
            None => builder,
        }
        .build()
        .unwrap()
    };
    let mut owner = build(None);
    let mut world = Vec::new();
    owner.defer(|world| world.push(1)).unwrap();
    let _ = owner.update(&mut world, Budget::default()).unwrap();
    let journal = owner.journal();
    let mut owner = build(journal);
    world.clear();
    owner.defer(|world| world.push(1)).unwrap();
    let _ = owner.update(&mut world, Budget::default()).unwrap();
    assert!(!owner.is_replaying());
    owner.defer(|world| world.push(2)).unwrap();
    let _ = owner.update(&mut world, Budget::default()).unwrap();
    assert_eq!(world, [1, 2]);
}
