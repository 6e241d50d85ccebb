//! The words that functions send, and that their effects are those of the table.
//!
//! That servers take these words is for the tests with real ones; here stands what is optional.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use arknet_proto::redis::Command as Encoded;

use super::{Expiry, ScanOptions, transactions};
use super::{
    geo, hashes, keys, lists, pubsub, scripts, server, sets, sorted_sets, streams, strings,
};
use crate::redis::{Command, LeaseCommand};

/// The words of a command, whose effects are those that its words are known for.
fn words<T>(command: &Command<T>) -> String {
    let encoded = command.encoded();
    let mut words = encoded.words();
    let name = String::from_utf8(words.next().unwrap().to_vec()).unwrap();
    let rest: Vec<_> = words.collect();
    let looked_up = Encoded::new(name.clone()).args(&rest).effects();
    assert_eq!(command.effects(), looked_up, "{name}");
    let rest = rest
        .iter()
        .map(|word| String::from_utf8_lossy(word).into_owned());
    [name].into_iter().chain(rest).collect::<Vec<_>>().join(" ")
}

fn lease_words<T>(command: &LeaseCommand<T>) -> String {
    let effects = command.effects();
    assert!(effects.is_blocking() || effects.is_exclusive());
    words(command.command())
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn strings_are_set_with_what_is_asked_for() {
    use strings::{SetOptions, getex, mset, set_with, setex};
    let set = |options| words(&set_with::<()>("k", "v", options));
    assert_eq!(set(SetOptions::new()), "SET k v");
    assert_eq!(
        set(SetOptions::new().expire_in(SECOND).only_if_absent()),
        "SET k v NX PX 1000"
    );
    assert_eq!(
        set(SetOptions::new().keep_expiry().only_if_present().get()),
        "SET k v XX GET KEEPTTL"
    );
    let at = Expiry::At(UNIX_EPOCH + 5 * SECOND);
    assert_eq!(words(&setex("k", 1.5, at)), "SET k 1.5 PXAT 5000");
    let instantly = Expiry::In(Duration::from_nanos(1));
    assert_eq!(words(&setex("k", "v", instantly)), "SET k v PX 1");
    assert_eq!(words(&getex::<String>("k", None)), "GETEX k PERSIST");
    assert_eq!(
        words(&mset(BTreeMap::from([("a", 1), ("b", 2)]))),
        "MSET a 1 b 2"
    );
}

#[test]
fn how_many_follow_is_written_before_them() {
    assert_eq!(
        words(&sets::sintercard(["a", "b"], 3)),
        "SINTERCARD 2 a b LIMIT 3"
    );
    assert_eq!(
        words(&hashes::hexpire("k", SECOND, ("f", "g"))),
        "HPEXPIRE k 1000 FIELDS 2 f g"
    );
    assert_eq!(
        words(&lists::lmpop::<String>("a", lists::End::Left, 5)),
        "LMPOP 1 a LEFT COUNT 5"
    );
    assert_eq!(
        words(&sorted_sets::zunionstore(
            "to",
            vec!["a", "b"],
            sorted_sets::Aggregate::Max
        )),
        "ZUNIONSTORE to 2 a b AGGREGATE MAX"
    );
    let none: &[&str] = &[];
    assert_eq!(
        words(&scripts::fcall::<()>("f", none, [1, 2])),
        "FCALL f 0 1 2"
    );
}

#[test]
fn commands_that_wait_say_for_how_long() {
    use lists::{End, blmove, blmpop, blpop};
    assert_eq!(
        lease_words(&blpop::<String>(["a", "b"], Some(SECOND / 2))),
        "BLPOP a b 0.5"
    );
    assert_eq!(lease_words(&blpop::<String>("a", None)), "BLPOP a 0");
    // Zero would be for ever.
    assert_eq!(
        lease_words(&blpop::<String>("a", Some(Duration::ZERO))),
        "BLPOP a 0.001"
    );
    assert_eq!(
        lease_words(&blmove::<String>(
            "a",
            "b",
            End::Left,
            End::Right,
            Some(SECOND)
        )),
        "BLMOVE a b LEFT RIGHT 1"
    );
    assert_eq!(
        lease_words(&blmpop::<String>(["a", "b"], End::Right, 2, None)),
        "BLMPOP 0 2 a b RIGHT COUNT 2"
    );
    assert_eq!(
        lease_words(&sorted_sets::bzpopmin::<String>("z", Some(SECOND))),
        "BZPOPMIN z 1"
    );
    assert_eq!(lease_words(&server::wait(1, Some(SECOND))), "WAIT 1 1000");
    assert_eq!(lease_words(&server::wait(1, None)), "WAIT 1 0");
}

#[test]
fn what_changes_the_session_is_for_leases() {
    assert_eq!(lease_words(&server::select(5)), "SELECT 5");
    assert_eq!(lease_words(&server::auth("u", "p")), "AUTH u p");
    assert_eq!(
        lease_words(&server::client_setname("n")),
        "CLIENT SETNAME n"
    );
    assert_eq!(
        lease_words(&server::client_no_evict(true)),
        "CLIENT NO-EVICT ON"
    );
    assert_eq!(lease_words(&transactions::watch(["a", "b"])), "WATCH a b");
    assert_eq!(lease_words(&transactions::unwatch()), "UNWATCH");
    assert_eq!(lease_words(&transactions::multi()), "MULTI");
    assert_eq!(lease_words(&transactions::exec::<()>()), "EXEC");
    assert_eq!(lease_words(&transactions::discard()), "DISCARD");
}

#[test]
fn sorted_sets_are_searched_by_ranges() {
    use sorted_sets::{
        RangeOptions, Update, ZaddOptions, zadd, zadd_with, zcount, zrange_bylex, zrange_byscore,
        zrange_byscore_withscores, zremrangebyscore,
    };
    assert_eq!(
        words(&zadd("z", [(1.0, "a"), (2.5, "b")])),
        "ZADD z 1 a 2.5 b"
    );
    let options = ZaddOptions::new().only(Update::Higher).count_changed();
    assert_eq!(
        words(&zadd_with("z", (1, "a"), options)),
        "ZADD z GT CH 1 a"
    );
    assert_eq!(words(&zcount("z", 1.0..)), "ZCOUNT z 1.0 +inf");
    assert_eq!(
        words(&zremrangebyscore("z", ..5.0)),
        "ZREMRANGEBYSCORE z -inf (5.0"
    );
    let page = RangeOptions::new().reversed().limit(10, 20);
    assert_eq!(
        words(&zrange_byscore::<String>("z", 1.0..=2.0, page)),
        "ZRANGE z 2.0 1.0 BYSCORE REV LIMIT 10 20"
    );
    assert_eq!(
        words(&zrange_byscore_withscores::<String>(
            "z",
            ..,
            RangeOptions::new()
        )),
        "ZRANGE z -inf +inf BYSCORE WITHSCORES"
    );
    assert_eq!(
        words(&zrange_bylex::<String>("z", "a".."c", RangeOptions::new())),
        "ZRANGE z [a (c BYLEX"
    );
}

#[test]
fn streams_are_written_and_read() {
    use streams::*;
    let id = StreamId::new(5, 1);
    assert_eq!(words(&xadd("s", [("f", "v")])), "XADD s * f v");
    let options = AddOptions::new()
        .id(id)
        .trim(Trim::to_len(9))
        .only_if_present();
    assert_eq!(
        words(&xadd_with("s", ("f", "v"), options)),
        "XADD s NOMKSTREAM MAXLEN ~ 9 5-1 f v"
    );
    assert_eq!(
        words(&xtrim("s", Trim::before(id).exactly())),
        "XTRIM s MINID = 5-1"
    );
    assert_eq!(words(&xrange::<()>("s", id.., 2)), "XRANGE s 5-1 + COUNT 2");
    assert_eq!(
        words(&xrevrange::<()>("s", ..id, 2)),
        "XREVRANGE s (5-1 - COUNT 2"
    );
    let options = ReadOptions::new().count(3).without_acknowledgement();
    assert_eq!(
        words(&xread::<()>(
            ["a", "b"],
            [id, StreamId::MIN],
            ReadOptions::new()
        )),
        "XREAD STREAMS a b 5-1 0-0"
    );
    assert_eq!(
        lease_words(&xread_blocking::<()>(
            "a",
            "$",
            ReadOptions::new().count(1),
            None
        )),
        "XREAD COUNT 1 BLOCK 0 STREAMS a $"
    );
    assert_eq!(
        words(&xreadgroup::<()>("g", "c", "a", ">", options)),
        "XREADGROUP GROUP g c COUNT 3 NOACK STREAMS a >"
    );
    assert_eq!(
        lease_words(&xreadgroup_blocking::<()>(
            "g",
            "c",
            "a",
            ">",
            ReadOptions::new(),
            Some(SECOND)
        )),
        "XREADGROUP GROUP g c BLOCK 1000 STREAMS a >"
    );
    assert_eq!(
        words(&xautoclaim::<()>("s", "g", "c", SECOND, StreamId::MIN, 10)),
        "XAUTOCLAIM s g c 1000 0-0 COUNT 10"
    );
}

#[test]
fn ids_of_entries_are_ordered_and_read_as_they_are_written() {
    use streams::{InvalidStreamId, StreamId};
    let id = StreamId::new(1_526_919_030_474, 55);
    assert_eq!(id.to_string().parse(), Ok(id));
    assert_eq!("7".parse(), Ok(StreamId::new(7, 0)));
    for text in [
        "",
        "-",
        "7-",
        "-7",
        "a-b",
        "7-8-9",
        "18446744073709551616-0",
    ] {
        assert_eq!(text.parse::<StreamId>(), Err(InvalidStreamId), "{text:?}");
    }
    assert!(StreamId::new(1, 9) < StreamId::new(2, 0));
    assert_eq!(StreamId::new(1, u64::MAX).next(), Some(StreamId::new(2, 0)));
    assert_eq!(StreamId::MAX.next(), None);
}

#[test]
fn a_scan_goes_from_page_to_page_until_the_cursor_is_zero() {
    let options = ScanOptions::new().matching("u*").count(50).of_type("hash");
    let mut cursor = keys::scan::<String>(options).cursor();
    let page = |wire: &str| {
        arknet_proto::redis::Reply::parse(wire.as_bytes())
            .and_then(|reply| reply.decode())
            .unwrap()
    };
    let first = cursor.page().unwrap();
    assert_eq!(words(&first), "SCAN 0 MATCH u* COUNT 50 TYPE hash");
    let found = cursor.take(page("*2\r\n$2\r\n17\r\n*1\r\n$2\r\nu1\r\n"));
    assert_eq!(found, ["u1"]);
    let second = cursor.page().unwrap();
    assert_eq!(words(&second), "SCAN 17 MATCH u* COUNT 50 TYPE hash");
    assert!(!cursor.is_finished());
    assert!(cursor.take(page("*2\r\n$1\r\n0\r\n*0\r\n")).is_empty());
    assert!(cursor.page().is_none());
    assert!(cursor.is_finished());

    let cursor = hashes::hscan::<(String, i64)>(7, ScanOptions::new()).cursor();
    assert_eq!(words(&cursor.page().unwrap()), "HSCAN 7 0");
}

#[test]
fn the_rest_of_the_options_stand_where_the_server_looks_for_them() {
    assert_eq!(words(&keys::copy("a", "b", true)), "COPY a b REPLACE");
    assert_eq!(
        words(&keys::expire_if("k", SECOND, keys::ExpireIf::Later)),
        "PEXPIRE k 1000 GT"
    );
    assert_eq!(words(&keys::sort::<String>("k", true)), "SORT k ALPHA");
    assert_eq!(
        words(&keys::restore("k", [0_u8, 1], true)),
        "RESTORE k 0 \0\x01 REPLACE"
    );
    let center = geo::Center::Place(13.4, 52.5);
    assert_eq!(
        words(&geo::geosearch_withdist::<String>(
            "g",
            center,
            5.0,
            geo::Unit::Kilometers
        )),
        "GEOSEARCH g FROMLONLAT 13.4 52.5 BYRADIUS 5 km ASC WITHDIST"
    );
    assert_eq!(
        words(&pubsub::pubsub_channels::<String>(None)),
        "PUBSUB CHANNELS"
    );
    assert_eq!(words(&server::info(Some("memory"))), "INFO memory");
    assert_eq!(
        words(&server::config_set([("a", "1"), ("b", "2")])),
        "CONFIG SET a 1 b 2"
    );
    assert_eq!(
        words(&server::flushdb(server::Flush::Async)),
        "FLUSHDB ASYNC"
    );
    assert_eq!(
        words(&scripts::function_load("code", true)),
        "FUNCTION LOAD REPLACE code"
    );
}

#[test]
fn times_are_read_as_servers_write_them() {
    use keys::Ttl;
    use server::{Info, ServerTime};
    let decode = |wire: &'static str| arknet_proto::redis::Reply::parse(wire.as_bytes()).unwrap();
    assert_eq!(decode(":-2\r\n").decode(), Ok(Ttl::Missing));
    assert_eq!(decode(":-1\r\n").decode(), Ok(Ttl::Endless));
    assert_eq!(
        decode(":1500\r\n").decode(),
        Ok(Ttl::Left(Duration::from_millis(1500)))
    );
    assert!(decode(":-3\r\n").decode::<Ttl>().is_err());
    let time = UNIX_EPOCH + Duration::new(5, 7_000);
    assert_eq!(
        decode("*2\r\n$1\r\n5\r\n$1\r\n7\r\n").decode(),
        Ok(ServerTime(time))
    );
    assert_eq!(
        decode(":5\r\n").decode(),
        Ok(ServerTime(UNIX_EPOCH + 5 * SECOND))
    );
    let endless = format!("*2\r\n+{}\r\n:0\r\n", u64::MAX);
    let reply = arknet_proto::redis::Reply::parse(endless.as_bytes()).unwrap();
    assert!(reply.decode::<ServerTime>().is_err());

    let info: Info = decode("=34\r\ntxt:# Memory\r\nused:7\r\nname:a:b\r\n\r\n\r\n")
        .decode()
        .unwrap();
    assert_eq!(info.get("used"), Some("7"));
    assert_eq!(info.get("name"), Some("a:b"));
    assert_eq!(info.get("Memory"), None);
    assert_eq!(info.iter().count(), 2);
}
