//! The statements that a connection keeps prepared.

use std::collections::HashMap;
use std::sync::Arc;

use arknet_proto::mysql::command::Prepared;

/// Prepared statements by their text; the least recently used one gives way.
#[derive(Debug)]
pub(super) struct Statements {
    kept: HashMap<Arc<str>, Kept>,
    limit: usize,
    /// Counts uses, so that they can be compared.
    now: u64,
}

#[derive(Debug)]
struct Kept {
    prepared: Prepared,
    used: u64,
}

impl Statements {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            kept: HashMap::new(),
            limit,
            now: 0,
        }
    }

    /// The statement of this text, if it is prepared.
    #[inline]
    pub(super) fn find(&mut self, sql: &str) -> Option<&Prepared> {
        let kept = self.kept.get_mut(sql)?;
        self.now += 1;
        kept.used = self.now;
        Some(&kept.prepared)
    }

    /// Keeps a statement. Returns the one that the server is to forget for it: perhaps the same.
    pub(super) fn insert(&mut self, sql: &str, prepared: Prepared) -> Option<u32> {
        if self.limit == 0 {
            return Some(prepared.id());
        }
        // The same text may have been prepared twice in one flight.
        let mut evicted = self.remove(sql);
        if self.kept.len() >= self.limit {
            // Rare next to the round trip that has gone before, and over few.
            let oldest = self.kept.iter().min_by_key(|(_, kept)| kept.used);
            let oldest = oldest.map(|(sql, _)| sql.clone());
            evicted = oldest.and_then(|sql| self.remove(&sql));
        }
        self.now += 1;
        let used = self.now;
        self.kept.insert(sql.into(), Kept { prepared, used });
        evicted
    }

    /// Keeps a statement no more. Returns its number.
    pub(super) fn remove(&mut self, sql: &str) -> Option<u32> {
        self.kept.remove(sql).map(|kept| kept.prepared.id())
    }

    /// Keeps none any more. Returns their numbers.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = u32> + '_ {
        self.kept.drain().map(|(_, kept)| kept.prepared.id())
    }

    /// The session was begun anew: no statement is prepared any more.
    pub(super) fn clear(&mut self) {
        self.kept.clear();
    }
}
