//! Strings and counters.

use super::int;
use crate::redis::args::{Args, integer};
use crate::redis::call::{Call, Done};
use crate::redis::refusal::{NOT_FLOAT, NOT_INTEGER, OVERFLOW, Refusal, SYNTAX};
use crate::redis::store::{Database, Value};

/// Bytes of a string, as Redis has it.
const MAX_BYTES: usize = 512 * 1024 * 1024;

pub(in crate::redis) fn get(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let text = database.get::<Vec<u8>>(args.get(1))?;
    out.bulk_or_nil(text.map(Vec::as_slice));
    Ok(())
}

/// When a key that is written expires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Unlimited,
    /// As before.
    Kept,
    Until(u64),
}

#[derive(Debug)]
struct SetOptions {
    only_new: bool,
    only_old: bool,
    give_old: bool,
    life: Life,
}

impl SetOptions {
    fn parse(args: Args<'_>, now: u64) -> Result<Self, Refusal> {
        let mut options = Self {
            only_new: false,
            only_old: false,
            give_old: false,
            life: Life::Unlimited,
        };
        let mut at = 3;
        while at < args.len() {
            let life_is_free = options.life == Life::Unlimited;
            match () {
                () if args.is(at, "nx") && !options.only_old => options.only_new = true,
                () if args.is(at, "xx") && !options.only_new => options.only_old = true,
                () if args.is(at, "get") => options.give_old = true,
                () if args.is(at, "keepttl") && life_is_free => options.life = Life::Kept,
                () if life_is_free && is_life(args, at) && at + 1 < args.len() => {
                    options.life = Life::Until(life(args, at, now, "set")?);
                    at += 1;
                }
                () => return Err(SYNTAX),
            }
            at += 1;
        }
        Ok(options)
    }
}

fn is_life(args: Args<'_>, at: usize) -> bool {
    ["ex", "px", "exat", "pxat"]
        .iter()
        .any(|word| args.is(at, word))
}

/// The moment that EX, PX, EXAT or PXAT at `at` and the number behind it mean.
fn life(args: Args<'_>, at: usize, now: u64, command: &str) -> Result<u64, Refusal> {
    let number = args.integer(at + 1)?;
    let seconds = args.is(at, "ex") || args.is(at, "exat");
    let absolute = args.is(at, "exat") || args.is(at, "pxat");
    moment(number, seconds, absolute, now)
        .filter(|_| number > 0)
        .ok_or_else(|| invalid_expire(command))
}

/// Milliseconds since 1970; a moment before is the first one.
pub(super) fn moment(number: i64, seconds: bool, absolute: bool, now: u64) -> Option<u64> {
    let millis = if seconds {
        number.checked_mul(1_000)?
    } else {
        number
    };
    let base = if absolute {
        0
    } else {
        i64::try_from(now).ok()?
    };
    Some(u64::try_from(base.checked_add(millis)?).unwrap_or(0))
}

pub(super) fn invalid_expire(command: &str) -> Refusal {
    Refusal::said(format!("ERR invalid expire time in '{command}' command"))
}

pub(in crate::redis) fn set(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let options = SetOptions::parse(args, database.now())?;
    let (key, value) = (args.get(1), args.get(2));
    let exists = database.contains(key);
    let old = match options.give_old {
        true => Some(database.get::<Vec<u8>>(key)?.cloned()),
        false => None,
    };
    let written = !(options.only_new && exists || options.only_old && !exists);
    if written {
        let expires = match options.life {
            Life::Unlimited => None,
            Life::Kept => database.expires(key).flatten(),
            Life::Until(moment) => Some(moment),
        };
        database.put(key, Value::Text(value.to_vec()), expires);
    }
    match old {
        Some(old) => out.bulk_or_nil(old.as_deref()),
        None if written => out.ok(),
        None => out.nil(),
    }
    Ok(())
}

pub(in crate::redis) fn setnx(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let new = !database.contains(args.get(1));
    if new {
        database.put(args.get(1), Value::Text(args.get(2).to_vec()), None);
    }
    out.integer(new.into());
    Ok(())
}

pub(in crate::redis) fn setex(call: &mut Call<'_>) -> Done {
    set_with_life(call, true, "setex")
}

pub(in crate::redis) fn psetex(call: &mut Call<'_>) -> Done {
    set_with_life(call, false, "psetex")
}

fn set_with_life(call: &mut Call<'_>, seconds: bool, name: &str) -> Done {
    let (database, out, args) = call.parts()?;
    let number = args.integer(2)?;
    let until = moment(number, seconds, false, database.now())
        .filter(|_| number > 0)
        .ok_or_else(|| invalid_expire(name))?;
    database.put(args.get(1), Value::Text(args.get(3).to_vec()), Some(until));
    out.ok();
    Ok(())
}

pub(in crate::redis) fn getset(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let old = database.get::<Vec<u8>>(args.get(1))?.cloned();
    database.put(args.get(1), Value::Text(args.get(2).to_vec()), None);
    out.bulk_or_nil(old.as_deref());
    Ok(())
}

pub(in crate::redis) fn getdel(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let old = database.get::<Vec<u8>>(args.get(1))?.cloned();
    database.remove(args.get(1));
    out.bulk_or_nil(old.as_deref());
    Ok(())
}

