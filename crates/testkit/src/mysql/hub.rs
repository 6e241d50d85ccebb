//! What all threads of a server share.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use arknet_proto::mysql::server::Account;
use rustls::ServerConfig;

use super::control::Control;
use super::rule::{Plan, Rule};
use super::{Options, Stats};

pub(super) struct Hub {
    pub(super) options: Options,
    pub(super) tls: Option<Arc<ServerConfig>>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    rules: Vec<Rule>,
    stats: Stats,
    clients: BTreeMap<u32, Arc<Control>>,
    last_id: u32,
    /// Accounts whose password has been seen in full.
    seen: BTreeSet<String>,
    closing: bool,
}

/// A client that has a place.
pub(super) struct Admitted {
    pub(super) id: u32,
    /// Which connection it is, from 0.
    pub(super) index: usize,
    pub(super) control: Arc<Control>,
}

impl Hub {
    pub(super) fn new(options: Options, tls: Option<Arc<ServerConfig>>) -> Self {
        Self {
            options,
            tls,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Gives a client its place; `None` where the server is full, or ends.
    pub(super) fn admit(&self, control: Control) -> Option<Admitted> {
        let mut state = self.lock();
        let index = usize::try_from(state.stats.accepted).unwrap_or(usize::MAX);
        state.stats.accepted += 1;
        if state.closing || state.clients.len() >= self.options.max_clients {
            return None;
        }
        state.last_id = state.last_id.wrapping_add(1);
        let (id, control) = (state.last_id, Arc::new(control));
        state.clients.insert(id, Arc::clone(&control));
        state.stats.open = state.clients.len();
        self.changed.notify_all();
        Some(Admitted { id, index, control })
    }

    pub(super) fn leave(&self, id: u32) {
        let mut state = self.lock();
        state.clients.remove(&id);
        state.stats.open = state.clients.len();
        self.changed.notify_all();
    }

    /// What becomes of a command, which is counted.
    pub(super) fn command(&self, name: &str, statement: &str, connection: usize) -> Plan {
        let mut state = self.lock();
        state.stats.saw(name);
        self.changed.notify_all();
        let befallen = state
            .rules
            .iter_mut()
            .find_map(|rule| rule.befall(name, statement, connection).cloned());
        befallen.unwrap_or_default()
    }

    /// What becomes of a moment of the login, which is no command.
    pub(super) fn moment(&self, name: &str, connection: usize) -> Plan {
        let befallen = self
            .lock()
            .rules
            .iter_mut()
            .find_map(|rule| rule.befall(name, "", connection).cloned());
        befallen.unwrap_or_default()
    }

    pub(super) fn account(&self, user: &[u8]) -> Option<Account> {
        let user = std::str::from_utf8(user).ok()?;
        let (plugin, password) = self.options.accounts.get(user)?;
        let mut account = Account::new(*plugin, password.clone());
        account.cached = self.lock().seen.contains(user);
        Some(account)
    }

    pub(super) fn logged_in(&self, user: &[u8]) {
        let user = String::from_utf8_lossy(user).into_owned();
        let mut state = self.lock();
        state.stats.logins += 1;
        state.seen.insert(user);
        self.changed.notify_all();
    }

    pub(super) fn forget_passwords(&self) {
        self.lock().seen.clear();
    }

    pub(super) fn count_statements(&self, by: isize) {
        let mut state = self.lock();
        state.stats.statements = state.stats.statements.saturating_add_signed(by);
        self.changed.notify_all();
    }

    pub(super) fn client(&self, id: u32) -> Option<Arc<Control>> {
        self.lock().clients.get(&id).cloned()
    }

    pub(super) fn add(&self, rule: Rule) {
        self.lock().rules.push(rule);
    }

    pub(super) fn clear_rules(&self) {
        self.lock().rules.clear();
    }

    pub(super) fn stats(&self) -> Stats {
        self.lock().stats.clone()
    }

    /// The counts that were reached, or those of the deadline.
    pub(super) fn wait_until(
        &self,
        within: Duration,
        reached: impl Fn(&Stats) -> bool,
    ) -> Result<Stats, Stats> {
        let end = Instant::now() + within;
        let mut state = self.lock();
        loop {
            if reached(&state.stats) {
                return Ok(state.stats.clone());
            }
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                return Err(state.stats.clone());
            };
            state = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Closes all clients, and says how many.
    pub(super) fn close_all(&self) -> usize {
        let state = self.lock();
        for client in state.clients.values() {
            client.close();
        }
        state.clients.len()
    }

    /// Nobody comes in any more, and all go.
    pub(super) fn end(&self) {
        self.lock().closing = true;
        self.close_all();
    }

    pub(super) fn is_ending(&self) -> bool {
        self.lock().closing
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
