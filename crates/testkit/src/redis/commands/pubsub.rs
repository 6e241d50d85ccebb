//! Subscriptions and messages.

use std::collections::BTreeSet;

use arknet_proto::redis::server::ReplyWriter;

use super::connection::unknown_subcommand;
use super::int;
use crate::redis::call::{Call, Done};
use crate::redis::hub::Topic;
use crate::redis::session::Session;
use crate::redis::store::matches;

pub(in crate::redis) fn subscribe(call: &mut Call<'_>) -> Done {
    begin(call, Topic::Channel, "subscribe")
}

pub(in crate::redis) fn psubscribe(call: &mut Call<'_>) -> Done {
    begin(call, Topic::Pattern, "psubscribe")
}

pub(in crate::redis) fn ssubscribe(call: &mut Call<'_>) -> Done {
    begin(call, Topic::Shard, "ssubscribe")
}

pub(in crate::redis) fn unsubscribe(call: &mut Call<'_>) -> Done {
    end(call, Topic::Channel, "unsubscribe")
}

pub(in crate::redis) fn punsubscribe(call: &mut Call<'_>) -> Done {
    end(call, Topic::Pattern, "punsubscribe")
}

pub(in crate::redis) fn sunsubscribe(call: &mut Call<'_>) -> Done {
    end(call, Topic::Shard, "sunsubscribe")
}

fn names(session: &mut Session, topic: Topic) -> &mut BTreeSet<Vec<u8>> {
    match topic {
        Topic::Channel => &mut session.channels,
        Topic::Pattern => &mut session.patterns,
        Topic::Shard => &mut session.shards,
    }
}

/// How many subscriptions a confirmation names: those of shards are counted apart.
fn counted(session: &Session, topic: Topic) -> i64 {
    int(match topic {
        Topic::Shard => session.shards.len(),
        _ => session.channels.len() + session.patterns.len(),
    })
}

fn confirm(call: &mut Call<'_>, topic: Topic, verb: &str, name: Option<&[u8]>) {
    let count = counted(call.session, topic);
    call.out.push(3);
    call.out.bulk(verb.as_bytes());
    call.out.bulk_or_nil(name);
    call.out.integer(count);
}

fn begin(call: &mut Call<'_>, topic: Topic, verb: &str) -> Done {
    for name in call.args.from(1) {
        names(call.session, topic).insert(name.to_vec());
        call.world.hub.subscribe(topic, name, call.session.id);
        confirm(call, topic, verb, Some(name));
    }
    Ok(())
}

fn end(call: &mut Call<'_>, topic: Topic, verb: &str) -> Done {
    let named: Vec<Vec<u8>> = match call.args.len() {
        1 => names(call.session, topic).iter().cloned().collect(),
        _ => call.args.from(1).map(<[u8]>::to_vec).collect(),
    };
    if named.is_empty() {
        confirm(call, topic, verb, None);
    }
    for name in named {
        names(call.session, topic).remove(&name);
        call.world.hub.unsubscribe(topic, &name, call.session.id);
        confirm(call, topic, verb, Some(&name));
    }
    Ok(())
}

pub(in crate::redis) fn publish(call: &mut Call<'_>) -> Done {
    let (channel, message) = (call.args.get(1), call.args.get(2));
    let receivers = call.world.hub.receivers(channel);
    let count = int(receivers.len());
    for receiver in receivers {
        deliver(call, receiver.client, |out| match &receiver.pattern {
            None => write_message(out, b"message", channel, message),
            Some(pattern) => {
                out.push(4);
                out.bulk(b"pmessage");
                out.bulk(pattern);
                out.bulk(channel);
                out.bulk(message);
            }
        });
    }
    call.out.integer(count);
    Ok(())
}

pub(in crate::redis) fn spublish(call: &mut Call<'_>) -> Done {
    let (channel, message) = (call.args.get(1), call.args.get(2));
    let receivers = call.world.hub.shard_receivers(channel);
    let count = int(receivers.len());
    for receiver in receivers {
        deliver(call, receiver, |out| {
            write_message(out, b"smessage", channel, message);
        });
    }
    call.out.integer(count);
    Ok(())
}

fn write_message(out: &mut ReplyWriter<'_>, kind: &[u8], channel: &[u8], message: &[u8]) {
    out.push(3);
    out.bulk(kind);
    out.bulk(channel);
    out.bulk(message);
}

/// Writes to a client, the publisher itself perhaps, which gets its message before its reply.
fn deliver(call: &mut Call<'_>, client: u64, write: impl FnOnce(&mut ReplyWriter<'_>)) {
    if client == call.session.id {
        write(&mut call.out);
    } else if let Some(peer) = call.world.peers.get_mut(&client) {
        write(&mut peer.writer());
        call.world.woken.push(client);
    }
}

pub(in crate::redis) fn pubsub(call: &mut Call<'_>) -> Done {
    let args = call.args;
    match args.len() {
        2 | 3 if args.is(1, "channels") => list(call, Topic::Channel),
        2 | 3 if args.is(1, "shardchannels") => list(call, Topic::Shard),
        2.. if args.is(1, "numsub") => number(call, Topic::Channel),
        2.. if args.is(1, "shardnumsub") => number(call, Topic::Shard),
        2 if args.is(1, "numpat") => {
            let count = call.world.hub.names(Topic::Pattern).count();
            call.out.integer(int(count));
        }
        _ => return Err(unknown_subcommand(call, "PUBSUB")),
    }
    Ok(())
}

fn list(call: &mut Call<'_>, topic: Topic) {
    let pattern = call.args.find(2).unwrap_or(b"*");
    let names: Vec<Vec<u8>> = call
        .world
        .hub
        .names(topic)
        .filter(|(name, _)| matches(pattern, name))
        .map(|(name, _)| name.to_vec())
        .collect();
    call.out.array(names.len());
    for name in names {
        call.out.bulk(&name);
    }
}

fn number(call: &mut Call<'_>, topic: Topic) {
    // Not a map, in RESP3 either.
    call.out.array((call.args.len() - 2) * 2);
    for name in call.args.from(2) {
        let count = call.world.hub.count(topic, name);
        call.out.bulk(name);
        call.out.integer(int(count));
    }
}
