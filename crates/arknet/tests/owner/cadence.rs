//! Running by itself: continuous, at a fixed rate, parked.

use std::time::{Duration, Instant};

use arknet::owner::{Budget, Cadence, Io, Lost, Missed, Next};

use crate::support::{PATIENCE, Stage, placements};

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_fixed_cadence_keeps_the_grid_and_catches_up_with_nothing() {
    for io in placements() {
        let mut stage = Stage::<u32>::new(io);
        let began = Instant::now();
        let mut ticks = Vec::new();
        let owner = stage.owner.as_mut().unwrap();
        let report = owner
            .run(&mut stage.world, Cadence::every(MS), |_, tick| {
                ticks.push((tick.now, tick.missed));
                if tick.number == 20 {
                    let until = Instant::now() + 50 * MS;
                    while Instant::now() < until {}
                }
                if tick.number == 40 {
                    Next::Stop
                } else {
                    Next::Continue
                }
            })
            .unwrap();
        assert_eq!(report.ticks, 41);
        let (_, missed) = ticks[21];
        assert!(missed >= 48, "{missed} missed");
        // Never ahead of the grid: each tick and each missed one has its millisecond.
        let mut grid = 0;
        for (number, (now, missed)) in ticks.iter().enumerate() {
            grid += if number == 0 { 0 } else { 1 };
            let behind_grid = now.saturating_duration_since(began) + MS / 2;
            assert!(behind_grid >= MS * grid, "tick {number} came early");
            grid += u32::try_from(*missed).unwrap();
        }
        assert_eq!(stage.stats().lateness.count, 41);
        assert_eq!(stage.stats().missed_ticks, report.missed);
        stage.end();
    }
}

#[test]
fn a_parked_owner_serves_posts_timers_and_services_and_burns_nothing() {
    for io in placements() {
        let mut stage = Stage::<u32>::new(io);
        let service = stage.service("s", async |n: u32| Ok::<_, Lost>(n)).unwrap();
        let poster = stage.poster();
        let cx = stage.cx();
        stage
            .after(5 * MS, move |world| {
                *world += 1;
                let next = service.clone();
                service
                    .send(10, move |world: &mut u32, result| {
                        *world += result.unwrap();
                        drop(next);
                        std::thread::spawn(move || poster.post(|world| *world += 100).unwrap());
                    })
                    .unwrap();
            })
            .unwrap();
        let owner = stage.owner.as_mut().unwrap();
        let report = owner
            .run(
                &mut stage.world,
                Cadence::parked().spin(Duration::ZERO),
                |world, _| {
                    if *world == 111 {
                        Next::Stop
                    } else {
                        Next::Continue
                    }
                },
            )
            .unwrap();
        assert!(
            report.ticks < 100,
            "{} updates for three things",
            report.ticks
        );
        drop(cx);
        stage.end();
    }
}

#[test]
fn what_comes_between_two_ticks_is_delivered_at_once_where_asked_for() {
    for io in placements() {
        let mut stage = Stage::<Vec<Instant>>::new(io);
        let service = stage.service("s", async |()| Ok::<_, Lost>(())).unwrap();
        service
            .send((), |world: &mut Vec<Instant>, _| world.push(Instant::now()))
            .unwrap();
        let began = Instant::now();
        let owner = stage.owner.as_mut().unwrap();
        let cadence = Cadence::every(300 * MS).at_once().budget(Budget::default());
        owner
            .run(&mut stage.world, cadence, |_, tick| {
                if tick.number == 1 {
                    Next::Stop
                } else {
                    Next::Continue
                }
            })
            .unwrap();
        let delivered = stage.world[0].saturating_duration_since(began);
        assert!(delivered < 250 * MS, "delivered after {delivered:?}");
        drop(service);
        stage.end();
    }
}

#[test]
fn continuous_needs_no_wake() {
    let mut stage = Stage::<u32>::new(Io::threads(1));
    let service = stage.service("s", async |()| Ok::<_, Lost>(())).unwrap();
    service.send((), |world: &mut u32, _| *world += 1).unwrap();
    let late = Instant::now() + PATIENCE;
    let owner = stage.owner.as_mut().unwrap();
    owner
        .run(
            &mut stage.world,
            Cadence::continuous().missed(Missed::Skip),
            |world, _| {
                assert!(Instant::now() < late);
                if *world == 1 {
                    Next::Stop
                } else {
                    Next::Continue
                }
            },
        )
        .unwrap();
    assert_eq!(stage.stats().wakes, 0);
    drop(service);
    stage.end();
}
