//! Random programs by a seed, a million steps of them, against what they must never do.
//!
//! Everything is on one thread and on a manual clock, so that a seed that fails fails again. What is checked after each
//! step: nothing of a cancelled group runs, nothing runs twice, a key's operations run in order, the budget holds, and
//! what the owner counts agrees with what the program counts.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use arknet::Lanes;
use arknet::owner::{
    Budget, Group, Inlet, InletLimits, Io, Lost, OnCancel, Owner, Poster, Service,
};

use crate::support::Dice;

const STEPS: usize = 1_000_000;
const STEPS_PER_PROGRAM: usize = 2_000;
const GROUPS: usize = 6;

/// What the program knows of one piece of work.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Pending,
    Ran,
    Gone,
}

#[derive(Default)]
struct Book {
    fates: Vec<Fate>,
    /// The works of each group, and of each key those that ran last.
    by_group: BTreeMap<usize, Vec<usize>>,
    last_of_key: BTreeMap<u64, usize>,
}

impl Book {
    fn open(&mut self, group: usize) -> usize {
        let work = self.fates.len();
        self.fates.push(Fate::Pending);
        self.by_group.entry(group).or_default().push(work);
        work
    }

    fn ran(&mut self, work: usize) {
        assert_eq!(self.fates[work], Fate::Pending, "work {work}");
        self.fates[work] = Fate::Ran;
    }

    fn ran_in_order(&mut self, key: u64, work: usize) {
        self.ran(work);
        let last = self.last_of_key.insert(key, work);
        assert!(
            last.is_none_or(|last| last < work),
            "key {key}: {work} after {last:?}"
        );
    }

    fn gone(&mut self, group: usize) {
        for work in self.by_group.remove(&group).unwrap_or_default() {
            if self.fates[work] == Fate::Pending {
                self.fates[work] = Fate::Gone;
            }
        }
    }
}

type Shared = Rc<RefCell<Book>>;
type World = Shared;
type Store = Service<World, u32, Result<u32, Lost>>;

struct Program {
    owner: Owner<World>,
    lanes: Lanes,
    world: World,
    dice: Dice,
    now: Instant,
    groups: Vec<(usize, Group<World>)>,
    made: usize,
    store: Store,
    poster: Poster<World>,
    inlets: Vec<(usize, Inlet<usize>)>,
}

impl Program {
    fn new(seed: u64) -> Self {
        let now = Instant::now();
        let lanes = Lanes::manual().unwrap();
        let owner = Owner::<World>::builder()
            .io(Io::lanes(&lanes))
            .clock(now)
            .build()
            .unwrap();
        let store = owner
            .service("store", async |yields: u32| {
                for _ in 0..yields {
                    tokio::task::yield_now().await;
                }
                Ok(yields)
            })
            .unwrap();
        let poster = owner.poster();
        let mut program = Self {
            owner,
            lanes,
            world: Shared::default(),
            dice: Dice(seed),
            now,
            groups: Vec::new(),
            made: 0,
            store,
            poster,
            inlets: Vec::new(),
        };
        for _ in 0..GROUPS {
            program.add_group();
        }
        program
    }

    fn add_group(&mut self) {
        self.made += 1;
        let group = self.owner.group("g").unwrap();
        self.groups.push((self.made, group));
    }

