//! Lists, and waiting for them to get elements.

use std::time::Duration;

use super::{int, span};
use crate::redis::call::{Call, Done};
use crate::redis::refusal::{NO_SUCH_KEY, Refusal};
use crate::redis::store::{End, Key, List};

/// The longest wait that can be asked for: longer than any test, short enough to be added to a clock.
const MAX_WAIT_SECONDS: f64 = 1e9;

pub(in crate::redis) fn lpush(call: &mut Call<'_>) -> Done {
    push(call, End::Left, false)
}

pub(in crate::redis) fn rpush(call: &mut Call<'_>) -> Done {
    push(call, End::Right, false)
}

pub(in crate::redis) fn lpushx(call: &mut Call<'_>) -> Done {
    push(call, End::Left, true)
}

pub(in crate::redis) fn rpushx(call: &mut Call<'_>) -> Done {
    push(call, End::Right, true)
}

fn push(call: &mut Call<'_>, end: End, only_old: bool) -> Done {
    let (database, out, args) = call.parts()?;
    let key = args.get(1);
    if only_old && database.get::<List>(key)?.is_none() {
        out.integer(0);
        return Ok(());
    }
    let len = database.edit::<List, _>(key, |list| {
        for item in args.from(2) {
            list.push(end, item.to_vec());
        }
        (list.len(), true)
    })?;
    database.grew(key);
    out.integer(int(len));
    Ok(())
}

pub(in crate::redis) fn lpop(call: &mut Call<'_>) -> Done {
    pop(call, End::Left, "lpop")
}

pub(in crate::redis) fn rpop(call: &mut Call<'_>) -> Done {
    pop(call, End::Right, "rpop")
}

fn pop(call: &mut Call<'_>, end: End, name: &str) -> Done {
    let (database, out, args) = call.parts()?;
    let most = match args.len() {
        2 => None,
        3 => Some(
            usize::try_from(args.integer(2)?)
                .map_err(|_| Refusal::fixed("ERR value is out of range, must be positive"))?,
        ),
        _ => return Err(Refusal::arity(name)),
    };
    if database.get::<List>(args.get(1))?.is_none() {
        match most {
            None => out.nil(),
            Some(_) => out.nil_array(),
        }
        return Ok(());
    }
    let popped = database.edit::<List, _>(args.get(1), |list| {
        let count = most.unwrap_or(1).min(list.len());
        let popped: Vec<_> = (0..count).filter_map(|_| list.pop(end)).collect();
        let changed = !popped.is_empty();
        (popped, changed)
    })?;
    if most.is_some() {
        out.array(popped.len());
    }
    for item in &popped {
        out.bulk(item);
    }
    Ok(())
}

pub(in crate::redis) fn llen(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let len = database.get::<List>(args.get(1))?.map_or(0, List::len);
    out.integer(int(len));
    Ok(())
}

pub(in crate::redis) fn lrange(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let (start, stop) = (args.integer(2)?, args.integer(3)?);
    let list = database.get::<List>(args.get(1))?;
    let (start, count) = span(start, stop, list.map_or(0, List::len));
    out.array(count);
    for item in list.into_iter().flat_map(|list| list.range(start, count)) {
        out.bulk(item);
    }
    Ok(())
}

/// The index that a number means, counted from the end where negative.
fn index(number: i64, len: usize) -> Option<usize> {
    let from_start = if number < 0 {
        number.checked_add(int(len))?
    } else {
        number
    };
    usize::try_from(from_start).ok()
}

pub(in crate::redis) fn lindex(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let number = args.integer(2)?;
    let list = database.get::<List>(args.get(1))?;
    out.bulk_or_nil(list.and_then(|list| list.get(index(number, list.len())?)));
    Ok(())
}

pub(in crate::redis) fn lset(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    if database.get::<List>(args.get(1))?.is_none() {
        return Err(NO_SUCH_KEY);
    }
    let number = args.integer(2)?;
    let set = database.edit::<List, _>(args.get(1), |list| {
        let place = index(number, list.len());
        let set = place.is_some_and(|place| list.set(place, args.get(3)));
        (set, set)
    })?;
    match set {
        true => out.ok(),
        false => return Err(Refusal::fixed("ERR index out of range")),
    }
    Ok(())
}

pub(in crate::redis) fn lrem(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let count = args.integer(2)?;
    let end = if count < 0 { End::Right } else { End::Left };
    let most = match usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX) {
        0 => usize::MAX,
        most => most,
    };
    let removed = database.edit::<List, _>(args.get(1), |list| {
        let removed = list.remove(end, most, args.get(3));
        (removed, removed > 0)
    })?;
    out.integer(int(removed));
    Ok(())
}

pub(in crate::redis) fn ltrim(call: &mut Call<'_>) -> Done {
    let (database, out, args) = call.parts()?;
    let (start, stop) = (args.integer(2)?, args.integer(3)?);
    database.edit::<List, _>(args.get(1), |list| {
        let (start, count) = span(start, stop, list.len());
        list.trim(start, count);
        ((), true)
    })?;
    out.ok();
    Ok(())
}

pub(in crate::redis) fn blpop(call: &mut Call<'_>) -> Done {
    blocking_pop(call, End::Left)
}

pub(in crate::redis) fn brpop(call: &mut Call<'_>) -> Done {
    blocking_pop(call, End::Right)
}

fn blocking_pop(call: &mut Call<'_>, end: End) -> Done {
    let last = call.args.len() - 1;
    let wait = wait(call.args.get(last))?;
    let keys: Vec<Key> = (1..last)
        .map(|index| call.args.get(index).to_vec())
        .collect();
    let (database, out, _) = call.parts()?;
    for key in &keys {
        if let Some(item) = take(database, key, end)? {
            out.array(2);
            out.bulk(key);
            out.bulk(&item);
            return Ok(());
        }
    }
    if call.in_transaction {
        call.out.nil_array();
        return Ok(());
    }
    let until = wait.map(|wait| call.world.now + wait);
    call.block(keys, end, until);
    Ok(())
}

/// Takes an element of a list, if there is one.
pub(in crate::redis) fn take(
    database: &mut crate::redis::store::Database,
    key: &[u8],
    end: End,
) -> Result<Option<Vec<u8>>, Refusal> {
    if database.get::<List>(key)?.is_none() {
        return Ok(None);
    }
    database.edit::<List, _>(key, |list| (list.pop(end), true))
}

/// How long to wait; zero is for ever.
fn wait(text: &[u8]) -> Result<Option<Duration>, Refusal> {
    let seconds: f64 = std::str::from_utf8(text)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(Refusal::fixed("ERR timeout is not a float or out of range"))?;
    match seconds {
        seconds if seconds < 0.0 => Err(Refusal::fixed("ERR timeout is negative")),
        0.0 => Ok(None),
        seconds if seconds <= MAX_WAIT_SECONDS => Ok(Some(Duration::from_secs_f64(seconds))),
        _ => Err(Refusal::fixed("ERR timeout is out of range")),
    }
}
