//! Hashes.

use super::{ScanOptions, int};
use crate::redis::args::{Args, integer};
use crate::redis::call::{Call, Done};
use crate::redis::refusal::{OVERFLOW, Refusal};
use crate::redis::store::{Database, Hash, matches};

pub(in crate::redis) fn hset(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let new = set_fields(database, args, "hset")?;
    out.integer(int(new));
    Ok(())
}

pub(in crate::redis) fn hmset(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    set_fields(database, args, "hmset")?;
    out.ok();
    Ok(())
}

/// Sets the fields from the second argument on, and says how many are new.
fn set_fields(database: &mut Database, args: Args<'_>, name: &str) -> Result<usize, Refusal> {
    if !args.len().is_multiple_of(2) {
        return Err(Refusal::arity(name));
    }
    database.edit::<Hash, _>(args.get(1), |hash| {
        let pairs = (2..args.len()).step_by(2);
        let new = pairs
            .filter(|at| hash.set(args.get(*at), args.get(at + 1).to_vec()))
            .count();
        (new, true)
    })
}

pub(in crate::redis) fn hsetnx(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let new = database.edit::<Hash, _>(args.get(1), |hash| {
        let new = hash.get(args.get(2)).is_none();
        if new {
            hash.set(args.get(2), args.get(3).to_vec());
        }
        (new, new)
    })?;
    out.integer(new.into());
    Ok(())
}

pub(in crate::redis) fn hget(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let hash = database.get::<Hash>(args.get(1))?;
    out.bulk_or_nil(hash.and_then(|hash| hash.get(args.get(2))));
    Ok(())
}

pub(in crate::redis) fn hmget(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let hash = database.get::<Hash>(args.get(1))?;
    out.array(args.len() - 2);
    for field in args.from(2) {
        out.bulk_or_nil(hash.and_then(|hash| hash.get(field)));
    }
    Ok(())
}

pub(in crate::redis) fn hgetall(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let hash = database.get::<Hash>(args.get(1))?;
    out.map(hash.map_or(0, Hash::len));
    for (field, value) in hash.into_iter().flat_map(Hash::iter) {
        out.bulk(field);
        out.bulk(value);
    }
    Ok(())
}

pub(in crate::redis) fn hkeys(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let hash = database.get::<Hash>(args.get(1))?;
    out.array(hash.map_or(0, Hash::len));
    for (field, _) in hash.into_iter().flat_map(Hash::iter) {
        out.bulk(field);
    }
    Ok(())
}

pub(in crate::redis) fn hvals(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let hash = database.get::<Hash>(args.get(1))?;
    out.array(hash.map_or(0, Hash::len));
    for (_, value) in hash.into_iter().flat_map(Hash::iter) {
        out.bulk(value);
    }
    Ok(())
}

pub(in crate::redis) fn hdel(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let removed = database.edit::<Hash, _>(args.get(1), |hash| {
        let removed = args.from(2).filter(|field| hash.remove(field)).count();
        (removed, removed > 0)
    })?;
    out.integer(int(removed));
    Ok(())
}

pub(in crate::redis) fn hlen(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let len = database.get::<Hash>(args.get(1))?.map_or(0, Hash::len);
    out.integer(int(len));
    Ok(())
}

pub(in crate::redis) fn hexists(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let hash = database.get::<Hash>(args.get(1))?;
    let there = hash.is_some_and(|hash| hash.get(args.get(2)).is_some());
    out.integer(there.into());
    Ok(())
}

pub(in crate::redis) fn hstrlen(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let hash = database.get::<Hash>(args.get(1))?;
    let value = hash.and_then(|hash| hash.get(args.get(2)));
    out.integer(int(value.map_or(0, <[u8]>::len)));
    Ok(())
}

pub(in crate::redis) fn hincrby(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let (field, by) = (args.get(2), args.integer(3)?);
    let sum = database.edit::<Hash, _>(args.get(1), |hash| {
        let number = match hash.get(field) {
            None => Ok(0),
            Some(text) => integer(text).ok_or(Refusal::fixed("ERR hash value is not an integer")),
        };
        let sum = number.and_then(|number| number.checked_add(by).ok_or(OVERFLOW));
        if let Ok(sum) = &sum {
            hash.set(field, sum.to_string().into_bytes());
        }
        let changed = sum.is_ok();
        (sum, changed)
    })??;
    out.integer(sum);
    Ok(())
}

/// All fields at once: they are kept together, and a walk of one step is one.
pub(in crate::redis) fn hscan(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    if integer(args.get(2)).is_none_or(|cursor| cursor < 0) {
        return Err(Refusal::fixed("ERR invalid cursor"));
    }
    let options = ScanOptions::parse(args, 3, false)?;
    let hash = database.get::<Hash>(args.get(1))?;
    let wanted: Vec<_> = hash
        .into_iter()
        .flat_map(Hash::iter)
        .filter(|(field, _)| {
            options
                .pattern
                .is_none_or(|pattern| matches(pattern, field))
        })
        .collect();
    out.array(2);
    out.bulk(b"0");
    out.array(wanted.len() * 2);
    for (field, value) in wanted {
        out.bulk(field);
        out.bulk(value);
    }
    Ok(())
}
