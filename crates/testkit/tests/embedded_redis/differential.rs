//! The same conversation with Redis and with the embedded server gives the same replies.

use std::net::SocketAddr;

use arknet_testkit::need;
use arknet_testkit::redis::{EmbeddedServer, Options};
use arknet_testkit::servers::redis::{Options as RealOptions, RedisServer};

use crate::talk::{Client, converse};

/// Holds the conversation with both, in RESP2 and then in RESP3.
fn same(lines: &[&str]) {
    let real = need!(RedisServer::start(RealOptions::default()));
    for greeting in [&[][..], &["?|HELLO 3", "b?|HELLO 3"]] {
        let embedded = EmbeddedServer::start(Options::default()).unwrap();
        let lines: Vec<&str> = greeting.iter().chain(lines).copied().collect();
        compare(real.addr(), embedded.addr(), &lines);
        real.cli(&["FLUSHALL"]);
    }
}

/// Holds the conversation with both once, and shows every line on which they differ.
fn compare(real: SocketAddr, embedded: SocketAddr, lines: &[&str]) {
    let (expected, found) = (converse(real, lines), converse(embedded, lines));
    assert_eq!(expected.len(), found.len());
    let differences: Vec<String> = expected
        .iter()
        .zip(&found)
        .filter(|(expected, found)| expected != found)
        .map(|(expected, found)| format!("Redis:    {expected}\nembedded: {found}"))
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn strings() {
    same(&[
        "GET k",
        "SET k v",
        "GET k",
        "SET k w NX",
        "SET k w XX GET",
        "SET n w XX",
        "SET n w NX GET",
        "SET n w XX NX",
        "SET k v EX",
        "SET k v EX 0",
        "SET k v EX -1",
        "SET k v EX x",
        "SET k v PX 100000",
        "TTL k",
        "SET k v KEEPTTL",
        "TTL k",
        "SET k v EX 100 PX 100",
        "SET k v EX 100 KEEPTTL",
        "SET k v",
        "TTL k",
        "SET k v EXAT 33333333333",
        "EXPIRETIME k",
        "PEXPIRETIME k",
        "SET k v PXAT 1",
        "GET k",
        "SET k v GET",
        "SETNX k w",
        "SETNX m w",
        "SETEX k 100 v",
        "SETEX k 0 v",
        "PSETEX k 100000 v",
        "TTL k",
        "GETSET k w",
        "TTL k",
        "GETDEL k",
        "GETDEL k",
        "SET k v",
        "GETEX k EX 100",
        "TTL k",
        "GETEX k PERSIST",
        "TTL k",
        "GETEX k EX 0",
        "GETEX k NONSENSE",
        "MSET a 1 b 2 c ''",
        "MSET a 1 b",
        "MGET a b c d",
        "MSETNX a 1 z 2",
        "EXISTS z",
        "MSETNX y 1 z 2",
        "APPEND k more",
        "STRLEN k",
        "STRLEN none",
        "GETRANGE k 1 3",
        "GETRANGE k -3 -1",
        "GETRANGE k 3 1",
        "GETRANGE none 0 -1",
        "SETRANGE k 2 XY",
        "SETRANGE k 20 Z",
        "GET k",
        "SETRANGE k -1 Z",
        "SETRANGE none 5 ''",
        "EXISTS none",
        "LPUSH l x",
        "GET l",
        "APPEND l x",
        "MGET l k",
        "SET l v GET",
        "TYPE l",
    ]);
}

#[test]
fn counters() {
    same(&[
        "INCR n",
        "INCRBY n 10",
        "DECR n",
        "DECRBY n 100",
        "GET n",
        "INCRBY n x",
        "SET n 9223372036854775807",
        "INCR n",
        "DECRBY n -1",
        "DECRBY n -9223372036854775808",
        "SET n x",
        "INCR n",
        "SET n ' 1'",
        "INCR n",
        "SET n 01",
        "INCR n",
        "SET n -9223372036854775808",
        "DECR n",
        "SET n 1 EX 100",
        "INCR n",
        "TTL n",
        "SET f 10.5",
        "INCRBYFLOAT f 0.1",
        "INCRBYFLOAT f -5",
        "INCRBYFLOAT f x",
        "SET f x",
        "INCRBYFLOAT f 1",
    ]);
}

#[test]
fn keys_and_their_expiry() {
    same(&[
        "DEL k",
        "MSET a 1 b 2 c 3",
        "EXISTS a b a d",
        "DEL a d",
        "UNLINK b",
        "TOUCH c d",
        "TYPE c",
        "TYPE d",
        "EXPIRE d 100",
        "EXPIRE c 100",
        "EXPIRE c 50 GT",
        "EXPIRE c 50 LT",
        "TTL c",
        "EXPIRE c 60 NX",
        "EXPIRE c 60 XX",
        "EXPIRE c 60 NX XX",
        "EXPIRE c 60 GT LT",
        "EXPIRE c 60 NONSENSE",
        "EXPIRE c x",
        "EXPIRE c 9223372036854775807",
        "PERSIST c",
        "PERSIST c",
        "TTL c",
        "TTL d",
        "PTTL c",
        "EXPIRE c 60 GT",
        "EXPIRE c 60 LT",
        "EXPIREAT c 33333333333",
        "EXPIRETIME c",
        "PEXPIREAT c 33333333333333",
        "PEXPIRETIME c",
        "EXPIRETIME d",
        "PEXPIRE c -1",
        "EXISTS c",
        "SET c v",
        "EXPIREAT c 1",
        "EXISTS c",
        "RENAME c d",
        "SET c v EX 100",
        "RENAME c d",
        "TTL d",
        "EXISTS c",
        "RENAME d d",
        "GET d",
        "DBSIZE",
        "SELECT 1",
        "DBSIZE",
        "SELECT 0",
        "~|KEYS *",
        "MSET key:1 a key:2 b other c",
        "~|KEYS key:?",
        "~|KEYS 'key:[^1]'",
        "SCAN 0 MATCH key:1 COUNT 1000",
        "SCAN 0 COUNT 0",
        "SCAN x",
        "SCAN 0 NONSENSE 1",
        "SADD s m",
        "SCAN 0 COUNT 1000 TYPE set",
        "FLUSHDB NONSENSE",
        "FLUSHDB",
        "DBSIZE",
        "RANDOMKEY",
        "SET only v",
        "RANDOMKEY",
        "FLUSHALL ASYNC",
        "EXISTS only",
    ]);
}

#[test]
fn hashes() {
    same(&[
        "HGET h f",
        "HGETALL h",
        "HSET h f v",
        "HSET h f w g x",
        "HSET h f",
        "HSET h f v g",
        "HGET h f",
        "HGET h none",
        "~|HGETALL h",
        "HMSET h a 1 b 2",
        "HMGET h a none b",
        "HMGET none a b",
        "HSETNX h a 9",
        "HSETNX h c 3",
        "HLEN h",
        "HLEN none",
        "HEXISTS h a",
        "HEXISTS h none",
        "HSTRLEN h g",
        "~|HKEYS h",
        "~|HVALS h",
        "HINCRBY h a 41",
        "HINCRBY h f 1",
        "HINCRBY h a x",
        "HINCRBY h a 9223372036854775807",
        "HINCRBY h new -5",
        "HDEL h f g none",
        "HSCAN none 0",
        "HSCAN h 0 MATCH a",
        "HSCAN h x",
        "HDEL h a b c new",
        "EXISTS h",
        "SET s v",
        "HSET s f v",
        "HGETALL s",
    ]);
}

#[test]
fn lists() {
    same(&[
        "LPUSH l b a",
        "RPUSH l c d",
        "LPUSHX none x",
        "RPUSHX l e",
        "LRANGE l 0 -1",
        "LRANGE l 1 2",
        "LRANGE l 5 9",
        "LRANGE none 0 -1",
        "LLEN l",
        "LINDEX l 0",
        "LINDEX l -1",
        "LINDEX l 9",
        "LSET l 0 A",
        "LSET l 9 A",
        "LSET none 0 A",
        "LPOP l",
        "RPOP l",
        "LPOP l 2",
        "LPOP l 0",
        "LPOP none",
        "LPOP none 2",
        "LPOP l -1",
        "LPOP l 1 2",
        "RPUSH r x y x y x",
        "LREM r 2 x",
        "LRANGE r 0 -1",
        "LREM r -1 y",
        "LREM r 0 none",
        "LRANGE r 0 -1",
        "LREM r 0 y",
        "LREM r 0 x",
        "EXISTS r",
        "RPUSH t 1 2 3 4",
        "LTRIM t 1 2",
        "LRANGE t 0 -1",
        "LTRIM t 5 9",
        "EXISTS t",
        "RPUSH p 1 2 3",
        "BLPOP none p 1",
        "BRPOP p 0",
        "BLPOP p -1",
        "BLPOP p x",
        "BLPOP none 0.01",
        "BRPOP none 0.01",
        "SET s v",
        "LPUSH s x",
        "LRANGE s 0 -1",
        "BLPOP s 0",
    ]);
}

#[test]
fn waiting_for_lists() {
    same(&[
        "PING ; BLPOP one two 0",
        "b|RPUSH two x y",
        "=|",
        "b|LRANGE two 0 -1",
        // Two who wait get the elements in the order in which they came.
        "c|PING ; BLPOP q 0",
        "PING ; BLPOP q 0",
        "b|RPUSH q 1 2 3",
        "c=|",
        "=|",
        "b|LRANGE q 0 -1",
        // A transaction is over before anybody is served.
        "PING ; BLPOP m 0",
        "b|MULTI",
        "b|RPUSH m 1",
        "b|LPUSH m 0",
        "b|BLPOP none 0",
        "b|EXEC",
        "=|",
        // A key of another type does not wake, a key that becomes a list does.
        "PING ; BLPOP k 0",
        "b|SET k v",
        "b|DEL k",
        "b|LPUSH k x",
        "=|",
    ]);
}

#[test]
fn sets() {
    same(&[
        "SADD s a b c a",
        "SADD s a",
        "SCARD s",
        "SCARD none",
        "~|SMEMBERS s",
        "SMEMBERS none",
        "SISMEMBER s a",
        "SISMEMBER s x",
        "SMISMEMBER s a x b",
        "SREM s a x",
        "SADD t c d",
        "~|SINTER s t",
        "~|SUNION s t",
        "~|SDIFF s t",
        "SINTER s none",
        "~|SUNION s none",
        "SSCAN none 0",
        "SSCAN s 0 MATCH b",
        "SPOP none",
        "SPOP none 2",
        "~|SPOP s 5",
        "EXISTS s",
        "SPOP t -1",
        "SET k v",
        "SADD k m",
        "SINTER t k",
    ]);
}

#[test]
fn transactions() {
    same(&[
        "EXEC",
        "DISCARD",
        "MULTI",
        "MULTI",
        "SET k 1",
        "INCR k",
        "LPUSH k x",
        "GET k",
        "EXEC",
        "MULTI",
        "EXEC",
        "MULTI",
        "SET k",
        "GET k",
        "EXEC",
        "MULTI",
        "NONSENSE",
        "EXEC",
        "GET k",
        "MULTI",
        "SET k 9",
        "DISCARD",
        "GET k",
        "WATCH k",
        "b|SET k 3",
        "MULTI",
        "GET k",
        "EXEC",
        "WATCH k",
        "b|SET other 3",
        "MULTI",
        "GET k",
        "EXEC",
        "WATCH k",
        "b|SET k 4",
        "UNWATCH",
        "MULTI",
        "GET k",
        "EXEC",
        "WATCH k",
        "SET k 5",
        "MULTI",
        "EXEC",
        // Another database's key of that name is another key.
        "WATCH k",
        "b|SELECT 2",
        "b|SET k x",
        "MULTI",
        "GET k",
        "EXEC",
        "MULTI",
        "WATCH k",
        "EXEC",
        "MULTI",
        "SELECT 2",
        "GET k",
        "DISCARD",
        "GET k",
        "MULTI",
        "SELECT 2",
        "GET k",
        "EXEC",
        "GET k",
        // A watched key that is made and removed again has changed.
        "WATCH fresh",
        "b|SET fresh x",
        "b|DEL fresh",
        "MULTI",
        "EXEC",
        "WATCH fresh",
        "b|DEL fresh",
        "MULTI",
        "EXEC",
    ]);
}

#[test]
fn messages() {
    same(&[
        "2|SUBSCRIBE one two",
        "2|PSUBSCRIBE t* 'o?e'",
        "SSUBSCRIBE shard",
        "b|PUBLISH one hello",
        "2=|",
        "b|PUBLISH two ''",
        "2=|",
        "b|PUBLISH none x",
        "b|SPUBLISH shard deep",
        "=|",
        "b|PUBLISH shard x",
        "b~|PUBSUB CHANNELS",
        "b|PUBSUB CHANNELS 'on*'",
        "b|PUBSUB NUMSUB one none",
        "b|PUBSUB NUMPAT",
        "b|PUBSUB SHARDCHANNELS",
        "b|PUBSUB SHARDNUMSUB shard",
        "b|PUBSUB NONSENSE",
        "PING",
        "PING hello",
        "SUBSCRIBE one",
        "UNSUBSCRIBE two",
        "UNSUBSCRIBE none",
        "UNSUBSCRIBE",
        "UNSUBSCRIBE",
        "2|PUNSUBSCRIBE 't*' 'o?e'",
        "PUNSUBSCRIBE",
        "SUNSUBSCRIBE shard",
        "SUNSUBSCRIBE",
        "PING",
        "b|PUBLISH one x",
        "SUBSCRIBE last",
        "RESET",
        "PING",
        "b|PUBLISH last x",
    ]);
}

#[test]
fn only_subscription_commands_while_subscribed_in_resp2() {
    let lines = &[
        "SUBSCRIBE one",
        "GET k",
        "SET k v",
        "MULTI",
        "b|PUBLISH one x",
        "=|",
        "QUIT",
    ];
    same(lines);
}

#[test]
fn a_publisher_hears_its_own_message_before_its_reply() {
    let real = need!(RedisServer::start(RealOptions::default()));
    let embedded = EmbeddedServer::start(Options::default()).unwrap();
    let lines = &["?|HELLO 3", "SUBSCRIBE c", "2|PUBLISH c x"];
    compare(real.addr(), embedded.addr(), lines);
}

#[test]
fn connections() {
    same(&[
        "PING",
        "PING hello",
        "PING a b",
        "ECHO hello",
        "ECHO",
        "SELECT 3",
        "SET k three",
        "SELECT 99",
        "SELECT x",
        "SELECT -1",
        "GET k",
        "RESET",
        "GET k",
        "AUTH pass",
        "AUTH default anything",
        "AUTH nobody pass",
        "AUTH a b c",
        "HELLO 4",
        "HELLO x",
        "HELLO 2 NONSENSE",
        "HELLO 2 SETNAME 'a b'",
        "HELLO 2 AUTH nobody pass",
        "CLIENT GETNAME",
        "CLIENT SETNAME me",
        "CLIENT GETNAME",
        "CLIENT SETNAME 'a b'",
        "CLIENT SETNAME ''",
        "CLIENT GETNAME",
        "CLIENT NONSENSE",
        "CLIENT ID x",
        "CLIENT REPLY NONSENSE",
        "0|CLIENT REPLY SKIP",
        "0|SET skipped v",
        "GET skipped",
        "0|CLIENT REPLY OFF",
        "0|SET silent v",
        "CLIENT REPLY ON",
        "GET silent",
        "CLIENT NO-EVICT ON",
        "CLIENT KILL ID 0",
        "CLIENT KILL 127.0.0.1:1",
        "CLIENT KILL NONSENSE x",
        "CLIENT KILL TYPE nonsense",
        "CLIENT KILL TYPE pubsub",
        "CLIENT LIST NONSENSE",
        "CLIENT LIST TYPE nonsense",
        "CLIENT LIST ID x",
        "CLIENT UNBLOCK 999999",
        "CLIENT UNBLOCK x",
        "CLIENT UNBLOCK 1 NONSENSE",
        "ACL WHOAMI",
        "ROLE",
        "NONSENSE",
        "NONSENSE with 'some arguments' ''",
        "GET",
        "GET a b",
        "QUIT",
    ]);
}

#[test]
fn authentication() {
    let real = need!(RedisServer::start(
        RealOptions::default()
            .password("secret")
            .user("app", "pass")
    ));
    let embedded =
        EmbeddedServer::start(Options::default().password("secret").user("app", "pass")).unwrap();
    let lines = &[
        "PING",
        "NONSENSE",
        "GET",
        "HELLO 3",
        "HELLO 3 AUTH app wrong",
        "AUTH wrong",
        "AUTH app wrong",
        "PING",
        "?|HELLO 3 AUTH app pass SETNAME me",
        "ACL WHOAMI",
        "CLIENT GETNAME",
        "AUTH secret",
        "ACL WHOAMI",
        "AUTH app wrong",
        "ACL WHOAMI",
        "RESET",
        "PING",
        "AUTH default secret",
        "PING",
    ];
    compare(real.addr(), embedded.addr(), lines);
}

#[test]
fn broken_requests() {
    let real = need!(RedisServer::start(RealOptions::default()));
    let embedded = EmbeddedServer::start(Options::default()).unwrap();
    for bytes in [
        &b"*x\r\n"[..],
        b"*1\r\n:1\r\n",
        b"*1\r\n$-1\r\n",
        b"*1\r\n$x\r\n",
        b"PING\r\n*3000000000\r\n",
        b"GET \"k\r\n",
        b"*0\r\n\r\n*1\r\n$4\r\nPING\r\n*x\r\n",
    ] {
        let answer = |addr| {
            let mut client = Client::connect(addr);
            client.send(bytes);
            client.rest()
        };
        assert_eq!(
            answer(real.addr()),
            answer(embedded.addr()),
            "{}",
            bytes.escape_ascii()
        );
    }
}

#[test]
fn inline_requests() {
    let real = need!(RedisServer::start(RealOptions::default()));
    let embedded = EmbeddedServer::start(Options::default()).unwrap();
    let answer = |addr| {
        let mut client = Client::connect(addr);
        client.send("SET k \"a\\x00b\\n\"\r\n\r\n  GET   k \nECHO 'it\\'s'\r\nQUIT\r\n");
        client.rest()
    };
    assert_eq!(answer(real.addr()), answer(embedded.addr()));
}

#[test]
fn a_walk_over_all_keys_visits_each() {
    let real = need!(RedisServer::start(RealOptions::default()));
    let embedded = EmbeddedServer::start(Options::default()).unwrap();
    for addr in [real.addr(), embedded.addr()] {
        let mut client = Client::connect(addr);
        for key in 0..500 {
            assert_eq!(client.ask(&format!("SET key:{key} v")), "+OK\\r\\n");
        }
        let (mut cursor, mut keys) = ("0".to_owned(), Vec::new());
        loop {
            let answer = client.ask(&format!("SCAN {cursor} COUNT 20"));
            let mut lines = answer
                .split("\\r\\n")
                .filter(|line| !line.starts_with(['*', '$']));
            lines.next().unwrap().clone_into(&mut cursor);
            keys.extend(lines.filter(|line| !line.is_empty()).map(str::to_owned));
            if cursor == "0" {
                break;
            }
        }
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 500);
    }
}