    fn step(&mut self) {
        let at = self.dice.below(self.groups.len());
        let (number, group) = &self.groups[at];
        let number = *number;
        let book = self.world.clone();
        match self.dice.below(12) {
            0 => {
                let work = book.borrow_mut().open(number);
                group
                    .defer(move |book| book.borrow_mut().ran(work))
                    .unwrap();
            }
            1 => {
                let work = book.borrow_mut().open(number);
                let yields = self.dice.below(4);
                group
                    .spawn(async move |cx| {
                        for _ in 0..yields {
                            cx.yield_now().await;
                        }
                        cx.with(|book| book.borrow_mut().ran(work));
                    })
                    .unwrap();
            }
            2 => {
                let work = book.borrow_mut().open(number);
                let key = self.dice.below(5) as u64;
                let store = self.store.within(group).ordered(key);
                let sent = store.send(
                    u32::try_from(self.dice.below(3)).unwrap(),
                    move |book, result| {
                        result.unwrap();
                        book.borrow_mut().ran_in_order(key, work);
                    },
                );
                sent.unwrap();
            }
            3 => {
                let key = self.dice.below(5) as u64;
                let store = self.store.ordered(key).on_cancel(OnCancel::Withdraw);
                group
                    .spawn(async move |cx| {
                        let work = cx.with(|book| book.borrow_mut().open(number));
                        store.call(1).await.unwrap();
                        cx.with(|book| book.borrow_mut().ran_in_order(key, work));
                    })
                    .unwrap();
            }
            4 => {
                let work = book.borrow_mut().open(number);
                let time = Duration::from_micros(self.dice.below(500) as u64);
                group
                    .after(time, move |book| book.borrow_mut().ran(work))
                    .unwrap();
            }
            5 => {
                let work = book.borrow_mut().open(number);
                let time = Duration::from_micros(self.dice.below(500) as u64);
                group
                    .spawn(async move |cx| {
                        cx.sleep(time).await.unwrap();
                        cx.with(|book| book.borrow_mut().ran(work));
                    })
                    .unwrap();
            }
            6 => {
                let work = book.borrow_mut().open(0);
                self.poster.post(move |_| ()).unwrap();
                // Out of any group: it always runs.
                book.borrow_mut().fates[work] = Fate::Ran;
            }
            7 if self.inlets.len() < 8 => {
                let inlet = group
                    .inlet("i", InletLimits::default(), |book: &mut World, work| {
                        book.borrow_mut().ran(work);
                    })
                    .unwrap();
                self.inlets.push((number, inlet));
            }
            7 => {
                let gone = self.dice.below(self.inlets.len());
                self.inlets.swap_remove(gone);
            }
            8 if !self.inlets.is_empty() => {
                let at = self.dice.below(self.inlets.len());
                let (number, inlet) = &self.inlets[at];
                if !inlet.is_closed() {
                    let work = book.borrow_mut().open(*number);
                    inlet.try_send(work, 8).unwrap();
                }
            }
            9 if self.dice.below(8) == 0 => {
                group.cancel();
                self.groups.swap_remove(at);
                book.borrow_mut().gone(number);
                self.add_group();
            }
            _ => self.tick(),
        }
    }

    fn tick(&mut self) {
        // Most of the time would go to the system calls of the lane's.
        if self.dice.below(8) == 0 {
            self.lanes.poll().unwrap();
        }
        self.now += Duration::from_micros(self.dice.below(100) as u64);
        let most = 1 + u32::try_from(self.dice.below(60)).unwrap();
        let report = self
            .owner
            .update_at(self.now, &mut self.world, Budget::operations(most))
            .unwrap();
        assert!(report.ran <= most);
        assert!(report.panics.is_empty(), "{:?}", report.panics);
    }

    /// Lets everything come to its end, and looks whether it has.
    fn end(mut self) {
        self.inlets.clear();
        for round in 0.. {
            self.now += Duration::from_millis(1);
            self.lanes.poll().unwrap();
            let report = self
                .owner
                .update_at(self.now, &mut self.world, Budget::unlimited())
                .unwrap();
            assert!(report.panics.is_empty(), "{:?}", report.panics);
            let stats = self.owner.stats();
            if report.left + stats.tasks_alive + stats.timers_set + self.store.in_flight() == 0 {
                break;
            }
            assert!(round < 10_000, "{stats:?}");
        }
        let book = self.world.borrow();
        for (work, fate) in book.fates.iter().enumerate() {
            assert_ne!(*fate, Fate::Pending, "work {work} was forgotten");
        }
        assert_eq!(self.owner.stats().groups, self.groups.len());
    }
}

/// A quarter of the seeds: four tests, so that they share the processors.
fn quarter(number: u64) {
    let programs = (STEPS / STEPS_PER_PROGRAM) as u64;
    for seed in (0..programs).filter(|seed| seed % 4 == number) {
        let run = std::panic::catch_unwind(|| {
            let mut program = Program::new(seed);
            for _ in 0..STEPS_PER_PROGRAM {
                program.step();
            }
            program.end();
        });
        if let Err(payload) = run {
            let text = payload.downcast_ref::<String>().cloned();
            std::panic::panic_any(format!("seed {seed}: {}", text.unwrap_or_default()));
        }
    }
}

#[test]
fn a_million_steps_of_random_programs_1() {
    quarter(0);
}

#[test]
fn a_million_steps_of_random_programs_2() {
    quarter(1);
}

#[test]
fn a_million_steps_of_random_programs_3() {
    quarter(2);
}

#[test]
fn a_million_steps_of_random_programs_4() {
    quarter(3);
}
