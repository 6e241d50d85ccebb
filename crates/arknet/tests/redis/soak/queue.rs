//! A queue whose consumers wait for its elements: none is popped twice, and none is lost but with an unknown outcome.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use arknet::redis::commands::lists::{blpop, rpush};
use arknet::redis::{Command, Lease};
use arknet_testkit::servers::redis::RedisServer;

use super::chance::perhaps;
use super::tally::{Executed, Numbers};
use super::world::{World, lock};

/// How many elements wait before the producer does.
const FULL: u64 = 200;

/// What producer and consumers know.
#[derive(Default)]
pub(super) struct Queue {
    pushed: Numbers,
    perhaps_pushed: BTreeSet<u64>,
    popped: Numbers,
    perhaps_popped: u64,
}

impl Queue {
    pub(super) fn check(&mut self, server: &RedisServer) {
        let left = server.cli(&["LRANGE", "queue", "0", "-1"]);
        for element in left.array() {
            self.pop(element.text().parse().unwrap());
        }
        let lost = self
            .pushed
            .iter()
            .filter(|number| !self.popped.contains(*number));
        let (lost, unknown) = (lost.count() as u64, self.perhaps_popped);
        assert!(
            lost <= unknown,
            "{lost} elements are lost, and {unknown} pops unknown"
        );
        for number in self
            .popped
            .iter()
            .filter(|number| !self.pushed.contains(*number))
        {
            assert!(
                self.perhaps_pushed.contains(&number),
                "{number} was never pushed"
            );
        }
    }

    fn pop(&mut self, number: u64) {
        assert!(self.popped.insert(number), "{number} was popped twice");
    }
}

pub(super) async fn produce(world: Arc<World>) {
    let mut chance = world.chance(2_000);
    let mut number = 0;
    while world.runs() {
        number += 1;
        let push: Command<u64> = rpush("queue", number);
        let pushed = perhaps(&mut chance, 20, world.client.run(push)).await;
        let mut executed = Executed::default();
        let waiting = world.tally.note(pushed, &mut executed);
        {
            let mut queue = lock(&world.queue);
            if executed.surely == 1 {
                queue.pushed.insert(number);
            } else if executed.perhaps == 1 {
                queue.perhaps_pushed.insert(number);
            }
        }
        if waiting.is_none_or(|waiting| waiting > FULL) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

pub(super) async fn consume(world: Arc<World>, number: u64) {
    let mut chance = world.chance(3_000 + number);
    while world.runs() {
        let acquired = world.pool.acquire().await;
        let Some(mut lease) = world.tally.value(Some(acquired)) else {
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        };
        while world.runs() && pop(&world, &mut chance, &mut lease).await {}
    }
}

/// Whether there may be more on this lease.
async fn pop(world: &World, chance: &mut super::chance::Chance, lease: &mut Lease) -> bool {
    let pop = blpop::<u64>("queue", Some(Duration::from_millis(50)));
    let popped = perhaps(chance, 50, lease.run(pop)).await;
    let mut executed = Executed::default();
    let popped = world.tally.note(popped, &mut executed);
    let mut queue = lock(&world.queue);
    queue.perhaps_popped += executed.perhaps;
    match popped {
        Some(Some((name, number))) => {
            assert_eq!(name, "queue");
            queue.pop(number);
            true
        }
        Some(None) => true,
        None => false,
    }
}
