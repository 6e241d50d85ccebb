//! Which command does what, as far as Redis 8 and Valkey 9 know commands.

use super::Effects;

const SETS_SESSION: Effects = Effects::DIRTIES_SESSION.union(Effects::EXCLUSIVE);
const SUBSCRIPTION: Effects = SETS_SESSION.union(Effects::SUBSCRIBES);
const ENDS_TRANSACTION: Effects = Effects::CLOSES_TRANSACTION.union(Effects::EXCLUSIVE);

/// Longer names are not looked up: no command has one.
const LONGEST_NAME: usize = 32;

/// The effects of the command or subcommand of this name.
pub(super) fn look_up(name: &str) -> Effects {
    let mut upper = [0; LONGEST_NAME];
    let Some(upper) = upper.get_mut(..name.len()) else {
        return Effects::DIRTIES_SESSION;
    };
    upper.copy_from_slice(name.as_bytes());
    upper.make_ascii_uppercase();
    let whole = find(upper);
    // The subcommands that are not named are as their command is.
    let container = || find(upper.split(|byte| *byte == b' ').next().unwrap_or_default());
    whole.or_else(container).unwrap_or(Effects::DIRTIES_SESSION)
}

fn find(upper: &[u8]) -> Option<Effects> {
    if CLEAN
        .binary_search_by(|name| name.as_bytes().cmp(upper))
        .is_ok()
    {
        return Some(Effects::NONE);
    }
    let found = OTHERS.binary_search_by(|(name, _)| name.as_bytes().cmp(upper));
    let (_, effects) = OTHERS.get(found.ok()?)?;
    Some(*effects)
}

/// What leaves the session as it was, in alphabetical order.
const CLEAN: &[&str] = &[
    "ACL",
    "APPEND",
    "BGREWRITEAOF",
    "BGSAVE",
    "BITCOUNT",
    "BITFIELD",
    "BITFIELD_RO",
    "BITOP",
    "BITPOS",
    "CLIENT GETNAME",
    "CLIENT GETREDIR",
    "CLIENT HELP",
    "CLIENT ID",
    "CLIENT INFO",
    "CLIENT KILL",
    "CLIENT LIST",
    "CLIENT PAUSE",
    "CLIENT TRACKINGINFO",
    "CLIENT UNBLOCK",
    "CLIENT UNPAUSE",
    "CLUSTER",
    "COMMAND",
    "CONFIG",
    "COPY",
    "DBSIZE",
    "DECR",
    "DECRBY",
    "DEL",
    "DUMP",
    "ECHO",
    "EVAL",
    "EVALSHA",
    "EVALSHA_RO",
    "EVAL_RO",
    "EXISTS",
    "EXPIRE",
    "EXPIREAT",
    "EXPIRETIME",
    "FCALL",
    "FCALL_RO",
    "FLUSHALL",
    "FLUSHDB",
    "FUNCTION",
    "GEOADD",
    "GEODIST",
    "GEOHASH",
    "GEOPOS",
    "GEORADIUS",
    "GEORADIUSBYMEMBER",
    "GEORADIUSBYMEMBER_RO",
    "GEORADIUS_RO",
    "GEOSEARCH",
    "GEOSEARCHSTORE",
    "GET",
    "GETBIT",
    "GETDEL",
    "GETEX",
    "GETRANGE",
    "GETSET",
    "HDEL",
    "HEXISTS",
    "HEXPIRE",
    "HEXPIREAT",
    "HEXPIRETIME",
    "HGET",
    "HGETALL",
    "HGETDEL",
    "HGETEX",
    "HINCRBY",
    "HINCRBYFLOAT",
    "HKEYS",
    "HLEN",
    "HMGET",
    "HMSET",
    "HPERSIST",
    "HPEXPIRE",
    "HPEXPIREAT",
    "HPEXPIRETIME",
    "HPTTL",
    "HRANDFIELD",
    "HSCAN",
    "HSET",
    "HSETEX",
    "HSETNX",
    "HSTRLEN",
    "HTTL",
    "HVALS",
    "INCR",
    "INCRBY",
    "INCRBYFLOAT",
    "INFO",
    "KEYS",
    "LASTSAVE",
    "LATENCY",
    "LCS",
    "LINDEX",
    "LINSERT",
    "LLEN",
    "LMOVE",
    "LMPOP",
    "LOLWUT",
    "LPOP",
    "LPOS",
    "LPUSH",
    "LPUSHX",
    "LRANGE",
    "LREM",
    "LSET",
    "LTRIM",
    "MEMORY",
    "MGET",
    "MOVE",
    "MSET",
    "MSETNX",
    "OBJECT",
    "PERSIST",
    "PEXPIRE",
    "PEXPIREAT",
    "PEXPIRETIME",
    "PFADD",
    "PFCOUNT",
    "PFMERGE",
    "PING",
    "PSETEX",
    "PTTL",
    "PUBLISH",
    "PUBSUB",
    "RANDOMKEY",
    "RENAME",
    "RENAMENX",
    "RESTORE",
    "ROLE",
    "RPOP",
    "RPOPLPUSH",
    "RPUSH",
    "RPUSHX",
    "SADD",
    "SAVE",
    "SCAN",
    "SCARD",
    "SCRIPT",
    "SDIFF",
    "SDIFFSTORE",
    "SET",
    "SETBIT",
    "SETEX",
    "SETNX",
    "SETRANGE",
    "SINTER",
    "SINTERCARD",
    "SINTERSTORE",
    "SISMEMBER",
    "SLOWLOG",
    "SMEMBERS",
    "SMISMEMBER",
    "SMOVE",
    "SORT",
    "SORT_RO",
    "SPOP",
    "SPUBLISH",
    "SRANDMEMBER",
    "SREM",
    "SSCAN",
    "STRLEN",
    "SUBSTR",
    "SUNION",
    "SUNIONSTORE",
    "SWAPDB",
    "TIME",
    "TOUCH",
    "TTL",
    "TYPE",
    "UNLINK",
    "XACK",
    "XACKDEL",
    "XADD",
    "XAUTOCLAIM",
    "XCLAIM",
    "XDEL",
    "XDELEX",
    "XGROUP",
    "XINFO",
    "XLEN",
    "XPENDING",
    "XRANGE",
    "XREVRANGE",
    "XSETID",
    "XTRIM",
    "ZADD",
    "ZCARD",
    "ZCOUNT",
    "ZDIFF",
    "ZDIFFSTORE",
    "ZINCRBY",
    "ZINTER",
    "ZINTERCARD",
    "ZINTERSTORE",
    "ZLEXCOUNT",
    "ZMPOP",
    "ZMSCORE",
    "ZPOPMAX",
    "ZPOPMIN",
    "ZRANDMEMBER",
    "ZRANGE",
    "ZRANGEBYLEX",
    "ZRANGEBYSCORE",
    "ZRANGESTORE",
    "ZRANK",
    "ZREM",
    "ZREMRANGEBYLEX",
    "ZREMRANGEBYRANK",
    "ZREMRANGEBYSCORE",
    "ZREVRANGE",
    "ZREVRANGEBYLEX",
    "ZREVRANGEBYSCORE",
    "ZREVRANK",
    "ZSCAN",
    "ZSCORE",
    "ZUNION",
    "ZUNIONSTORE",
];

