//! The rules. Nothing here knows of sockets, databases or threads.

use std::collections::{BTreeMap, BTreeSet};

use arknet::owner::Group;
use arknet::owner::net::{Session, SessionId};

use super::storage::Profile;

/// The arena is so wide and high.
pub(crate) const SIZE: u16 = 256;

/// Players see each other within a square of this side.
pub(crate) const SQUARE: u16 = 32;

/// Coins that lie about.
const COINS: usize = 2000;

pub(crate) struct Player {
    pub(crate) name: String,
    pub(crate) session: Session,
    /// What belongs to the player ends with this: the load of the profile, the timer of the saves.
    /// Nobody asks it for anything: it is here to be dropped.
    pub(crate) _group: Group<World>,
    /// Not there while the profile is being loaded.
    pub(crate) profile: Option<Profile>,
    /// It has changed since the last save.
    pub(crate) changed: bool,
    /// Where the player wants to go with the next step.
    pub(crate) wish: (i8, i8),
}

/// Saves, to see that none is lost.
#[derive(Default)]
pub(crate) struct Saves {
    pub(crate) accepted: u64,
    pub(crate) done: u64,
    pub(crate) failed: u64,
}

pub(crate) struct World {
    pub(crate) players: BTreeMap<SessionId, Player>,
    pub(crate) names: BTreeSet<String>,
    coins: BTreeSet<(u16, u16)>,
    dice: u64,
    /// The best, as of the last time that the store was asked.
    pub(crate) top: Vec<(String, u32)>,
    pub(crate) saves: Saves,
    /// Who has left, with what score.
    pub(crate) left: BTreeMap<String, u32>,
}

impl World {
    pub(crate) fn new() -> Self {
        let mut world = Self {
            players: BTreeMap::new(),
            names: BTreeSet::new(),
            coins: BTreeSet::new(),
            dice: 1,
            top: Vec::new(),
            saves: Saves::default(),
            left: BTreeMap::new(),
        };
        world.scatter();
        world
    }

    /// Where a new player begins.
    pub(crate) fn birthplace(&mut self) -> Profile {
        Profile {
            x: self.roll(),
            y: self.roll(),
            score: 0,
        }
    }

    /// Everybody moves, and takes the coin that lies there.
    pub(crate) fn step(&mut self) {
        for player in self.players.values_mut() {
            let Some(profile) = &mut player.profile else {
                continue;
            };
            let (x, y) = std::mem::take(&mut player.wish);
            if (x, y) == (0, 0) {
                continue;
            }
            profile.x = profile
                .x
                .saturating_add_signed(x.signum().into())
                .min(SIZE - 1);
            profile.y = profile
                .y
                .saturating_add_signed(y.signum().into())
                .min(SIZE - 1);
            if self.coins.remove(&(profile.x, profile.y)) {
                profile.score += 1;
            }
            player.changed = true;
        }
        self.scatter();
    }

    fn scatter(&mut self) {
        while self.coins.len() < COINS {
            let place = (self.roll(), self.roll());
            self.coins.insert(place);
        }
    }

    /// A coordinate that looks random and is the same in every run.
    fn roll(&mut self) -> u16 {
        self.dice = self
            .dice
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        u16::try_from(self.dice >> 48).unwrap_or_default() % SIZE
    }
}
