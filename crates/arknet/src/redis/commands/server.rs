//! The server itself, and this connection with it.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arknet_proto::redis::{Command as Encoded, DecodeError, Effects, FromReply, Reply, ToArg};

use crate::redis::{Command, LeaseCommand};

const SESSION: Effects = Effects::DIRTIES_SESSION.union(Effects::EXCLUSIVE);

/// The name of the user that the connection is logged in as. `ACL WHOAMI`, O(1).
pub fn acl_whoami() -> Command<String> {
    Command::clean("ACL WHOAMI")
}

/// Logs in as another user, for as long as the lease lasts. `AUTH`, O(n).
pub fn auth(user: impl ToArg, password: impl ToArg) -> LeaseCommand<()> {
    Command::with_effects("AUTH", SESSION)
        .arg(user)
        .arg(password)
        .into()
}

/// Rewrites the log of commands in the background. `BGREWRITEAOF`, O(1).
pub fn bgrewriteaof() -> Command<()> {
    Command::clean("BGREWRITEAOF")
}

/// Saves everything to disk in the background. `BGSAVE`, O(1).
pub fn bgsave() -> Command<()> {
    Command::clean("BGSAVE")
}

/// The name of this connection, or null. `CLIENT GETNAME`, O(1).
pub fn client_getname() -> Command<Option<String>> {
    Command::clean("CLIENT GETNAME")
}

/// The number of this connection. `CLIENT ID`, O(1).
pub fn client_id() -> Command<u64> {
    Command::clean("CLIENT ID")
}

/// What the server knows of this connection, as a line of `name=value`. `CLIENT INFO`, O(1), Redis 6.2.
pub fn client_info() -> Command<String> {
    Command::clean("CLIENT INFO")
}

/// Closes a connection, by its number; whether there was one. `CLIENT KILL`, O(n).
pub fn client_kill(id: u64) -> Command<bool> {
    Command::clean("CLIENT KILL").arg("ID").arg(id)
}

/// What the server knows of all connections, each a line of `name=value`. `CLIENT LIST`, O(n).
pub fn client_list() -> Command<String> {
    Command::clean("CLIENT LIST")
}

/// Whether the values that this connection uses are kept when memory is short. `CLIENT NO-EVICT`, O(1),
/// Redis 7.
pub fn client_no_evict(is_kept: bool) -> LeaseCommand<()> {
    let command = Command::with_effects("CLIENT NO-EVICT", SESSION);
    command.arg(switch(is_kept)).into()
}

/// Has the server carry out nothing for so long, or no writes. `CLIENT PAUSE`, O(1).
pub fn client_pause(pause: Duration, only_writes: bool) -> Command<()> {
    let which = if only_writes { "WRITE" } else { "ALL" };
    Command::clean("CLIENT PAUSE")
        .arg(pause.as_millis())
        .arg(which)
}

/// Gives this connection a name, for as long as the lease lasts. `CLIENT SETNAME`, O(1).
pub fn client_setname(name: impl ToArg) -> LeaseCommand<()> {
    Command::with_effects("CLIENT SETNAME", SESSION)
        .arg(name)
        .into()
}

/// Has another connection's blocking command end, as if its time were over; whether there was one. `CLIENT
/// UNBLOCK`, O(log n).
pub fn client_unblock(id: u64) -> Command<bool> {
    Command::clean("CLIENT UNBLOCK").arg(id)
}

/// Ends a [`client_pause`]. `CLIENT UNPAUSE`, O(n), Redis 6.2.
pub fn client_unpause() -> Command<()> {
    Command::clean("CLIENT UNPAUSE")
}

/// How many commands the server knows. `COMMAND COUNT`, O(1).
pub fn command_count() -> Command<u64> {
    Command::clean("COMMAND COUNT")
}

/// The configuration, as far as its names match patterns. `CONFIG GET`, O(n).
pub fn config_get(patterns: impl ToArg) -> Command<HashMap<String, String>> {
    Command::clean("CONFIG GET").arg(patterns)
}

/// Sets all statistics to zero. `CONFIG RESETSTAT`, O(1).
pub fn config_resetstat() -> Command<()> {
    Command::clean("CONFIG RESETSTAT")
}

/// Writes the configuration to the server's file. `CONFIG REWRITE`, O(1).
pub fn config_rewrite() -> Command<()> {
    Command::clean("CONFIG REWRITE")
}

/// Changes the configuration: names with values. `CONFIG SET`, O(n).
pub fn config_set(pairs: impl ToArg) -> Command<()> {
    Command::clean("CONFIG SET").arg(pairs)
}

/// How many keys there are in this database. `DBSIZE`, O(1).
pub fn dbsize() -> Command<u64> {
    Command::clean("DBSIZE")
}

