//! Callers of the shared client, each of whom knows what the answers have to be.

use std::sync::Arc;

use arknet::redis::commands::strings::{get, incr, set};
use arknet::redis::{Command, cmd, pipeline};

use super::chance::{Chance, perhaps};
use super::tally::Executed;
use super::world::World;

/// One request in so many is dropped by its caller.
const CANCELLED: u64 = 10;

pub(super) fn echo(token: &str) -> Command<String> {
    cmd("ECHO").arg(token)
}

pub(super) async fn call(world: Arc<World>, number: u64) {
    let mut caller = Caller {
        chance: world.chance(number),
        number,
        round: 0,
        counter: Executed::default(),
        pairs: Executed::default(),
        world,
    };
    while caller.world.runs() {
        caller.round += 1;
        match caller.chance.below(9) {
            0..=2 => caller.echo().await,
            3 => caller.count().await,
            4 => caller.echoes().await,
            5 => caller.mixed().await,
            6 => caller.pair().await,
            _ => caller.value().await,
        }
    }
    caller.tell();
}

struct Caller {
    world: Arc<World>,
    chance: Chance,
    number: u64,
    round: u64,
    counter: Executed,
    pairs: Executed,
}

impl Caller {
    async fn echo(&mut self) {
        let token = self.token("echo");
        let asked = self.world.client.run(echo(&token));
        let heard = perhaps(&mut self.chance, CANCELLED, asked).await;
        if let Some(heard) = self.world.tally.value(heard) {
            assert_eq!(heard, token);
        }
    }

    async fn count(&mut self) {
        let asked = self.world.client.run(incr(self.key("counter")));
        let counted = perhaps(&mut self.chance, CANCELLED, asked).await;
        self.world.tally.note(counted, &mut self.counter);
    }

    async fn echoes(&mut self) {
        let tokens: Vec<_> = (0..=self.chance.below(50))
            .map(|part| format!("{} {part}", self.token("echoes")))
            .collect();
        let asked = pipeline().extend(tokens.iter().map(|token| echo(token)));
        let asked = self.world.client.run(asked);
        let Some(heard) = perhaps(&mut self.chance, CANCELLED, asked).await else {
            return;
        };
        assert_eq!(heard.len(), tokens.len());
        for (heard, token) in heard.into_iter().zip(tokens) {
            if let Some(heard) = self.world.tally.value(Some(heard)) {
                assert_eq!(heard, token);
            }
        }
    }

    async fn mixed(&mut self) {
        let (before, after) = (self.token("before"), self.token("after"));
        let asked = pipeline()
            .add(echo(&before))
            .add(incr(self.key("counter")))
            .add(echo(&after));
        let asked = self.world.client.run(asked);
        let tally = &self.world.tally;
        let Some((first, counted, last)) = perhaps(&mut self.chance, CANCELLED, asked).await else {
            tally.note::<()>(None, &mut self.counter);
            return;
        };
        tally.note(Some(counted), &mut self.counter);
        for (heard, token) in [(first, before), (last, after)] {
            if let Some(heard) = tally.value(Some(heard)) {
                assert_eq!(heard, token);
            }
        }
    }

    /// Two counters that nobody ever sees apart.
    async fn pair(&mut self) {
        let asked = pipeline()
            .add(incr(self.key("left")))
            .add(incr(self.key("right")))
            .atomic();
        let asked = self.world.client.run(asked);
        let both = perhaps(&mut self.chance, CANCELLED, asked).await;
        if let Some((left, right)) = self.world.tally.note(both, &mut self.pairs) {
            assert_eq!(left.unwrap(), right.unwrap(), "half a transaction");
        }
    }

    /// A value whose every byte is known from its head.
    async fn value(&mut self) {
        let key = self.key("value");
        if self.chance.one_in(2) {
            let most = if self.chance.one_in(16) { 200_000 } else { 500 };
            let value = Value::of(self.number, self.round, self.chance.below(most));
            let asked = self.world.client.run(set(key, value));
            self.world
                .tally
                .value(perhaps(&mut self.chance, CANCELLED, asked).await);
            return;
        }
        let asked = self.world.client.run(get::<Option<String>>(key));
        let heard = perhaps(&mut self.chance, CANCELLED, asked).await;
        if let Some(Some(heard)) = self.world.tally.value(heard) {
            let mut head = heard.splitn(4, ' ');
            let mut number = || head.next().and_then(|word| word.parse().ok()).unwrap();
            let (caller, round, len) = (number(), number(), number());
            assert_eq!((caller, round <= self.round), (self.number, true));
            assert_eq!(heard, Value::of(caller, round, len), "a value of pieces");
        }
    }

    fn tell(self) {
        self.world.counted(&self.key("counter"), self.counter);
        self.world.counted(&self.key("left"), self.pairs);
        self.world.counted(&self.key("right"), self.pairs);
    }

    fn key(&self, of: &str) -> String {
        format!("{of}:{}", self.number)
    }

    fn token(&self, of: &str) -> String {
        format!("{of} {} {}", self.number, self.round)
    }
}

struct Value;

impl Value {
    fn of(caller: u64, round: u64, len: u64) -> String {
        let letter = char::from(b'a' + u8::try_from(round % 26).unwrap());
        let text: String = std::iter::repeat_n(letter, usize::try_from(len).unwrap()).collect();
        format!("{caller} {round} {len} {text}")
    }
}
