//! Ranges, as the server writes their ends.

use std::ops::{Bound, RangeBounds};

/// Scores: `(` before one that is not in the range.
pub(in crate::redis::commands) fn score_bounds(range: &impl RangeBounds<f64>) -> (String, String) {
    let end = |bound, unbounded: &str| match bound {
        Bound::Included(score) => format!("{score:?}"),
        Bound::Excluded(score) => format!("({score:?}"),
        Bound::Unbounded => unbounded.to_owned(),
    };
    (
        end(range.start_bound(), "-inf"),
        end(range.end_bound(), "+inf"),
    )
}

/// Text: `[` before one that is in the range, `(` before one that is not.
pub(in crate::redis::commands) fn lex_bounds<'a>(
    range: &impl RangeBounds<&'a str>,
) -> (String, String) {
    let end = |bound, unbounded: &str| match bound {
        Bound::Included(text) => format!("[{text}"),
        Bound::Excluded(text) => format!("({text}"),
        Bound::Unbounded => unbounded.to_owned(),
    };
    (end(range.start_bound(), "-"), end(range.end_bound(), "+"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(first: &str, second: &str) -> (String, String) {
        (first.to_owned(), second.to_owned())
    }

    #[test]
    fn the_ends_of_a_range_are_in_it_or_not() {
        assert_eq!(score_bounds(&(1.0..2.5)), pair("1.0", "(2.5"));
        assert_eq!(score_bounds(&(1.0..=2.5)), pair("1.0", "2.5"));
        assert_eq!(score_bounds(&(..=1e300)), pair("-inf", "1e300"));
        assert_eq!(score_bounds(&..), pair("-inf", "+inf"));
        let apart = (Bound::Excluded(0.0), Bound::Unbounded);
        assert_eq!(score_bounds(&apart), pair("(0.0", "+inf"));

        assert_eq!(lex_bounds(&("a".."b")), pair("[a", "(b"));
        assert_eq!(lex_bounds(&("a"..="b")), pair("[a", "[b"));
        assert_eq!(lex_bounds(&..), pair("-", "+"));
    }
}
