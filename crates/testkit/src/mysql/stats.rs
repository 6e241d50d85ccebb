//! What an embedded server has seen.

use std::collections::BTreeMap;

/// Names of commands that are counted apart; a client that makes up more is counted without.
const MAX_NAMES: usize = 512;

/// Counts of an embedded server, since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Connections accepted.
    pub accepted: u64,
    /// Connections that are open.
    pub open: usize,
    /// Clients that were let in.
    pub logins: u64,
    /// Commands received whole, executed or not.
    pub commands: u64,
    /// Prepared statements that are open, on all connections.
    pub statements: usize,
    by_name: BTreeMap<String, u64>,
}

impl Stats {
    /// How many commands of this name were received, in any case of letters; a query's name is its first
    /// word. See [`Rule`](super::Rule) for the others.
    #[must_use]
    pub fn count(&self, command: &str) -> u64 {
        let name = command.to_ascii_uppercase();
        self.by_name.get(&name).copied().unwrap_or(0)
    }

    pub(super) fn saw(&mut self, command: &str) {
        self.commands += 1;
        let name = command.to_ascii_uppercase();
        if let Some(count) = self.by_name.get_mut(&name) {
            *count += 1;
        } else if self.by_name.len() < MAX_NAMES {
            self.by_name.insert(name, 1);
        }
    }
}