/// The same as was sent. `ECHO`, O(1).
pub fn echo<T: FromReply>(message: impl ToArg) -> Command<T> {
    Command::clean("ECHO").arg(message)
}

/// Deletes everything in all databases. `FLUSHALL`, O(n).
pub fn flushall(flush: Flush) -> Command<()> {
    Command::clean("FLUSHALL").arg(flush)
}

/// Deletes everything in this database. `FLUSHDB`, O(n).
pub fn flushdb(flush: Flush) -> Command<()> {
    Command::clean("FLUSHDB").arg(flush)
}

/// What the server says of itself, in one section, such as `memory`, or in all. `INFO`, O(1).
pub fn info(section: Option<&str>) -> Command<Info> {
    Command::clean("INFO").arg(section)
}

/// When everything was last saved to disk. `LASTSAVE`, O(1).
pub fn lastsave() -> Command<ServerTime> {
    Command::clean("LASTSAVE")
}

/// Bytes that a key and its value take, or null. `MEMORY USAGE`, O(n).
pub fn memory_usage(key: impl ToArg) -> Command<Option<u64>> {
    Command::clean("MEMORY USAGE").arg(key)
}

/// Whether the server answers. `PING`, O(1).
pub fn ping() -> Command<()> {
    Command::clean("PING")
}

/// What the server is in replication: `master`, `slave` or `sentinel`, and what belongs to it. `ROLE`, O(1).
pub fn role<T: FromReply>() -> Command<T> {
    Command::clean("ROLE")
}

/// Has the connection use another database, for as long as the lease lasts. `SELECT`, O(1).
pub fn select(database: u32) -> LeaseCommand<()> {
    Command::with_effects("SELECT", SESSION)
        .arg(database)
        .into()
}

/// The last slow commands, up to `count`. `SLOWLOG GET`, O(n).
pub fn slowlog_get<T: FromReply>(count: u64) -> Command<Vec<T>> {
    Command::clean("SLOWLOG GET").arg(count)
}

/// How many slow commands are remembered. `SLOWLOG LEN`, O(1).
pub fn slowlog_len() -> Command<u64> {
    Command::clean("SLOWLOG LEN")
}

/// Forgets all slow commands. `SLOWLOG RESET`, O(n).
pub fn slowlog_reset() -> Command<()> {
    Command::clean("SLOWLOG RESET")
}

/// Has two databases change places. `SWAPDB`, O(n).
pub fn swapdb(first: u32, second: u32) -> Command<()> {
    Command::clean("SWAPDB").arg(first).arg(second)
}

/// The server's clock. `TIME`, O(1).
pub fn time() -> Command<ServerTime> {
    Command::clean("TIME")
}

/// Waits until so many replicas have what this connection wrote, and returns how many have; within so long,
/// or with `None` for ever. `WAIT`, O(1).
pub fn wait(replicas: u64, within: Option<Duration>) -> LeaseCommand<u64> {
    let millis = within.map_or(0, super::expiry::millis);
    let command = Command::with_effects("WAIT", Effects::BLOCKING);
    command.arg(replicas).arg(millis).into()
}

fn switch(is_on: bool) -> &'static str {
    if is_on { "ON" } else { "OFF" }
}

/// How everything is deleted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Flush {
    /// At once; the server does nothing else meanwhile.
    #[default]
    Sync,
    /// The memory is freed later, in the background.
    Async,
}

impl ToArg for Flush {
    fn append_to(&self, command: &mut Encoded) {
        match self {
            Self::Sync => "SYNC".append_to(command),
            Self::Async => "ASYNC".append_to(command),
        }
    }
}

/// A time of the server's clock, with microseconds where it gives them.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct ServerTime(pub SystemTime);

impl FromReply for ServerTime {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        let (seconds, micros) = match reply {
            Reply::Array(_) => reply.decode::<(u64, u32)>()?,
            number => (number.decode()?, 0),
        };
        let since = Duration::from_secs(seconds).checked_add(Duration::from_micros(micros.into()));
        let time = since.and_then(|since| UNIX_EPOCH.checked_add(since));
        time.map(Self).ok_or_else(|| reply.unfit("a time"))
    }
}

/// What the server says of itself: values by their names.
#[derive(Clone, PartialEq, Eq)]
pub struct Info {
    text: String,
}

impl Info {
    /// A value, such as that of `used_memory`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter()
            .find(|(found, _)| *found == name)
            .map(|(_, value)| value)
    }

    /// All names and values, in the server's order, without the titles of the sections.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let lines = self.text.lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(|line| line.split_once(':'))
    }

    /// As the server wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl std::fmt::Debug for Info {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl FromReply for Info {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        reply.decode().map(|text| Self { text })
    }
}
