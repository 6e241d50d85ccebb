//! Any order of events: a pool does what lists that are searched do, everybody has an answer, and the counts add up.
//!
//! Input begins with six bytes of configuration. Then each operation is a byte, and a byte that says which of several or
//! for how long.

use std::time::{Duration, Instant};

use arknet_proto::pool::{Action, Config, Counts, Engine, Refusal, SlotId, Turn, WaiterId};
use arknet_proto::reconnect::Backoff;

use super::Input;

/// Operations that are read from one input; the lists are searched after every one.
const MOST_OPERATIONS: usize = 2_048;

const SECOND: Duration = Duration::from_secs(1);

/// Runs one input.
pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    let mut model = Model::new(config(&mut input));
    for _ in 0..MOST_OPERATIONS {
        if input.is_empty() {
            break;
        }
        let (operation, choice) = (input.byte(), input.byte());
        model.apply(operation, usize::from(choice));
    }
    model.end();
}

fn config(input: &mut Input<'_>) -> Config {
    let mut below = |limit: u8| usize::from(input.byte() % limit);
    let max = 1 + below(4);
    let seconds = |count: usize| (count > 0).then(|| SECOND * u32::try_from(count).unwrap());
    Config {
        max,
        min: below(5).min(max),
        queue: below(6),
        connects: 1 + below(3),
        max_age: seconds(below(5)),
        max_idle: seconds(below(5)),
        backoff: Backoff {
            first: SECOND,
            max: 4 * SECOND,
            ..Backoff::default()
        },
    }
}

/// What the outside knows: what it was told, and nothing about how the engine works.
struct Model {
    engine: Engine,
    config: Config,
    now: Instant,
    connecting: Vec<SlotId>,
    ending: Vec<SlotId>,
    leased: Vec<SlotId>,
    /// Those who have not looked at their answer, in the order in which they are to be served, with their deadlines.
    waiting: Vec<(WaiterId, Instant)>,
    /// Woken, and not looked after yet.
    woken: Vec<WaiterId>,
    closed: bool,
    lent: u64,
    cancelled: u64,
}

