//! Sets.

use std::collections::BTreeSet;

use arknet_proto::redis::server::ReplyWriter;

use super::{ScanOptions, int};
use crate::redis::args::{Args, integer};
use crate::redis::call::{Call, Done};
use crate::redis::refusal::{Refusal, SYNTAX};
use crate::redis::store::{Database, Set, matches};

pub(in crate::redis) fn sadd(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let new = database.edit::<Set, _>(args.get(1), |set| {
        let new = args.from(2).filter(|member| set.insert(member)).count();
        (new, new > 0)
    })?;
    out.integer(int(new));
    Ok(())
}

pub(in crate::redis) fn srem(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let removed = database.edit::<Set, _>(args.get(1), |set| {
        let removed = args.from(2).filter(|member| set.remove(member)).count();
        (removed, removed > 0)
    })?;
    out.integer(int(removed));
    Ok(())
}

pub(in crate::redis) fn sismember(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let set = database.get::<Set>(args.get(1))?;
    out.integer(set.is_some_and(|set| set.contains(args.get(2))).into());
    Ok(())
}

pub(in crate::redis) fn smismember(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let set = database.get::<Set>(args.get(1))?;
    out.array(args.len() - 2);
    for member in args.from(2) {
        out.integer(set.is_some_and(|set| set.contains(member)).into());
    }
    Ok(())
}

pub(in crate::redis) fn smembers(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let set = database.get::<Set>(args.get(1))?;
    out.set(set.map_or(0, Set::len));
    for member in set.into_iter().flat_map(Set::iter) {
        out.bulk(member);
    }
    Ok(())
}

pub(in crate::redis) fn scard(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let len = database.get::<Set>(args.get(1))?.map_or(0, Set::len);
    out.integer(int(len));
    Ok(())
}

/// The smallest members: a test that wants a random one cannot expect anything of it.
pub(in crate::redis) fn spop(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let most = match args.len() {
        2 => None,
        3 => Some(
            usize::try_from(args.integer(2)?)
                .map_err(|_| Refusal::fixed("ERR value is out of range, must be positive"))?,
        ),
        _ => return Err(SYNTAX),
    };
    let popped = database.edit::<Set, _>(args.get(1), |set| {
        let count = most.unwrap_or(1).min(set.len());
        let popped: Vec<_> = (0..count).filter_map(|_| set.pop()).collect();
        let changed = !popped.is_empty();
        (popped, changed)
    })?;
    match most {
        None => out.bulk_or_nil(popped.first().map(Vec::as_slice)),
        Some(_) => write_set(out, popped.iter().map(Vec::as_slice)),
    }
    Ok(())
}

pub(in crate::redis) fn sinter(call: &mut Call<'_>) -> Done {
    combine(call, |all, next| all.retain(|member| next.contains(member)))
}

pub(in crate::redis) fn sunion(call: &mut Call<'_>) -> Done {
    combine(call, |all, next| all.extend(next.iter().cloned()))
}

pub(in crate::redis) fn sdiff(call: &mut Call<'_>) -> Done {
    combine(call, |all, next| {
        all.retain(|member| !next.contains(member));
    })
}

type Members = BTreeSet<Vec<u8>>;

fn combine(call: &mut Call<'_>, with: impl Fn(&mut Members, &Members)) -> Done {
    let (database, out, args) = call.parts()?;
    let mut all = members(database, args, 1)?;
    for index in 2..args.len() {
        let next = members(database, args, index)?;
        with(&mut all, &next);
    }
    write_set(out, all.iter().map(Vec::as_slice));
    Ok(())
}

fn members(database: &mut Database, args: Args<'_>, index: usize) -> Result<Members, Refusal> {
    let set = database.get::<Set>(args.get(index))?;
    Ok(set
        .into_iter()
        .flat_map(Set::iter)
        .map(<[u8]>::to_vec)
        .collect())
}

fn write_set<'a>(out: &mut ReplyWriter<'_>, members: impl ExactSizeIterator<Item = &'a [u8]>) {
    out.set(members.len());
    for member in members {
        out.bulk(member);
    }
}

/// All members at once, as [`hscan`](super::hashes::hscan) does it.
pub(in crate::redis) fn sscan(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    if integer(args.get(2)).is_none_or(|cursor| cursor < 0) {
        return Err(Refusal::fixed("ERR invalid cursor"));
    }
    let options = ScanOptions::parse(args, 3, false)?;
    let set = database.get::<Set>(args.get(1))?;
    let wanted: Vec<_> = set
        .into_iter()
        .flat_map(Set::iter)
        .filter(|member| {
            options
                .pattern
                .is_none_or(|pattern| matches(pattern, member))
        })
        .collect();
    out.array(2);
    out.bulk(b"0");
    out.array(wanted.len());
    for member in wanted {
        out.bulk(member);
    }
    Ok(())
}
