//! What the server knows of one client.

use std::collections::BTreeSet;
use std::time::Instant;

use arknet_proto::redis::server::Version;

use super::store::{End, Key};

/// Bytes that a transaction may queue; a client that goes on is told so.
pub(super) const MAX_QUEUED_BYTES: usize = 64 * 1024 * 1024;

/// The state of a connection, as commands leave it behind.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: u64,
    /// Where the client connected from, and to.
    pub(super) addr: String,
    pub(super) local: String,
    pub(super) since: Instant,
    pub(super) active: Instant,
    pub(super) version: Version,
    pub(super) database: usize,
    /// None before authentication, where it is demanded.
    pub(super) user: Option<String>,
    pub(super) name: String,
    pub(super) library: [String; 2],
    pub(super) queue: Option<Queue>,
    pub(super) channels: BTreeSet<Vec<u8>>,
    pub(super) patterns: BTreeSet<Vec<u8>>,
    pub(super) shards: BTreeSet<Vec<u8>>,
    pub(super) replies: Replies,
    pub(super) tracking: bool,
    pub(super) blocked: Option<Blocked>,
    /// The connection is closed when what was written has left.
    pub(super) closing: bool,
    pub(super) last_command: String,
}

/// Whether replies are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Replies {
    #[default]
    On,
    Off,
    /// The reply of the next command is not written.
    SkipNext,
}

/// Commands between MULTI and EXEC.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) commands: Vec<Vec<Vec<u8>>>,
    pub(super) bytes: usize,
    /// One of them was refused, so that EXEC will be.
    pub(super) failed: bool,
}

/// A command that waits for a list to get elements.
#[derive(Debug)]
pub(super) struct Blocked {
    pub(super) database: usize,
    pub(super) keys: Vec<Key>,
    pub(super) end: End,
    /// None waits for ever.
    pub(super) until: Option<Instant>,
    /// The order in which clients began to wait.
    pub(super) turn: u64,
}

impl Session {
    pub(super) fn new(id: u64, now: Instant, addr: String, local: String) -> Self {
        Self {
            id,
            addr,
            local,
            since: now,
            active: now,
            version: Version::Resp2,
            database: 0,
            user: None,
            name: String::new(),
            library: [String::new(), String::new()],
            queue: None,
            channels: BTreeSet::new(),
            patterns: BTreeSet::new(),
            shards: BTreeSet::new(),
            replies: Replies::On,
            tracking: false,
            blocked: None,
            closing: false,
            last_command: String::new(),
        }
    }

    pub(super) fn subscriptions(&self) -> usize {
        self.channels.len() + self.patterns.len() + self.shards.len()
    }

    /// Whether only commands about subscriptions are allowed.
    pub(super) fn is_subscriber_only(&self) -> bool {
        self.version == Version::Resp2 && self.subscriptions() > 0
    }

    /// The letters of CLIENT LIST.
    fn flags(&self, watch_broken: bool) -> String {
        let letters = [
            (self.subscriptions() > 0, 'P'),
            (self.queue.is_some(), 'x'),
            (self.blocked.is_some(), 'b'),
            (self.tracking, 't'),
            (watch_broken, 'd'),
        ];
        let flags: String = letters
            .iter()
            .filter(|(set, _)| *set)
            .map(|(_, letter)| letter)
            .collect();
        if flags.is_empty() {
            "N".to_owned()
        } else {
            flags
        }
    }

    /// The line of CLIENT LIST, without its end.
    pub(super) fn line(&self, now: Instant, watched: usize, watch_broken: bool) -> String {
        let seconds = |since: Instant| now.saturating_duration_since(since).as_secs();
        let multi = match &self.queue {
            Some(queue) => i64::try_from(queue.commands.len()).unwrap_or(i64::MAX),
            None => -1,
        };
        let resp = match self.version {
            Version::Resp2 => 2,
            Version::Resp3 => 3,
        };
        let [library, library_version] = &self.library;
        format!(
            "id={} addr={} laddr={} fd=0 name={} age={} idle={} flags={} db={} sub={} psub={} ssub={} \
             multi={multi} watch={watched} qbuf=0 events=r cmd={} user={} redir=-1 resp={resp} \
             lib-name={library} lib-ver={library_version}",
            self.id,
            self.addr,
            self.local,
            self.name,
            seconds(self.since),
            seconds(self.active),
            self.flags(watch_broken),
            self.database,
            self.channels.len(),
            self.patterns.len(),
            self.shards.len(),
            if self.last_command.is_empty() {
                "NULL"
            } else {
                &self.last_command
            },
            self.user.as_deref().unwrap_or("(none)"),
        )
    }
}