impl Model {
    #[allow(
        clippy::disallowed_methods,
        reason = "an Instant can be had from a clock only"
    )]
    fn new(config: Config) -> Self {
        let now = Instant::now();
        let mut model = Self {
            engine: Engine::new(config, now).unwrap(),
            config,
            now,
            connecting: Vec::new(),
            ending: Vec::new(),
            leased: Vec::new(),
            waiting: Vec::new(),
            woken: Vec::new(),
            closed: false,
            lent: 0,
            cancelled: 0,
        };
        model.drain();
        model
    }

    fn apply(&mut self, operation: u8, choice: usize) {
        match operation % 16 {
            0 | 1 => self.try_acquire(),
            2..=4 => self.wait(choice),
            5 | 6 => self.connected(choice),
            7 => self.connect_failed(choice),
            8 | 9 => {
                if let Some(slot) = pick(&mut self.leased, choice) {
                    assert!(self.engine.release(slot, self.now));
                }
            }
            10 => self.discard(choice),
            11 => self.cancel(choice),
            12 => self.ended(choice),
            13 if choice == 255 => self.close(),
            13 => self.stale(choice),
            _ => self.advance(Duration::from_millis(8) * u32::try_from(choice).unwrap()),
        }
        self.drain();
        // Half of the time everybody who was woken looks at once.
        if operation >= 128 {
            self.serve();
            self.drain();
        }
    }

    fn drain(&mut self) {
        while let Some(action) = self.engine.poll_action() {
            match action {
                Action::Connect(slot) => {
                    assert!(!self.closed, "a closed pool connects");
                    self.connecting.push(slot);
                }
                Action::End(slot) => self.ending.push(slot),
                Action::Wake(waiter) if self.woken.contains(&waiter) => {}
                Action::Wake(waiter) => self.woken.push(waiter),
            }
        }
        self.check();
    }

    fn check(&self) {
        let counts = self.engine.counts();
        assert_eq!(counts.connecting, self.connecting.len());
        assert_eq!(counts.leased, self.leased.len());
        assert_eq!(counts.ending, self.ending.len());
        assert!(counts.total() <= self.config.max);
        assert!(counts.granted <= self.woken.len());
        assert!(counts.idle == 0 || self.engine.waiting() == 0);
        assert!(self.engine.waiting() <= self.config.queue + self.config.max);
        assert_eq!(self.engine.totals().lent, self.lent);
        assert_eq!(self.engine.is_closed(), self.closed);
        let mut places: Vec<_> = [&self.connecting, &self.leased, &self.ending]
            .into_iter()
            .flatten()
            .map(|slot| slot.index())
            .collect();
        places.sort_unstable();
        let used = places.len();
        places.dedup();
        assert_eq!(places.len(), used, "two connections in one place");
        self.check_that_nobody_is_forgotten(counts);
    }

    /// Whoever waits has something that will end it: its own deadline at least, and a connect wherever one may run.
    fn check_that_nobody_is_forgotten(&self, counts: Counts) {
        let due = self.engine.next_deadline();
        for (waiter, deadline) in &self.waiting {
            let has_an_answer = self.woken.contains(waiter);
            assert!(has_an_answer || due.is_some_and(|due| due <= *deadline));
        }
        let wanted = self.engine.waiting();
        let at_once = match self.engine.is_failing() {
            true => 1,
            false => self.config.connects,
        };
        let busy = counts.total() == self.config.max || counts.connecting >= at_once.min(wanted);
        assert!(
            self.closed || busy || self.engine.is_failing(),
            "{counts:?}"
        );
    }

    fn try_acquire(&mut self) {
        let idle = self.engine.counts().idle;
        match self.engine.try_acquire(self.now) {
            Ok(slot) => self.lend(slot),
            Err(Refusal::Closed) => assert!(self.closed),
            Err(refusal) => {
                assert_eq!(refusal, Refusal::NoneIdle);
                assert!(idle == 0 || self.config.max_age.is_some());
                self.engine.ask(self.now);
            }
        }
    }

    fn wait(&mut self, choice: usize) {
        let deadline = self.now + Duration::from_millis(16) * u32::try_from(choice).unwrap();
        let waiting = self.engine.waiting();
        match self.engine.wait(self.now, deadline) {
            Ok(waiter) => self.waiting.push((waiter, deadline)),
            Err(Refusal::Closed) => assert!(self.closed),
            Err(refusal) => {
                assert_eq!(refusal, Refusal::QueueFull);
                assert!(waiting >= self.config.queue);
            }
        }
    }

    fn connected(&mut self, choice: usize) {
        if let Some(slot) = pick(&mut self.connecting, choice) {
            let random = 0x0101_0101_0101_0101 * u64::try_from(choice).unwrap();
            self.engine.handle_connected(slot, self.now, random);
        }
    }

    fn connect_failed(&mut self, choice: usize) {
        if let Some(slot) = pick(&mut self.connecting, choice) {
            let random = 0x0101_0101_0101_0101 * u64::try_from(choice).unwrap();
            self.engine.handle_connect_failed(slot, self.now, random);
        }
    }

    /// A lease turns out to be dead; its user asks for another one, or gives up.
    fn discard(&mut self, choice: usize) {
        let Some(slot) = pick(&mut self.leased, choice) else {
            return;
        };
        self.engine.discard(slot, self.now);
        if choice.is_multiple_of(2) {
            return;
        }
        let deadline = self.now + SECOND;
        match self.engine.wait_first(self.now, deadline) {
            Ok(waiter) => self.waiting.insert(0, (waiter, deadline)),
            Err(refusal) => assert!(self.closed && refusal == Refusal::Closed),
        }
    }

    fn cancel(&mut self, choice: usize) {
        if let Some((waiter, _)) = pick(&mut self.waiting, choice) {
            let before = self.engine.totals().cancelled;
            self.engine.cancel(waiter, self.now);
            self.cancelled += self.engine.totals().cancelled - before;
            self.woken.retain(|woken| *woken != waiter);
        }
    }

    fn ended(&mut self, choice: usize) {
        if let Some(slot) = pick(&mut self.ending, choice) {
            self.engine.handle_ended(slot, self.now);
        }
    }

    fn close(&mut self) {
        self.engine.close();
        self.closed = true;
    }

    /// What does not fit the state of a slot changes nothing.
    fn stale(&mut self, choice: usize) {
        let slots = [&self.connecting, &self.leased, &self.ending];
        let state = choice % slots.len();
        let Some(slot) = slots[state].first().copied() else {
            return;
        };
        let before = (self.engine.counts(), *self.engine.totals());
        if state != 0 {
            self.engine.handle_connected(slot, self.now, 0);
            self.engine.handle_connect_failed(slot, self.now, 0);
        }
        if state != 1 {
            assert!(!self.engine.release(slot, self.now));
            self.engine.discard(slot, self.now);
        }
        if state != 2 {
            self.engine.handle_ended(slot, self.now);
        }
        assert_eq!(before, (self.engine.counts(), *self.engine.totals()));
    }

    /// Time passes, and the engine does what is due whenever it said that it wanted to.
    fn advance(&mut self, by: Duration) {
        let end = self.now + by;
        while let Some(due) = self.engine.next_deadline().filter(|due| *due <= end) {
            self.now = due.max(self.now);
            self.engine.handle_timeout(self.now);
            let next = self.engine.next_deadline();
            assert!(
                next.is_none_or(|next| next > self.now),
                "it comes again at once"
            );
            self.drain();
        }
        self.now = end;
    }

    /// Looks after all who were woken, and finds each with an answer.
    fn serve(&mut self) {
        for waiter in std::mem::take(&mut self.woken) {
            let place = self.waiting.iter().position(|(other, _)| *other == waiter);
            let (_, deadline) = self.waiting.remove(place.unwrap());
            match self.engine.take(waiter).unwrap() {
                Turn::Lent(slot) => self.lend(slot),
                Turn::Refused(Refusal::TimedOut) => assert!(deadline <= self.now),
                Turn::Refused(refusal) => assert!(self.closed && refusal == Refusal::Closed),
                Turn::Waiting => panic!("woken for nothing"),
            }
            assert_eq!(self.engine.take(waiter), None);
        }
    }

    fn lend(&mut self, slot: SlotId) {
        assert!(!self.closed);
        self.lent += 1;
        self.leased.push(slot);
    }

    /// In the end all is given back, everybody has an answer, and nothing is left.
    fn end(mut self) {
        self.advance(4096 * SECOND);
        self.drain();
        self.serve();
        assert_eq!(self.waiting, [], "somebody waits beyond the deadline");
        self.close();
        self.drain();
        // A connect that comes too late, or fails too late, starts nothing anew.
        while !self.connecting.is_empty() {
            self.connected(1);
            self.connect_failed(1);
            self.drain();
        }
        while let Some(slot) = self.leased.pop() {
            assert!(self.engine.release(slot, self.now));
            self.drain();
        }
        while !self.ending.is_empty() {
            assert!(!self.engine.is_drained());
            self.ended(0);
            self.drain();
        }
        assert!(self.engine.is_drained());
        assert_eq!(self.engine.counts(), Counts::default());
        assert_eq!(self.engine.next_deadline(), None);
        assert_eq!(self.engine.totals().cancelled, self.cancelled);
    }
}

fn pick<T: Copy>(list: &mut Vec<T>, choice: usize) -> Option<T> {
    (!list.is_empty()).then(|| list.remove(choice % list.len()))
}
