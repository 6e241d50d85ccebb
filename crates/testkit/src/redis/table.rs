//! The commands that the server knows.

use super::call::{Call, Done};
use super::commands::{
    connection, hashes, keys, lists, pubsub, server, sets, strings, transactions,
};

/// A command: its name in lower case, what it asks of its arguments, when it is allowed, what it does.
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) arity: Arity,
    pub(super) writes: bool,
    /// Allowed before authentication.
    pub(super) without_auth: bool,
    /// Allowed on a connection of RESP2 that subscribes.
    pub(super) while_subscribed: bool,
    /// Allowed while the server loads its data.
    pub(super) without_data: bool,
    /// Executed, not queued, between MULTI and EXEC.
    pub(super) while_queueing: bool,
    pub(super) run: fn(&mut Call<'_>) -> Done,
}

/// How many arguments a command takes, its name among them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arity {
    Exactly(usize),
    AtLeast(usize),
}

impl Arity {
    pub(super) fn fits(self, count: usize) -> bool {
        match self {
            Self::Exactly(wanted) => count == wanted,
            Self::AtLeast(least) => count >= least,
        }
    }
}

use Arity::{AtLeast, Exactly};

/// The longest name in the table.
const MAX_NAME: usize = 16;

/// Finds a command by its name in any case.
pub(super) fn find(name: &[u8]) -> Option<&'static Entry> {
    let mut lower = [0_u8; MAX_NAME];
    let lower = lower.get_mut(..name.len())?;
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    let at = TABLE
        .binary_search_by(|entry| entry.name.as_bytes().cmp(lower))
        .ok()?;
    TABLE.get(at)
}

/// How many commands there are.
pub(super) fn len() -> usize {
    TABLE.len()
}

const fn reads(name: &'static str, arity: Arity, run: fn(&mut Call<'_>) -> Done) -> Entry {
    Entry {
        name,
        arity,
        writes: false,
        without_auth: false,
        while_subscribed: false,
        without_data: false,
        while_queueing: false,
        run,
    }
}

const fn writes(name: &'static str, arity: Arity, run: fn(&mut Call<'_>) -> Done) -> Entry {
    Entry {
        writes: true,
        ..reads(name, arity, run)
    }
}

const fn always(name: &'static str, arity: Arity, run: fn(&mut Call<'_>) -> Done) -> Entry {
    Entry {
        without_auth: true,
        without_data: true,
        while_queueing: true,
        ..reads(name, arity, run)
    }
}

const fn subscribes(name: &'static str, arity: Arity, run: fn(&mut Call<'_>) -> Done) -> Entry {
    Entry {
        while_subscribed: true,
        without_data: true,
        ..reads(name, arity, run)
    }
}

/// Needs no key.
const fn serves(name: &'static str, arity: Arity, run: fn(&mut Call<'_>) -> Done) -> Entry {
    Entry {
        without_data: true,
        ..reads(name, arity, run)
    }
}

const fn transacts(name: &'static str, arity: Arity, run: fn(&mut Call<'_>) -> Done) -> Entry {
    Entry {
        without_data: true,
        while_queueing: true,
        ..reads(name, arity, run)
    }
}

