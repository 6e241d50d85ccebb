//! C14: the same operations as callbacks or as awaits give the same trace, under the same budget and cancellation.

use std::time::{Duration, Instant};

use arknet::owner::{Budget, Group, Io, Lost, Owner, Service};
use proptest::prelude::*;

const PLAYERS: usize = 4;

/// One thing that a program does in a tick.
#[derive(Clone, Debug)]
enum Step {
    /// A player asks the service for this many things, one after the other.
    Ask {
        player: usize,
        times: u32,
    },
    /// A player waits for this many ticks.
    Wait {
        player: usize,
        ticks: u32,
    },
    Despawn(usize),
    Tick {
        budget: u32,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..PLAYERS, 1..4_u32).prop_map(|(player, times)| Step::Ask { player, times }),
        2 => (0..PLAYERS, 0..4_u32).prop_map(|(player, ticks)| Step::Wait { player, ticks }),
        1 => (0..PLAYERS).prop_map(Step::Despawn),
        4 => (1..12_u32).prop_map(|budget| Step::Tick { budget }),
    ];
    proptest::collection::vec(step, 1..60)
}

type Echo = Service<World, u32, Result<u32, Lost>>;

#[derive(Default)]
struct World {
    trace: Vec<(usize, String)>,
    tick: usize,
}

impl World {
    fn note(&mut self, what: String) {
        self.trace.push((self.tick, what));
    }
}

fn ask_by_callback(echo: Echo, operation: u32, left: u32) {
    let next = echo.clone();
    // Refused where the group was cancelled meanwhile, as a task would be gone.
    let _ = echo.send(operation, move |world, result| {
        world.note(format!("{operation} is {result:?}"));
        if left > 1 {
            ask_by_callback(next, operation + 1000, left - 1);
        }
    });
}

/// Runs a program in one of the two styles; what differs is only the delivery.
fn trace(steps: &[Step], by_callback: bool) -> Vec<(usize, String)> {
    let start = Instant::now();
    let mut owner = Owner::<World>::builder()
        .io(Io::inline())
        .clock(start)
        .build()
        .unwrap();
    let mut world = World::default();
    let echo = owner
        .service("echo", async |n: u32| Ok::<_, Lost>(n + 1))
        .unwrap();
    let mut players: Vec<Group<World>> = (0..PLAYERS)
        .map(|_| owner.group("player").unwrap())
        .collect();
    let mut operations = 0;
    let mut now = start;
    let closing = vec![Step::Tick { budget: 1000 }; 20];
    for step in steps.iter().chain(&closing) {
        match step.clone() {
            Step::Ask { player, times } => {
                operations += 1;
                let operation = operations;
                let echo = echo.within(&players[player]);
                if by_callback {
                    ask_by_callback(echo, operation, times);
                } else {
                    // Submitted now, as the callback's is; a task begins in the next update.
                    let first = echo.try_call(operation).unwrap();
                    players[player]
                        .spawn(async move |cx| {
                            let mut call = first;
                            for time in 0..times {
                                let operation = operation + 1000 * time;
                                let result = call.await;
                                cx.with(|world| world.note(format!("{operation} is {result:?}")));
                                call = echo.call(operation + 1000);
                                if time + 1 == times {
                                    break;
                                }
                            }
                        })
                        .unwrap();
                }
            }
            Step::Wait { player, ticks } => {
                operations += 1;
                let operation = operations;
                let time = ticks * Duration::from_millis(1);
                if by_callback {
                    players[player]
                        .after(time, move |world| world.note(format!("{operation} waited")))
                        .unwrap();
                } else {
                    let sleep = players[player].sleep(time);
                    players[player]
                        .spawn(async move |cx| {
                            sleep.await.unwrap();
                            cx.with(|world| world.note(format!("{operation} waited")));
                        })
                        .unwrap();
                }
            }
            Step::Despawn(player) => {
                players[player].cancel();
                players[player] = owner.group("player").unwrap();
            }
            Step::Tick { budget } => {
                now += Duration::from_millis(1);
                world.tick += 1;
                let _ = owner
                    .update_at(now, &mut world, Budget::operations(budget))
                    .unwrap();
            }
        }
    }
    world.trace
}

/// The trace of each operation by itself, and the order of those of one kind. In which tick each runs depends on the budget,
/// and a task's first poll is an operation that a callback does not have.
fn orders(trace: &[(usize, String)]) -> (Vec<&str>, Vec<&str>) {
    let of = |waited: bool| {
        trace
            .iter()
            .map(|(_, what)| what.as_str())
            .filter(|what| what.ends_with("waited") == waited)
            .collect()
    };
    (of(true), of(false))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Without a bound on an update, the styles agree on every tick.
    #[test]
    fn both_styles_give_the_same_trace(steps in steps()) {
        let steps: Vec<Step> = steps
            .into_iter()
            .filter(|step| !matches!(step, Step::Wait { .. }))
            .map(|step| match step {
                Step::Tick { .. } => Step::Tick { budget: 100_000 },
                other => other,
            })
            .collect();
        let callbacks = trace(&steps, true);
        let tasks = trace(&steps, false);
        prop_assert_eq!(orders(&callbacks), orders(&tasks));
        prop_assert_eq!(callbacks, tasks);
    }

    /// Under any budget nothing is lost, invented or doubled, and nothing of a player runs after the despawn.
    #[test]
    fn both_styles_keep_to_the_model(steps in steps()) {
        for by_callback in [true, false] {
            let trace = trace(&steps, by_callback);
            let (mut allowed, mut required) = (Vec::new(), Vec::new());
            let mut operations = 0_u32;
            let gone_after: Vec<Vec<usize>> = (0..PLAYERS)
                .map(|player| steps.iter().enumerate()
                    .filter(|(_, step)| matches!(step, Step::Despawn(gone) if *gone == player))
                    .map(|(at, _)| at).collect())
                .collect();
            for (at, step) in steps.iter().enumerate() {
                let (player, lines): (usize, Vec<String>) = match step {
                    Step::Ask { player, times } => {
                        operations += 1;
                        (*player, (0..*times).map(|time| {
                            let operation = operations + 1000 * time;
                            format!("{operation} is Ok({})", operation + 1)
                        }).collect())
                    }
                    Step::Wait { player, .. } => {
                        operations += 1;
                        (*player, vec![format!("{operations} waited")])
                    }
                    Step::Despawn(_) | Step::Tick { .. } => continue,
                };
                if gone_after[player].iter().all(|gone| *gone < at) {
                    required.extend(lines.clone());
                }
                allowed.extend(lines);
            }
            let mut seen: Vec<&String> = trace.iter().map(|(_, what)| what).collect();
            let count = seen.len();
            seen.sort_unstable();
            seen.dedup();
            prop_assert_eq!(seen.len(), count, "something ran twice");
            for what in &seen {
                prop_assert!(allowed.contains(what), "{} was never asked for", what);
            }
            for line in &required {
                prop_assert!(seen.contains(&line), "{} is missing: {:?}", line, trace);
            }
            // The ticks never go back, and the times of one operation are in order.
            prop_assert!(trace.is_sorted_by_key(|(tick, _)| *tick));
        }
    }
}
