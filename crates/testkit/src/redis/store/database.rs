//! The keys of one database, with their values and their times to die.

use std::collections::{BTreeSet, HashMap};
use std::mem;

use super::scan::place;
use super::value::Kind;
use super::{Cursor, Key, Value};
use crate::redis::refusal::{Refusal, WRONG_TYPE};

/// What a key costs beside its bytes; a database of a million empty strings is not free.
const ENTRY_BYTES: usize = 64;

#[derive(Debug, Default)]
pub(in crate::redis) struct Database {
    entries: HashMap<Key, Entry>,
    /// The keys in the order of the walk.
    order: BTreeSet<(u64, Key)>,
    bytes: usize,
    /// Milliseconds since 1970, as of this command.
    now: u64,
    changed: Vec<Key>,
    grown: Vec<Key>,
}

#[derive(Debug)]
struct Entry {
    value: Value,
    /// When it expires, in milliseconds since 1970.
    expires: Option<u64>,
}

impl Database {
    pub(super) fn set_time(&mut self, now: u64) {
        self.now = now;
    }

    pub(in crate::redis) fn now(&self) -> u64 {
        self.now
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many keys there are, those that have expired and were not looked at since among them.
    pub(in crate::redis) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(in crate::redis) fn contains(&mut self, key: &[u8]) -> bool {
        self.value(key).is_some()
    }

    /// The value of a key that has not expired.
    pub(in crate::redis) fn value(&mut self, key: &[u8]) -> Option<&Value> {
        self.expire(key);
        self.entries.get(key).map(|entry| &entry.value)
    }

    /// The value of a key if it is of type `K`.
    pub(in crate::redis) fn get<K: Kind>(&mut self, key: &[u8]) -> Result<Option<&K>, Refusal> {
        match self.value(key) {
            None => Ok(None),
            Some(value) => K::of(value).map(Some).ok_or(WRONG_TYPE),
        }
    }

    /// When the key expires; the outer `None` means that there is no such key.
    pub(in crate::redis) fn expires(&mut self, key: &[u8]) -> Option<Option<u64>> {
        self.expire(key);
        self.entries.get(key).map(|entry| entry.expires)
    }

    /// Lets a key expire, or not. One whose time has come goes at once.
    pub(in crate::redis) fn set_expires(&mut self, key: &[u8], expires: Option<u64>) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.expires = expires;
            self.changed.push(key.to_vec());
        }
        self.expire(key);
    }

    /// Gives the key a new value and time.
    pub(in crate::redis) fn put(&mut self, key: &[u8], value: Value, expires: Option<u64>) {
        self.bytes += value.bytes();
        let entry = Entry { value, expires };
        match self.entries.get_mut(key) {
            Some(place) => {
                let old = mem::replace(place, entry);
                self.bytes -= old.value.bytes();
            }
            None => {
                self.entries.insert(key.to_vec(), entry);
                self.order.insert((place(key), key.to_vec()));
                self.bytes += key.len() + ENTRY_BYTES;
            }
        }
        self.changed.push(key.to_vec());
    }

    /// Changes the value of a key, which is made where there is none and removed where nothing remains.
    /// `edit` says with its result whether anything changed.
    pub(in crate::redis) fn edit<K: Kind, R>(
        &mut self,
        key: &[u8],
        edit: impl FnOnce(&mut K) -> (R, bool),
    ) -> Result<R, Refusal> {
        self.expire(key);
        if !self.entries.contains_key(key) {
            let mut value = K::fresh();
            let inner = K::of_mut(&mut value).ok_or(WRONG_TYPE)?;
            let (result, _) = edit(inner);
            if !value.is_gone() {
                self.put(key, value, None);
            }
            return Ok(result);
        }
        let entry = self.entries.get_mut(key).ok_or(WRONG_TYPE)?;
        let before = entry.value.bytes();
        let inner = K::of_mut(&mut entry.value).ok_or(WRONG_TYPE)?;
        let (result, changed) = edit(inner);
        self.bytes = self.bytes - before + entry.value.bytes();
        let gone = entry.value.is_gone();
        if changed {
            self.changed.push(key.to_vec());
        }
        if gone {
            self.take(key);
        }
        Ok(result)
    }

    /// Remembers that a list got elements, for those who wait for them.
    pub(in crate::redis) fn grew(&mut self, key: &[u8]) {
        self.grown.push(key.to_vec());
    }

    /// Removes a key and says whether it was there.
    pub(in crate::redis) fn remove(&mut self, key: &[u8]) -> bool {
        self.expire(key);
        self.take(key).is_some()
    }

    /// Gives `from`'s value and time to `to`, and says whether there was one.
    pub(in crate::redis) fn rename(&mut self, from: &[u8], to: &[u8]) -> bool {
        self.expire(from);
        let Some(entry) = self.take(from) else {
            return false;
        };
        if matches!(entry.value, Value::List(_)) {
            self.grew(to);
        }
        self.put(to, entry.value, entry.expires);
        true
    }

    pub(in crate::redis) fn clear(&mut self) {
        self.changed
            .extend(self.entries.drain().map(|(key, _)| key));
        self.order.clear();
        self.bytes = 0;
    }

    /// The next keys of a walk, at least `count` of them where there are so many, and where it goes on.
    pub(in crate::redis) fn scan(&mut self, from: Cursor, count: usize) -> (Cursor, Vec<Key>) {
        let mut keys = Vec::new();
        let mut next = Cursor(0);
        let mut last = 0;
        for (place, key) in self.order.range((from.0, Vec::new())..) {
            // Keys of one hash cannot be told apart by a cursor, so that they come together.
            if keys.len() >= count && *place != last {
                next = Cursor(*place);
                break;
            }
            last = *place;
            keys.push(key.clone());
        }
        keys.retain(|key| self.contains(key));
        (next, keys)
    }

    /// All keys that have not expired.
    pub(in crate::redis) fn keys(&mut self) -> Vec<Key> {
        self.scan(Cursor(0), usize::MAX).1
    }

    pub(super) fn take_changed(&mut self) -> Vec<Key> {
        mem::take(&mut self.changed)
    }

    pub(super) fn take_grown(&mut self) -> Vec<Key> {
        mem::take(&mut self.grown)
    }

    /// Removes the key if its time has come.
    fn expire(&mut self, key: &[u8]) {
        let due = |entry: &Entry| entry.expires.is_some_and(|expires| expires <= self.now);
        if self.entries.get(key).is_some_and(due) {
            self.take(key);
        }
    }

    fn take(&mut self, key: &[u8]) -> Option<Entry> {
        let entry = self.entries.remove(key)?;
        self.order.remove(&(place(key), key.to_vec()));
        self.bytes -= entry.value.bytes() + key.len() + ENTRY_BYTES;
        self.changed.push(key.to_vec());
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(keys: std::ops::Range<u32>) -> Database {
        let mut database = Database::default();
        for key in keys {
            database.put(key.to_string().as_bytes(), Value::Text(vec![0; 3]), None);
        }
        database
    }

    #[test]
    fn a_walk_visits_each_key_once_while_others_come_and_go() {
        let mut database = with(0..200);
        let (mut cursor, mut seen) = (Cursor(0), Vec::new());
        let mut coming = 1_000_u32;
        loop {
            let (next, keys) = database.scan(cursor, 7);
            seen.extend(keys);
            database.put(coming.to_string().as_bytes(), Value::Text(Vec::new()), None);
            coming += 1;
            cursor = next;
            if cursor == Cursor(0) {
                break;
            }
        }
        let mut stayed: Vec<_> = seen.into_iter().filter(|key| key.len() < 4).collect();
        stayed.sort();
        stayed.dedup();
        assert_eq!(stayed.len(), 200);
    }

    #[test]
    fn bytes_return_to_nothing() {
        let mut database = with(0..10);
        database.put(b"0", Value::Text(vec![0; 100]), Some(5));
        database.set_time(5);
        assert!(!database.contains(b"0"));
        for key in database.keys() {
            assert!(database.remove(&key));
        }
        assert_eq!((database.bytes(), database.len()), (0, 0));
    }

    #[test]
    fn what_changed_is_told_once() {
        let mut database = with(0..1);
        assert_eq!(database.take_changed(), [b"0"]);
        assert!(database.take_changed().is_empty());
        let same: Result<(), _> = database.edit::<Vec<u8>, _>(b"0", |_| ((), false));
        assert!(same.is_ok() && database.take_changed().is_empty());
        assert!(
            database
                .edit::<super::super::List, _>(b"0", |_| ((), true))
                .is_err()
        );
    }
}