/// In the order of their names, for the search.
static TABLE: &[Entry] = &[
    serves("acl", AtLeast(2), connection::acl),
    writes("append", Exactly(3), strings::append),
    Entry {
        while_queueing: false,
        ..always("auth", AtLeast(2), connection::auth)
    },
    writes("blpop", AtLeast(3), lists::blpop),
    writes("brpop", AtLeast(3), lists::brpop),
    serves("client", AtLeast(2), connection::client),
    serves("command", AtLeast(1), server::command),
    serves("config", AtLeast(2), server::config),
    reads("dbsize", Exactly(1), keys::dbsize),
    writes("decr", Exactly(2), strings::decr),
    writes("decrby", Exactly(3), strings::decrby),
    writes("del", AtLeast(2), keys::del),
    transacts("discard", Exactly(1), transactions::discard),
    reads("echo", Exactly(2), connection::echo),
    transacts("exec", Exactly(1), transactions::exec),
    reads("exists", AtLeast(2), keys::exists),
    writes("expire", AtLeast(3), keys::expire),
    writes("expireat", AtLeast(3), keys::expireat),
    reads("expiretime", Exactly(2), keys::expiretime),
    writes("flushall", AtLeast(1), keys::flushall),
    writes("flushdb", AtLeast(1), keys::flushdb),
    reads("get", Exactly(2), strings::get),
    writes("getdel", Exactly(2), strings::getdel),
    writes("getex", AtLeast(2), strings::getex),
    reads("getrange", Exactly(4), strings::getrange),
    writes("getset", Exactly(3), strings::getset),
    writes("hdel", AtLeast(3), hashes::hdel),
    Entry {
        while_queueing: false,
        ..always("hello", AtLeast(1), connection::hello)
    },
    reads("hexists", Exactly(3), hashes::hexists),
    reads("hget", Exactly(3), hashes::hget),
    reads("hgetall", Exactly(2), hashes::hgetall),
    writes("hincrby", Exactly(4), hashes::hincrby),
    reads("hkeys", Exactly(2), hashes::hkeys),
    reads("hlen", Exactly(2), hashes::hlen),
    reads("hmget", AtLeast(3), hashes::hmget),
    writes("hmset", AtLeast(4), hashes::hmset),
    reads("hscan", AtLeast(3), hashes::hscan),
    writes("hset", AtLeast(4), hashes::hset),
    writes("hsetnx", Exactly(4), hashes::hsetnx),
    reads("hstrlen", Exactly(3), hashes::hstrlen),
    reads("hvals", Exactly(2), hashes::hvals),
    writes("incr", Exactly(2), strings::incr),
    writes("incrby", Exactly(3), strings::incrby),
    writes("incrbyfloat", Exactly(3), strings::incrbyfloat),
    serves("info", AtLeast(1), server::info),
    reads("keys", Exactly(2), keys::keys),
    reads("lindex", Exactly(3), lists::lindex),
    reads("llen", Exactly(2), lists::llen),
    writes("lpop", AtLeast(2), lists::lpop),
    writes("lpush", AtLeast(3), lists::lpush),
    writes("lpushx", AtLeast(3), lists::lpushx),
    reads("lrange", Exactly(4), lists::lrange),
    writes("lrem", Exactly(4), lists::lrem),
    writes("lset", Exactly(4), lists::lset),
    writes("ltrim", Exactly(4), lists::ltrim),
    reads("mget", AtLeast(2), strings::mget),
    writes("mset", AtLeast(3), strings::mset),
    writes("msetnx", AtLeast(3), strings::msetnx),
    transacts("multi", Exactly(1), transactions::multi),
    writes("persist", Exactly(2), keys::persist),
    writes("pexpire", AtLeast(3), keys::pexpire),
    writes("pexpireat", AtLeast(3), keys::pexpireat),
    reads("pexpiretime", Exactly(2), keys::pexpiretime),
    // Redis answers that it loads, so that whoever asks for readiness learns it.
    Entry {
        without_data: false,
        ..subscribes("ping", AtLeast(1), connection::ping)
    },
    writes("psetex", Exactly(4), strings::psetex),
    subscribes("psubscribe", AtLeast(2), pubsub::psubscribe),
    reads("pttl", Exactly(2), keys::pttl),
    serves("publish", Exactly(3), pubsub::publish),
    serves("pubsub", AtLeast(2), pubsub::pubsub),
    subscribes("punsubscribe", AtLeast(1), pubsub::punsubscribe),
    Entry {
        while_subscribed: true,
        ..always("quit", AtLeast(1), connection::quit)
    },
    reads("randomkey", Exactly(1), keys::randomkey),
    writes("rename", Exactly(3), keys::rename),
    Entry {
        while_subscribed: true,
        ..always("reset", Exactly(1), connection::reset)
    },
    serves("role", Exactly(1), server::role),
    writes("rpop", AtLeast(2), lists::rpop),
    writes("rpush", AtLeast(3), lists::rpush),
    writes("rpushx", AtLeast(3), lists::rpushx),
    writes("sadd", AtLeast(3), sets::sadd),
    reads("scan", AtLeast(2), keys::scan),
    reads("scard", Exactly(2), sets::scard),
    reads("sdiff", AtLeast(2), sets::sdiff),
    serves("select", Exactly(2), connection::select),
    writes("set", AtLeast(3), strings::set),
    writes("setex", Exactly(4), strings::setex),
    writes("setnx", Exactly(3), strings::setnx),
    writes("setrange", Exactly(4), strings::setrange),
    reads("sinter", AtLeast(2), sets::sinter),
    reads("sismember", Exactly(3), sets::sismember),
    reads("smembers", Exactly(2), sets::smembers),
    reads("smismember", AtLeast(3), sets::smismember),
    writes("spop", AtLeast(2), sets::spop),
    serves("spublish", Exactly(3), pubsub::spublish),
    writes("srem", AtLeast(3), sets::srem),
    reads("sscan", AtLeast(3), sets::sscan),
    subscribes("ssubscribe", AtLeast(2), pubsub::ssubscribe),
    reads("strlen", Exactly(2), strings::strlen),
    subscribes("subscribe", AtLeast(2), pubsub::subscribe),
    reads("sunion", AtLeast(2), sets::sunion),
    subscribes("sunsubscribe", AtLeast(1), pubsub::sunsubscribe),
    serves("time", Exactly(1), server::time),
    reads("touch", AtLeast(2), keys::exists),
    reads("ttl", Exactly(2), keys::ttl),
    reads("type", Exactly(2), keys::kind),
    writes("unlink", AtLeast(2), keys::del),
    subscribes("unsubscribe", AtLeast(1), pubsub::unsubscribe),
    reads("unwatch", Exactly(1), transactions::unwatch),
    transacts("watch", AtLeast(2), transactions::watch),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_every_name_is_found_in_any_case() {
        assert!(TABLE.is_sorted_by(|a, b| a.name < b.name));
        for entry in TABLE {
            let upper = entry.name.to_ascii_uppercase();
            assert_eq!(
                find(upper.as_bytes()).map(|found| found.name),
                Some(entry.name)
            );
        }
        for unknown in [&b"nonsense"[..], b"", &[b'x'; 99]] {
            assert!(find(unknown).is_none());
        }
    }
}
