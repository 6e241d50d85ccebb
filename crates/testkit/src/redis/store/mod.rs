//! What the embedded server keeps: databases of keys, who watches which, and which lists have grown.

mod collections;
mod database;
mod glob;
mod scan;
mod value;

use std::collections::{BTreeMap, BTreeSet};

pub(super) use collections::{End, Hash, List, Set};
pub(super) use database::Database;
pub(super) use glob::matches;
pub(super) use scan::Cursor;
pub(super) use value::Value;

/// A key of a database.
pub(super) type Key = Vec<u8>;

/// All databases.
#[derive(Debug)]
pub(super) struct Store {
    databases: Vec<Database>,
    /// Who waits to hear of a change of which key, by the number of the database.
    watchers: BTreeMap<(usize, Key), BTreeSet<u64>>,
    /// Clients that watched what has changed since.
    broken: BTreeSet<u64>,
}

impl Store {
    pub(super) fn new(databases: usize) -> Self {
        Self {
            databases: (0..databases).map(|_| Database::default()).collect(),
            watchers: BTreeMap::new(),
            broken: BTreeSet::new(),
        }
    }

    /// The number of databases.
    pub(super) fn len(&self) -> usize {
        self.databases.len()
    }

    /// A database at this moment; `None` where there is none of that number.
    pub(super) fn database(&mut self, number: usize, now: u64) -> Option<&mut Database> {
        let database = self.databases.get_mut(number)?;
        database.set_time(now);
        Some(database)
    }

    /// Bytes of all keys and values.
    pub(super) fn bytes(&self) -> usize {
        self.databases.iter().map(Database::bytes).sum()
    }

    pub(super) fn clear(&mut self) {
        self.databases.iter_mut().for_each(Database::clear);
    }

    pub(super) fn watch(&mut self, client: u64, database: usize, key: &[u8]) {
        let place = (database, key.to_vec());
        self.watchers.entry(place).or_default().insert(client);
    }

    /// Forgets what `client` watches, and whether it changed.
    pub(super) fn unwatch(&mut self, client: u64) {
        self.watchers.retain(|_, clients| {
            clients.remove(&client);
            !clients.is_empty()
        });
        self.broken.remove(&client);
    }

    /// How many keys `client` watches.
    pub(super) fn watched(&self, client: u64) -> usize {
        self.watchers
            .values()
            .filter(|clients| clients.contains(&client))
            .count()
    }

    /// Whether something that `client` watches has changed, or has expired at `now`.
    pub(super) fn is_broken(&mut self, client: u64, now: u64) -> bool {
        let watched: Vec<_> = self
            .watchers
            .iter()
            .filter(|(_, clients)| clients.contains(&client))
            .map(|(place, _)| place.clone())
            .collect();
        for (number, key) in watched {
            if let Some(database) = self.database(number, now) {
                // Looking removes what has expired, which is a change.
                database.contains(&key);
            }
        }
        self.settle();
        self.broken.contains(&client)
    }

    /// Takes what a command has changed: watchers are marked, and lists that grew are returned.
    pub(super) fn settle(&mut self) -> Vec<(usize, Key)> {
        let mut grown = Vec::new();
        for (number, database) in self.databases.iter_mut().enumerate() {
            for key in database.take_changed() {
                let place = (number, key);
                if let Some(clients) = self.watchers.get(&place) {
                    self.broken.extend(clients);
                }
            }
            grown.extend(database.take_grown().into_iter().map(|key| (number, key)));
        }
        grown
    }
}
