//! What each command does, by family.

pub(super) mod client;
pub(super) mod connection;
pub(super) mod hashes;
pub(super) mod keys;
pub(super) mod lists;
pub(super) mod pubsub;
pub(super) mod server;
pub(super) mod sets;
pub(super) mod strings;
pub(super) mod transactions;

use super::args::Args;
use super::args::integer;
use super::refusal::{NOT_INTEGER, Refusal, SYNTAX};

/// A length as the protocol has it.
fn int(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Where `start..=stop` lies in a sequence of `len`, counted from the end where negative: the first
/// index and how many.
fn span(start: i64, stop: i64, len: usize) -> (usize, usize) {
    let len = int(len);
    let from_end = |index: i64| {
        if index < 0 {
            index.saturating_add(len)
        } else {
            index
        }
    };
    let start = from_end(start).max(0);
    let stop = from_end(stop).min(len.saturating_sub(1));
    if start > stop {
        return (0, 0);
    }
    let count = stop.saturating_sub(start).saturating_add(1);
    (
        usize::try_from(start).unwrap_or(0),
        usize::try_from(count).unwrap_or(0),
    )
}

/// What SCAN and its like may be told: a pattern, a count, a type.
struct ScanOptions<'a> {
    pattern: Option<&'a [u8]>,
    count: usize,
    kind: Option<&'a [u8]>,
}

impl<'a> ScanOptions<'a> {
    fn parse(args: Args<'a>, from: usize, with_kind: bool) -> Result<Self, Refusal> {
        let mut options = Self {
            pattern: None,
            count: 10,
            kind: None,
        };
        let mut at = from;
        while at < args.len() {
            let value = args.find(at + 1).ok_or(SYNTAX)?;
            if args.is(at, "match") {
                options.pattern = Some(value);
            } else if args.is(at, "count") {
                let count = integer(value).ok_or(NOT_INTEGER)?;
                options.count = usize::try_from(count)
                    .ok()
                    .filter(|count| *count > 0)
                    .ok_or(SYNTAX)?;
            } else if with_kind && args.is(at, "type") {
                options.kind = Some(value);
            } else {
                return Err(SYNTAX);
            }
            at += 2;
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn a_span_counts_from_either_end() {
        assert_eq!(span(0, -1, 3), (0, 3));
        assert_eq!(span(-2, -1, 3), (1, 2));
        assert_eq!(span(1, 100, 3), (1, 2));
        assert_eq!(span(-100, 0, 3), (0, 1));
        assert_eq!(span(2, 1, 3), (0, 0));
        assert_eq!(span(3, 4, 3), (0, 0));
        assert_eq!(span(0, -1, 0), (0, 0));
        assert_eq!(span(i64::MIN, i64::MAX, 3), (0, 3));
    }
}