/// Everything else that is known, in alphabetical order.
const OTHERS: &[(&str, Effects)] = &[
    ("ASKING", SETS_SESSION),
    ("AUTH", SETS_SESSION),
    ("BLMOVE", Effects::BLOCKING),
    ("BLMPOP", Effects::BLOCKING),
    ("BLPOP", Effects::BLOCKING),
    ("BRPOP", Effects::BLOCKING),
    ("BRPOPLPUSH", Effects::BLOCKING),
    ("BZMPOP", Effects::BLOCKING),
    ("BZPOPMAX", Effects::BLOCKING),
    ("BZPOPMIN", Effects::BLOCKING),
    // Its subcommands set names, modes and tracking, all but those in the list above.
    ("CLIENT", SETS_SESSION),
    ("CLIENT REPLY", SETS_SESSION.union(Effects::NO_REPLY)),
    ("DEBUG", Effects::DIRTIES_SESSION.union(Effects::BLOCKING)),
    ("DISCARD", ENDS_TRANSACTION),
    ("EXEC", ENDS_TRANSACTION),
    ("HELLO", SETS_SESSION),
    ("MONITOR", SETS_SESSION),
    (
        "MULTI",
        Effects::OPENS_TRANSACTION.union(Effects::EXCLUSIVE),
    ),
    ("PSUBSCRIBE", SUBSCRIPTION),
    ("PSYNC", SETS_SESSION),
    ("PUNSUBSCRIBE", SUBSCRIPTION),
    ("QUIT", SETS_SESSION),
    ("READONLY", SETS_SESSION),
    ("READWRITE", SETS_SESSION),
    ("REPLCONF", SETS_SESSION),
    ("RESET", SETS_SESSION),
    ("SCRIPT DEBUG", SETS_SESSION),
    ("SELECT", SETS_SESSION),
    ("SHUTDOWN", SETS_SESSION),
    ("SSUBSCRIBE", SUBSCRIPTION),
    ("SUBSCRIBE", SUBSCRIPTION),
    ("SUNSUBSCRIBE", SUBSCRIPTION),
    ("SYNC", SETS_SESSION),
    ("UNSUBSCRIBE", SUBSCRIPTION),
    ("UNWATCH", Effects::UNWATCHES.union(Effects::EXCLUSIVE)),
    ("WAIT", Effects::BLOCKING),
    ("WAITAOF", Effects::BLOCKING),
    ("WATCH", Effects::WATCHES.union(Effects::EXCLUSIVE)),
    // With BLOCK, which a command that has been built is asked for.
    ("XREAD", Effects::BLOCKING),
    ("XREADGROUP", Effects::BLOCKING),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lists_are_in_order_and_apart() {
        assert!(CLEAN.is_sorted_by(|a, b| a < b));
        assert!(OTHERS.is_sorted_by(|(a, _), (b, _)| a < b));
        for (name, _) in OTHERS {
            assert!(!CLEAN.contains(name), "{name}");
        }
    }

    #[test]
    fn no_name_is_too_long_to_be_found() {
        let others = OTHERS.iter().map(|(name, _)| name);
        assert!(
            CLEAN
                .iter()
                .chain(others)
                .all(|name| name.len() <= LONGEST_NAME)
        );
    }

    #[test]
    fn names_are_found_in_any_case() {
        assert_eq!(look_up("get"), Effects::NONE);
        assert_eq!(look_up("Select"), SETS_SESSION);
        assert_eq!(look_up("client info"), Effects::NONE);
        assert_eq!(look_up("client setname"), SETS_SESSION);
        assert_eq!(look_up("config get"), Effects::NONE);
        assert_eq!(look_up("script debug"), SETS_SESSION);
        assert_eq!(look_up("script load"), Effects::NONE);
    }

    #[test]
    fn what_nobody_knows_dirties_the_session() {
        for name in ["FT.SEARCH", "", "GETT", "G", &"X".repeat(1_000)] {
            assert_eq!(look_up(name), Effects::DIRTIES_SESSION, "{name}");
        }
    }
}
