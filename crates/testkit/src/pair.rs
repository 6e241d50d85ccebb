//! Two engines, a virtual link between them and a virtual clock: a whole connection in one thread, with
//! no socket and no waiting.
//!
//! A story makes a [`Pair`], says what the link is like as [`Conditions`], gives commands to the engines
//! and lets the pair [`drive`](Pair::drive). An hour of silence costs nothing, and the same seed gives
//! the same run: the seed decides who goes first where both could, and how the link cuts bytes up.
//!
//! ```
//! use arknet_proto::endpoint::{Endpoint, Event};
//! use arknet_proto::framing::{Decoder, Framing};
//! use arknet_proto::session::Config;
//! use arknet_testkit::pair::{Chunks, Conditions, Pair};
//! use arknet_testkit::VirtualClock;
//!
//! let clock = VirtualClock::new();
//! let decoder = Decoder::new(Framing::LengthPrefix, 1024)?;
//! let engine = || Endpoint::<u32>::new(Config::default(), decoder.clone(), clock.now());
//! let mut pair = Pair::new(clock.clone(), 7, engine(), engine());
//! pair.set_conditions(Conditions { chunks: Chunks::Byte, ..Conditions::default() });
//!
//! pair.a.engine.handle_opened(clock.now());
//! pair.b.engine.handle_opened(clock.now());
//! pair.a.engine.send("hello", None)?;
//! pair.drive();
//! assert_eq!(pair.b.take_events(), [Event::Opened, Event::Message("hello".into())]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod link;
mod party;
mod random;
mod transcript;

use std::time::{Duration, Instant};

use arknet_proto::engine::Transmit;

pub use self::link::{Chunks, Conditions};
use self::link::{Delivery, Link};
pub use self::party::Party;
use self::random::Random;
pub use self::transcript::{Entry, Happening, Transcript, Who};
use crate::VirtualClock;

/// Rounds in one call of a `drive`: a megabyte can cross byte by byte, and engines that take more than
/// that talk to each other without end.
const ROUNDS: usize = 2_000_000;

/// Two engines and the link between them.
#[derive(Debug)]
pub struct Pair<A: Party, B: Party> {
    /// One end.
    pub a: Side<A>,
    /// The other.
    pub b: Side<B>,
    clock: VirtualClock,
    a_to_b: Link,
    b_to_a: Link,
    random: Random,
    transcript: Transcript,
    rounds: usize,
}

/// One end: its engine, and what that has told.
pub struct Side<E: Party> {
    /// The engine. After a command the pair is to be driven.
    pub engine: E,
    events: Vec<E::Event>,
    script: Option<Script<E>>,
}

/// What an end does about what it is told.
type Script<E> = Box<dyn FnMut(&mut E, &<E as arknet_proto::engine::StreamEngine>::Event, Instant)>;

impl<A: Party, B: Party> Pair<A, B> {
    /// Two engines whose time is `clock`'s, on a link under default [`Conditions`].
    pub fn new(clock: VirtualClock, seed: u64, a: A, b: B) -> Self {
        Self {
            a: Side::new(a),
            b: Side::new(b),
            clock,
            a_to_b: Link::default(),
            b_to_a: Link::default(),
            random: Random::new(seed),
            transcript: Transcript::default(),
            rounds: ROUNDS,
        }
    }

    /// The time of the story.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// What happened, for reading when a story fails and for comparing two runs.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// Sets the conditions of both directions. Bytes that are on their way keep their arrival times.
    pub fn set_conditions(&mut self, conditions: Conditions) {
        self.a_to_b.conditions = conditions;
        self.b_to_a.conditions = conditions;
    }

    /// Gives one call of a `drive` so many rounds, in place of two millions. A round is a turn of each
    /// side, in which one piece may arrive.
    pub fn set_rounds(&mut self, rounds: usize) {
        self.rounds = rounds;
    }

    /// The conditions of the direction from `sender`, to be changed.
    pub fn conditions_from(&mut self, sender: Who) -> &mut Conditions {
        match sender {
            Who::A => &mut self.a_to_b.conditions,
            Who::B => &mut self.b_to_a.conditions,
        }
    }

