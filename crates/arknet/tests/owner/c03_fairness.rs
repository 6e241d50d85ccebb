//! C3: all sources have their turns, a connection has a quantum, and nothing that is ready waits for more than K updates.

use arknet::owner::{Budget, InletLimits};

use crate::support::Stage;

#[derive(Default)]
struct World {
    chatty: u32,
    quiet: Vec<u32>,
}

#[test]
fn one_chatty_peer_against_nine_hundred_and_ninety_nine_quiet_ones() {
    let mut stage = Stage::<World>::inline();
    let limits = InletLimits::new(1 << 20, 1 << 30);
    let chatty = stage
        .inlet("chatty", limits, |world: &mut World, (): ()| {
            world.chatty += 1;
        })
        .unwrap();
    for _ in 0..100_000 {
        chatty.try_send((), 1).unwrap();
    }
    let quiet: Vec<_> = (0..999)
        .map(|peer| {
            let inlet = stage
                .inlet("quiet", limits, move |world: &mut World, (): ()| {
                    world.quiet.push(peer);
                })
                .unwrap();
            inlet.try_send((), 1).unwrap();
            inlet
        })
        .collect();
    // K: 999 single events and one quantum of 16, by 100 an update.
    let updates = (999 + 16_u32).div_ceil(100);
    for _ in 0..updates {
        assert_eq!(stage.update_by(Budget::operations(100)).ran, 100);
    }
    assert_eq!(stage.world.quiet.len(), 999);
    drop((chatty, quiet));
    stage.until(|world| world.chatty == 100_000);
    // The updates in which the inlets that have ended are let go.
    let _ = stage.update();
    stage.end();
}

#[test]
fn no_source_waits_for_another_that_never_runs_dry() {
    let mut stage = Stage::<[u32; 3]>::inline();
    for _ in 0..10_000 {
        stage.defer(|world| world[0] += 1).unwrap();
    }
    for _ in 0..10_000 {
        stage
            .spawn(async |cx| cx.with(|world| world[1] += 1))
            .unwrap();
    }
    let start = stage.now();
    for _ in 0..10_000 {
        stage.at(start, |world| world[2] += 1).unwrap();
    }
    // The smallest budget that there is: the start goes round, so each source comes first in its turn.
    for _ in 0..30 {
        let _ = stage.update_by(Budget::operations(1));
    }
    for (source, ran) in stage.world.iter().enumerate() {
        assert!(*ran >= 6, "source {source} ran {ran} times of 30");
    }
    stage.until(|world| *world == [10_000; 3]);
    stage.end();
}
