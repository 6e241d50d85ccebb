//! Where profiles, presence and the leaderboard are kept: in Redis, or in memory where there is none.
//!
//! Persistence in MySQL is another backend of the same operations; it comes with the client for it.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use arknet::Lanes;
use arknet::owner::{Lost, Owner, Service};
use arknet::redis::commands::{hashes, keys, sets, sorted_sets};
use arknet::redis::{self, Client, Config};

use super::world::World;

/// How many the leaderboard has.
const TOP: i64 = 10;

/// What is kept of a player.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Profile {
    pub(crate) x: u16,
    pub(crate) y: u16,
    pub(crate) score: u32,
}

/// What the world asks of the store.
pub(crate) enum Operation {
    /// Loads a profile, and notes that the player is there.
    Enter(String),
    Save(String, Profile),
    /// Saves for the last time, and notes that the player has gone.
    Leave(String, Profile),
    Top,
}

pub(crate) enum Reply {
    Profile(Option<Profile>),
    Done,
    Top(Vec<(String, u32)>),
}

/// Why the store did not do it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error(transparent)]
    Redis(#[from] redis::Error),
    #[error(transparent)]
    Lost(#[from] Lost),
}

/// The store, as the world sees it: operations are submitted here, and their results delivered here.
pub(crate) type Store = Service<World, Operation, Result<Reply, StoreError>>;

/// Has a backend work for an owner.
pub(crate) fn service(owner: &Owner<World>, backend: Backend) -> Result<Store, Box<dyn Error>> {
    let store = owner.service("store", move |operation| {
        let backend = backend.clone();
        async move { backend.execute(operation).await }
    });
    store.map_err(|rejected| rejected.reason.into())
}

#[derive(Clone)]
pub(crate) enum Backend {
    Memory(Arc<Mutex<Memory>>),
    Redis(Client),
}

#[derive(Default)]
pub(crate) struct Memory {
    profiles: BTreeMap<String, Profile>,
    online: BTreeSet<String>,
}

impl Backend {
    pub(crate) fn memory() -> Self {
        Self::Memory(Arc::default())
    }

    pub(crate) fn redis(url: &str, lanes: &Lanes) -> Result<Self, Box<dyn Error>> {
        Ok(Self::Redis(Client::new(Config::from_url(url)?, lanes)?))
    }

    async fn execute(&self, operation: Operation) -> Result<Reply, StoreError> {
        match operation {
            Operation::Enter(name) => {
                let profile = self.load(&name).await?;
                match self {
                    Self::Memory(memory) => {
                        lock(memory).online.insert(name);
                    }
                    Self::Redis(client) => {
                        client.run(sets::sadd(ONLINE, name)).await?;
                    }
                }
                Ok(Reply::Profile(profile))
            }
            Operation::Save(name, profile) => {
                self.save(&name, profile).await?;
                Ok(Reply::Done)
            }
            Operation::Leave(name, profile) => {
                self.save(&name, profile).await?;
                match self {
                    Self::Memory(memory) => {
                        lock(memory).online.remove(&name);
                    }
                    Self::Redis(client) => {
                        client.run(sets::srem(ONLINE, name)).await?;
                    }
                }
                Ok(Reply::Done)
            }
            Operation::Top => Ok(Reply::Top(self.top().await?)),
        }
    }

    pub(crate) async fn load(&self, name: &str) -> Result<Option<Profile>, StoreError> {
        match self {
            Self::Memory(memory) => Ok(lock(memory).profiles.get(name).copied()),
            Self::Redis(client) => {
                let fields: (Option<u16>, Option<u16>, Option<u32>) = client
                    .run(hashes::hmget(key(name), ("x", "y", "score")))
                    .await?;
                Ok(match fields {
                    (Some(x), Some(y), Some(score)) => Some(Profile { x, y, score }),
                    _ => None,
                })
            }
        }
    }

    async fn save(&self, name: &str, profile: Profile) -> Result<(), StoreError> {
        match self {
            Self::Memory(memory) => {
                lock(memory).profiles.insert(name.to_owned(), profile);
            }
            Self::Redis(client) => {
                let Profile { x, y, score } = profile;
                let fields = (("x", x), ("y", y), ("score", score));
                client.run(hashes::hset(key(name), fields)).await?;
                client.run(sorted_sets::zadd(BOARD, (score, name))).await?;
            }
        }
        Ok(())
    }

    async fn top(&self) -> Result<Vec<(String, u32)>, StoreError> {
        match self {
            Self::Memory(memory) => {
                let memory = lock(memory);
                let score = |(name, profile): (&String, &Profile)| (name.clone(), profile.score);
                let mut all: Vec<_> = memory.profiles.iter().map(score).collect();
                all.sort_by_key(|(_, score)| std::cmp::Reverse(*score));
                all.truncate(usize::try_from(TOP).unwrap_or_default());
                Ok(all)
            }
            Self::Redis(client) => {
                let top = sorted_sets::zrange_withscores::<String>(BOARD, -TOP, -1);
                let best = client.run(top).await?.into_iter().rev();
                // Scores are whole numbers that were written from such.
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                Ok(best.map(|(name, score)| (name, score as u32)).collect())
            }
        }
    }

    /// For a show that leaves nothing behind.
    pub(crate) async fn forget_everything(&self) -> Result<(), StoreError> {
        let Self::Redis(client) = self else {
            return Ok(());
        };
        let names: Vec<String> = client.run(sorted_sets::zrange(BOARD, 0, -1)).await?;
        for name in names {
            client.run(keys::del(key(&name))).await?;
        }
        client.run(keys::del((BOARD, ONLINE))).await?;
        Ok(())
    }
}

/// Who is there.
const ONLINE: &str = "arena:online";

/// The scores of all.
const BOARD: &str = "arena:board";

fn key(name: &str) -> String {
    format!("arena:player:{name}")
}

fn lock(memory: &Mutex<Memory>) -> std::sync::MutexGuard<'_, Memory> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}