    /// Bytes from `sender` that are on their way.
    pub fn in_flight(&self, sender: Who) -> usize {
        match sender {
            Who::A => self.a_to_b.in_flight(),
            Who::B => self.b_to_a.in_flight(),
        }
    }

    /// Bytes from `sender` that have arrived.
    pub fn delivered(&self, sender: Who) -> u64 {
        match sender {
            Who::A => self.a_to_b.delivered(),
            Who::B => self.b_to_a.delivered(),
        }
    }

    /// Breaks the connection now: what is on its way is lost, and both ends see a fault.
    pub fn cut(&mut self) {
        let now = self.now();
        self.a_to_b.clear();
        self.b_to_a.clear();
        for who in [Who::A, Who::B] {
            self.note(who, Happening::Reset);
        }
        self.a.engine.handle_reset(now);
        self.b.engine.handle_reset(now);
    }

    /// Runs until nothing is on its way that can arrive. Time moves as far as that takes, and deadlines
    /// in between are met; later ones are not waited for.
    ///
    /// # Panics
    ///
    /// With the transcript, when it does not come to rest.
    pub fn drive(&mut self) {
        let mut rounds = self.rounds;
        loop {
            self.settle(&mut rounds);
            let Some(arrival) = self.next_arrival() else {
                return;
            };
            let next = self.next_deadline().map_or(arrival, |at| at.min(arrival));
            self.clock.advance_to(next);
        }
    }

    /// Runs for `time`: everything that is due within it happens in its time.
    ///
    /// # Panics
    ///
    /// As [`drive`](Self::drive).
    pub fn drive_for(&mut self, time: Duration) {
        let end = self.now() + time;
        let mut rounds = self.rounds;
        loop {
            self.settle(&mut rounds);
            match self.next_moment() {
                Some(next) if next <= end => self.clock.advance_to(next),
                _ if self.now() < end => self.clock.advance_to(end),
                _ => return,
            };
        }
    }

    /// Runs from moment to moment until `done`, which is asked whenever nothing more can happen at once.
    ///
    /// # Panics
    ///
    /// With the transcript, when it is not done within `time`; and as [`drive`](Self::drive).
    pub fn drive_until(&mut self, time: Duration, mut done: impl FnMut(&Self) -> bool) {
        let end = self.now() + time;
        let mut rounds = self.rounds;
        loop {
            self.settle(&mut rounds);
            if done(self) {
                return;
            }
            match self.next_moment() {
                Some(next) if next <= end => self.clock.advance_to(next),
                _ => panic!(
                    "not done within {time:?}, and nothing is due; before that:\n{}",
                    self.transcript
                ),
            };
        }
    }

    /// When something is due next: a deadline or an arrival.
    pub fn next_moment(&self) -> Option<Instant> {
        [self.next_deadline(), self.next_arrival()]
            .into_iter()
            .flatten()
            .min()
    }