pub(in crate::redis) fn getex(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let life = match args.len() {
        2 => None,
        3 if args.is(2, "persist") => Some(None),
        4 if is_life(args, 2) => Some(Some(life(args, 2, database.now(), "getex")?)),
        _ => return Err(SYNTAX),
    };
    let text = database.get::<Vec<u8>>(args.get(1))?.cloned();
    if let (Some(_), Some(life)) = (&text, life) {
        database.set_expires(args.get(1), life);
    }
    out.bulk_or_nil(text.as_deref());
    Ok(())
}

pub(in crate::redis) fn mget(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    out.array(args.len() - 1);
    for key in args.from(1) {
        // Another type is nothing here.
        let text = database.get::<Vec<u8>>(key).ok().flatten();
        out.bulk_or_nil(text.map(Vec::as_slice));
    }
    Ok(())
}

pub(in crate::redis) fn mset(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    check_pairs(args, "mset")?;
    put_pairs(database, args);
    out.ok();
    Ok(())
}

pub(in crate::redis) fn msetnx(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    check_pairs(args, "msetnx")?;
    let new = !args.from(1).step_by(2).any(|key| database.contains(key));
    if new {
        put_pairs(database, args);
    }
    out.integer(new.into());
    Ok(())
}

fn check_pairs(args: Args<'_>, name: &str) -> Done {
    match args.len() % 2 {
        1 => Ok(()),
        _ => Err(Refusal::arity(name)),
    }
}

fn put_pairs(database: &mut Database, args: Args<'_>) {
    for at in (1..args.len()).step_by(2) {
        database.put(args.get(at), Value::Text(args.get(at + 1).to_vec()), None);
    }
}

pub(in crate::redis) fn incr(call: &mut Call<'_>) -> Done {
    add(call, 1)
}

pub(in crate::redis) fn decr(call: &mut Call<'_>) -> Done {
    add(call, -1)
}

pub(in crate::redis) fn incrby(call: &mut Call<'_>) -> Done {
    let by = call.args.integer(2)?;
    add(call, by)
}

pub(in crate::redis) fn decrby(call: &mut Call<'_>) -> Done {
    let by = call.args.integer(2)?;
    let by = by
        .checked_neg()
        .ok_or(Refusal::fixed("ERR decrement would overflow"))?;
    add(call, by)
}

fn add(call: &mut Call<'_>, by: i64) -> Done {
    let (database, out, args) = call.parts()?;
    let key = args.get(1);
    let number = match database.get::<Vec<u8>>(key)? {
        None => 0,
        Some(text) => integer(text).ok_or(NOT_INTEGER)?,
    };
    let sum = number.checked_add(by).ok_or(OVERFLOW)?;
    let expires = database.expires(key).flatten();
    database.put(key, Value::Text(sum.to_string().into_bytes()), expires);
    out.integer(sum);
    Ok(())
}

pub(in crate::redis) fn incrbyfloat(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let key = args.get(1);
    let number = match database.get::<Vec<u8>>(key)? {
        None => 0.0,
        Some(text) => float(text).ok_or(NOT_FLOAT)?,
    };
    let sum = number + float(args.get(2)).ok_or(NOT_FLOAT)?;
    if !sum.is_finite() {
        return Err(Refusal::fixed(
            "ERR increment would produce NaN or Infinity",
        ));
    }
    let text = sum.to_string().into_bytes();
    let expires = database.expires(key).flatten();
    database.put(key, Value::Text(text.clone()), expires);
    out.bulk(&text);
    Ok(())
}

fn float(text: &[u8]) -> Option<f64> {
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (!number.is_nan()).then_some(number)
}

pub(in crate::redis) fn append(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let more = args.get(2);
    check_len(database, args.get(1), more.len())?;
    let len = database.edit::<Vec<u8>, _>(args.get(1), |text| {
        text.extend_from_slice(more);
        (text.len(), true)
    })?;
    out.integer(int(len));
    Ok(())
}

fn check_len(database: &mut Database, key: &[u8], more: usize) -> Done {
    let len = database.get::<Vec<u8>>(key)?.map_or(0, Vec::len);
    match len.saturating_add(more) > MAX_BYTES {
        true => Err(Refusal::fixed(
            "ERR string exceeds maximum allowed size (proto-max-bulk-len)",
        )),
        false => Ok(()),
    }
}

pub(in crate::redis) fn strlen(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let len = database.get::<Vec<u8>>(args.get(1))?.map_or(0, Vec::len);
    out.integer(int(len));
    Ok(())
}

pub(in crate::redis) fn getrange(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let (start, stop) = (args.integer(2)?, args.integer(3)?);
    let text = database
        .get::<Vec<u8>>(args.get(1))?
        .map_or(&[][..], Vec::as_slice);
    let (start, count) = super::span(start, stop, text.len());
    out.bulk(text.get(start..start + count).unwrap_or_default());
    Ok(())
}

pub(in crate::redis) fn setrange(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let (offset, piece) = (args.integer(2)?, args.get(3));
    let offset =
        usize::try_from(offset).map_err(|_| Refusal::fixed("ERR offset is out of range"))?;
    if piece.is_empty() {
        let len = database.get::<Vec<u8>>(args.get(1))?.map_or(0, Vec::len);
        out.integer(int(len));
        return Ok(());
    }
    let end = offset.saturating_add(piece.len());
    check_len(database, b"", end)?;
    let len = database.edit::<Vec<u8>, _>(args.get(1), |text| {
        if text.len() < end {
            text.resize(end, 0);
        }
        if let Some(place) = text.get_mut(offset..end) {
            place.copy_from_slice(piece);
        }
        (text.len(), true)
    })?;
    out.integer(int(len));
    Ok(())
}
