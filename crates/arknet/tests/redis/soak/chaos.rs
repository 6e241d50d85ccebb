//! Whatever can happen to a connection and to a server, by chance, with a while of peace between.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use arknet_testkit::proxy::{Direction, FaultProxy, Plan, Side};
use arknet_testkit::servers::redis::RedisServer;

use super::chance::Chance;

/// What has happened how often.
pub(super) struct Faults(BTreeMap<&'static str, u64>);

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} faults", self.0.values().sum::<u64>())?;
        for (number, (kind, count)) in self.0.iter().enumerate() {
            write!(f, "{}{count} {kind}", if number == 0 { ": " } else { ", " })?;
        }
        Ok(())
    }
}

pub(super) struct Chaos {
    thread: JoinHandle<Faults>,
}

impl Chaos {
    /// Begins, and ends after so long with everything whole again.
    pub(super) fn start(
        server: Arc<RedisServer>,
        proxy: Arc<FaultProxy>,
        seed: u64,
        time: Duration,
    ) -> Self {
        let mut devil = Devil {
            server,
            proxy,
            chance: Chance::new(seed, u64::MAX),
        };
        let end = Instant::now() + time;
        let thread = thread::spawn(move || {
            let mut faults = Faults(BTreeMap::new());
            while Instant::now() < end {
                devil.wait(20, 300);
                let fault = devil.fault();
                *faults.0.entry(fault).or_default() += 1;
                devil.pass();
            }
            faults
        });
        Self { thread }
    }

    pub(super) fn end(self) -> Faults {
        self.thread.join().unwrap()
    }
}

struct Devil {
    server: Arc<RedisServer>,
    proxy: Arc<FaultProxy>,
    chance: Chance,
}

impl Devil {
    fn fault(&mut self) -> &'static str {
        match self.chance.below(32) {
            0..=3 => {
                self.proxy.cut_all();
                "cut"
            }
            4..=7 => {
                self.proxy.reset_all(Side::Both);
                "reset"
            }
            8..=11 => {
                // Within a frame, most likely.
                let (direction, bytes) = (self.direction(), self.chance.below(20_000));
                self.proxy.set(direction, Plan::cut_after(bytes));
                self.wait(10, 100);
                "cut in the middle"
            }
            12..=15 => {
                let (direction, bytes) = (self.direction(), self.chance.below(20_000));
                self.proxy.set(direction, Plan::stall_after(bytes));
                self.wait(20, 600);
                "stall"
            }
            16..=18 => {
                let direction = self.direction();
                self.proxy.set(direction, Plan::black_hole());
                self.wait(20, 600);
                // No network loses some bytes of a stream and carries the rest.
                self.proxy.cut_all();
                "black hole"
            }
            19..=21 => {
                let slow = Plan::pass().delayed(Duration::from_millis(self.chance.below(30)));
                self.proxy.set(Direction::ToClient, slow);
                self.wait(20, 300);
                "delay"
            }
            22..=24 => {
                self.proxy.refuse();
                self.proxy.cut_all();
                self.wait(20, 400);
                self.proxy.accept_again();
                "refusal"
            }
            25..=27 => {
                self.server.kill_clients();
                "kill"
            }
            28 | 29 => {
                self.server.freeze();
                self.wait(20, 500);
                self.server.thaw();
                "freeze"
            }
            30 => {
                self.server
                    .pause(Duration::from_millis(self.chance.below(400)));
                "pause"
            }
            _ => {
                self.server.restart();
                "restart"
            }
        }
    }

    fn pass(&self) {
        self.proxy.set_both(Plan::pass(), Plan::pass());
    }

    fn direction(&mut self) -> Direction {
        match self.chance.one_in(2) {
            true => Direction::ToServer,
            false => Direction::ToClient,
        }
    }

    fn wait(&mut self, least: u64, most: u64) {
        thread::sleep(Duration::from_millis(least + self.chance.below(most)));
    }
}