    fn next_deadline(&self) -> Option<Instant> {
        [self.a.engine.next_deadline(), self.b.engine.next_deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    fn next_arrival(&self) -> Option<Instant> {
        [self.a_to_b.next_arrival(), self.b_to_a.next_arrival()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Does everything that can be done without time passing.
    fn settle(&mut self, rounds: &mut usize) {
        loop {
            assert!(
                *rounds > 0,
                "no rest after {} rounds, the last of them:\n{}",
                self.rounds,
                self.transcript
            );
            *rounds -= 1;
            let first = if self.random.bit() { Who::A } else { Who::B };
            let moved = self.turn(first) | self.turn(first.other());
            if !moved {
                return;
            }
        }
    }

    fn turn(&mut self, who: Who) -> bool {
        let mut turn = Turn {
            who,
            now: self.clock.now(),
            elapsed: self.clock.elapsed(),
            transcript: &mut self.transcript,
            random: &mut self.random,
            moved: false,
            cut: false,
        };
        match who {
            Who::A => turn.run(&mut self.a, &mut self.a_to_b, &mut self.b_to_a),
            Who::B => turn.run(&mut self.b, &mut self.b_to_a, &mut self.a_to_b),
        }
        let (moved, cut) = (turn.moved, turn.cut);
        if cut {
            self.cut();
        }
        moved || cut
    }

    fn note(&mut self, who: Who, what: Happening) {
        let at = self.clock.elapsed();
        self.transcript.note(Entry { at, who, what });
    }
}

impl<E: Party> Side<E> {
    fn new(engine: E) -> Self {
        Self {
            engine,
            events: Vec::new(),
            script: None,
        }
    }

    /// Has every event answered by `script` as soon as it is told; it is kept all the same.
    pub fn on_event(&mut self, script: impl FnMut(&mut E, &E::Event, Instant) + 'static) {
        self.script = Some(Box::new(script));
    }

    /// What was told since the events were last taken.
    pub fn events(&self) -> &[E::Event] {
        &self.events
    }

    /// Takes what was told.
    pub fn take_events(&mut self) -> Vec<E::Event> {
        std::mem::take(&mut self.events)
    }
}

impl<E: Party + std::fmt::Debug> std::fmt::Debug for Side<E> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Side")
            .field("engine", &self.engine)
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}

/// One side's turn at one moment.
struct Turn<'a> {
    who: Who,
    now: Instant,
    elapsed: Duration,
    transcript: &'a mut Transcript,
    random: &'a mut Random,
    moved: bool,
    cut: bool,
}

impl Turn<'_> {
    /// What the application did, then what arrived, then what is due: the engine is drained after each.
    fn run<E: Party>(&mut self, side: &mut Side<E>, out: &mut Link, arriving: &mut Link) {
        self.drain(side, out);
        self.receive(side, out, arriving);
        self.drain(side, out);
        if side
            .engine
            .next_deadline()
            .is_some_and(|due| due <= self.now)
        {
            self.note(Happening::Deadline);
            side.engine.handle_timeout(self.now);
            self.drain(side, out);
        }
    }

    fn receive<E: Party>(&mut self, side: &mut Side<E>, out: &mut Link, arriving: &mut Link) {
        let Some(delivery) = arriving.deliver(self.now, self.random) else {
            return;
        };
        self.moved = true;
        match delivery {
            Delivery::Cut => self.cut = true,
            Delivery::Nothing => {}
            Delivery::Reset if side.engine.is_over() => {}
            // Nobody reads any more: the sender is told, as a kernel would.
            _ if side.engine.is_over() => out.reset(self.now),
            Delivery::Bytes(bytes) => {
                self.note(Happening::Arrived(bytes.len()));
                side.engine.handle_input(self.now, &bytes);
            }
            Delivery::End => {
                self.note(Happening::EndArrived);
                side.engine.handle_end(self.now);
            }
            Delivery::Reset => {
                self.note(Happening::Reset);
                side.engine.handle_reset(self.now);
            }
        }
    }

    /// Drains the engine in the order that its contract asks for.
    fn drain<E: Party>(&mut self, side: &mut Side<E>, out: &mut Link) {
        let mut wire = Vec::new();
        loop {
            let told = self.drain_events(side);
            wire.clear();
            match side.engine.poll_transmit(self.now, out.room(), &mut wire) {
                Transmit::Bytes(count) => {
                    assert_eq!(count, wire.len(), "it says how much it appends");
                    assert!(count <= out.room(), "it keeps within the room");
                    self.note(Happening::Sent(count));
                    out.send(self.now, &wire);
                }
                Transmit::End => {
                    self.note(Happening::EndSent);
                    out.end(self.now);
                }
                Transmit::Idle if told => {}
                Transmit::Idle => break,
            }
        }
        if side.engine.is_over() {
            out.abandon(self.now);
        }
    }

    fn drain_events<E: Party>(&mut self, side: &mut Side<E>) -> bool {
        let mut told = false;
        while let Some(event) = side.engine.poll_event() {
            told = true;
            self.note(Happening::Told(format!("{event:?}")));
            if let Some(script) = &mut side.script {
                script(&mut side.engine, &event, self.now);
            }
            side.events.push(event);
        }
        told
    }

    fn note(&mut self, what: Happening) {
        self.moved = true;
        self.transcript.note(Entry {
            at: self.elapsed,
            who: self.who,
            what,
        });
    }
}
