//! Keys: their life, and walks over them.

use super::strings::{invalid_expire, moment};
use super::{ScanOptions, int};
use crate::redis::args::Args;
use crate::redis::call::{Call, Done};
use crate::redis::refusal::{NO_SUCH_KEY, Refusal, SYNTAX};
use crate::redis::store::{Cursor, Value, matches};

pub(in crate::redis) fn del(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let removed = args.from(1).filter(|key| database.remove(key)).count();
    out.integer(int(removed));
    Ok(())
}

pub(in crate::redis) fn exists(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let there = args.from(1).filter(|key| database.contains(key)).count();
    out.integer(int(there));
    Ok(())
}

pub(in crate::redis) fn kind(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    out.simple(database.value(args.get(1)).map_or("none", Value::kind));
    Ok(())
}

pub(in crate::redis) fn dbsize(call: &mut Call<'_>) -> Done {
    let (database, out, _) = call.parts()?;
    out.integer(int(database.len()));
    Ok(())
}

pub(in crate::redis) fn flushdb(call: &mut Call<'_>) -> Done {
    check_flush(call.args)?;
    let (database, out, _) = call.parts()?;
    database.clear();
    out.ok();
    Ok(())
}

pub(in crate::redis) fn flushall(call: &mut Call<'_>) -> Done {
    check_flush(call.args)?;
    call.world.store.clear();
    call.out.ok();
    Ok(())
}

fn check_flush(args: Args<'_>) -> Done {
    match args.len() {
        1 => Ok(()),
        2 if args.is(1, "sync") || args.is(1, "async") => Ok(()),
        _ => Err(SYNTAX),
    }
}

pub(in crate::redis) fn randomkey(call: &mut Call<'_>) -> Done {
    let (database, out, _) = call.parts()?;
    let (_, keys) = database.scan(Cursor(0), 1);
    out.bulk_or_nil(keys.first().map(Vec::as_slice));
    Ok(())
}

pub(in crate::redis) fn rename(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    match database.rename(args.get(1), args.get(2)) {
        true => out.ok(),
        false => return Err(NO_SUCH_KEY),
    }
    Ok(())
}

pub(in crate::redis) fn keys(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let mut keys = database.keys();
    keys.retain(|key| matches(args.get(1), key));
    out.array(keys.len());
    for key in &keys {
        out.bulk(key);
    }
    Ok(())
}

pub(in crate::redis) fn scan(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let cursor = std::str::from_utf8(args.get(1))
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(Refusal::fixed("ERR invalid cursor"))?;
    let options = ScanOptions::parse(args, 2, true)?;
    let (next, mut keys) = database.scan(Cursor(cursor), options.count);
    keys.retain(|key| options.pattern.is_none_or(|pattern| matches(pattern, key)));
    if let Some(kind) = options.kind {
        keys.retain(|key| {
            let value = database.value(key);
            value.is_some_and(|value| value.kind().as_bytes().eq_ignore_ascii_case(kind))
        });
    }
    out.array(2);
    out.bulk(next.0.to_string().as_bytes());
    out.array(keys.len());
    for key in &keys {
        out.bulk(key);
    }
    Ok(())
}

pub(in crate::redis) fn expire(call: &mut Call<'_>) -> Done {
    set_expiry(call, true, false, "expire")
}

pub(in crate::redis) fn pexpire(call: &mut Call<'_>) -> Done {
    set_expiry(call, false, false, "pexpire")
}

pub(in crate::redis) fn expireat(call: &mut Call<'_>) -> Done {
    set_expiry(call, true, true, "expireat")
}

pub(in crate::redis) fn pexpireat(call: &mut Call<'_>) -> Done {
    set_expiry(call, false, true, "pexpireat")
}

fn set_expiry(call: &mut Call<'_>, seconds: bool, absolute: bool, name: &str) -> Done {
    let (database, out, args) = call.parts()?;
    let number = args.integer(2)?;
    let until =
        moment(number, seconds, absolute, database.now()).ok_or_else(|| invalid_expire(name))?;
    let set = match database.expires(args.get(1)) {
        None => false,
        Some(now) => Conditions::parse(args)?.allow(now, until),
    };
    if set {
        database.set_expires(args.get(1), Some(until));
    }
    out.integer(set.into());
    Ok(())
}

/// NX, XX, GT and LT of EXPIRE.
#[derive(Debug, Default)]
struct Conditions {
    without: bool,
    with: bool,
    greater: bool,
    less: bool,
}

impl Conditions {
    fn parse(args: Args<'_>) -> Result<Self, Refusal> {
        let mut conditions = Self::default();
        for index in 3..args.len() {
            let place = match () {
                () if args.is(index, "nx") => &mut conditions.without,
                () if args.is(index, "xx") => &mut conditions.with,
                () if args.is(index, "gt") => &mut conditions.greater,
                () if args.is(index, "lt") => &mut conditions.less,
                () => {
                    let option = args.text(index);
                    return Err(Refusal::said(format!("ERR Unsupported option {option}")));
                }
            };
            *place = true;
        }
        if conditions.without && (conditions.with || conditions.greater || conditions.less) {
            return Err(Refusal::fixed(
                "ERR NX and XX, GT or LT options at the same time are not compatible",
            ));
        }
        if conditions.greater && conditions.less {
            return Err(Refusal::fixed(
                "ERR GT and LT options at the same time are not compatible",
            ));
        }
        Ok(conditions)
    }

    /// A key without an end lives longer than any other.
    fn allow(&self, now: Option<u64>, until: u64) -> bool {
        !(self.without && now.is_some()
            || self.with && now.is_none()
            || self.greater && now.is_none_or(|now| until <= now)
            || self.less && now.is_some_and(|now| until >= now))
    }
}

pub(in crate::redis) fn persist(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let had_end = database.expires(args.get(1)).flatten().is_some();
    if had_end {
        database.set_expires(args.get(1), None);
    }
    out.integer(had_end.into());
    Ok(())
}

pub(in crate::redis) fn ttl(call: &mut Call<'_>) -> Done {
    tell_expiry(call, |until, now| {
        until.saturating_sub(now).saturating_add(500) / 1_000
    })
}

pub(in crate::redis) fn pttl(call: &mut Call<'_>) -> Done {
    tell_expiry(call, u64::saturating_sub)
}

pub(in crate::redis) fn expiretime(call: &mut Call<'_>) -> Done {
    tell_expiry(call, |until, _| until.saturating_add(500) / 1_000)
}

pub(in crate::redis) fn pexpiretime(call: &mut Call<'_>) -> Done {
    tell_expiry(call, |until, _| until)
}

/// −2 where there is no key, −1 where it has no end.
fn tell_expiry(call: &mut Call<'_>, tell: impl Fn(u64, u64) -> u64) -> Done {
    let (database, out, args) = call.parts()?;
    let now = database.now();
    out.integer(match database.expires(args.get(1)) {
        None => -2,
        Some(None) => -1,
        Some(Some(until)) => i64::try_from(tell(until, now)).unwrap_or(i64::MAX),
    });
    Ok(())
}
