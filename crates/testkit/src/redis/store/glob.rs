//! Patterns as Redis has them: `*`, `?`, `[a-c]`, `[^x]`, and `\` before any of them.

/// Whether `text` matches `pattern`.
///
/// Of the stars only the last is ever tried again, so that no pattern takes longer than the product of
/// the two lengths.
pub(in crate::redis) fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut pattern, mut text) = (pattern, text);
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        if let [b'*', rest @ ..] = pattern {
            pattern = rest;
            retry = Some((rest, text));
            continue;
        }
        let step = match text.split_first() {
            None if pattern.is_empty() => return true,
            None => return false,
            Some((byte, behind)) => one(pattern, *byte).map(|rest| (rest, behind)),
        };
        match (step, retry) {
            (Some((rest, behind)), _) => (pattern, text) = (rest, behind),
            // The star takes one byte more.
            (None, Some((after_star, [_, from @ ..]))) => {
                retry = Some((after_star, from));
                (pattern, text) = (after_star, from);
            }
            (None, _) => return false,
        }
    }
}

/// What follows the first item of `pattern`, if that item (no star) matches `byte`.
fn one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    match pattern {
        [] => None,
        [b'?', rest @ ..] => Some(rest),
        [b'[', rest @ ..] => class(rest, byte),
        [b'\\', escaped, rest @ ..] => (*escaped == byte).then_some(rest),
        [literal, rest @ ..] => (*literal == byte).then_some(rest),
    }
}

/// What follows a class, whose opening bracket is behind us, if it contains `byte`. One that is not
/// closed ends with the pattern.
fn class(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    let (negated, mut pattern) = match pattern {
        [b'^', rest @ ..] => (true, rest),
        _ => (false, pattern),
    };
    let mut found = false;
    loop {
        pattern = match pattern {
            [] => break,
            [b']', rest @ ..] => {
                pattern = rest;
                break;
            }
            [b'\\', escaped, rest @ ..] => {
                found |= *escaped == byte;
                rest
            }
            [from, b'-', to, rest @ ..] => {
                let (low, high) = (from.min(to), from.max(to));
                found |= (low..=high).contains(&&byte);
                rest
            }
            [literal, rest @ ..] => {
                found |= *literal == byte;
                rest
            }
        };
    }
    (found != negated).then_some(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_what_redis_documents() {
        for (pattern, texts) in [
            ("h?llo", &["hello", "hallo"][..]),
            ("h*llo", &["hllo", "heeeello"]),
            ("h[ae]llo", &["hello", "hallo"]),
            ("h[^e]llo", &["hallo", "hbllo"]),
            ("h[a-b]llo", &["hallo", "hbllo"]),
            ("*", &["", "anything"]),
            ("a\\*b", &["a*b"]),
            ("*a*b*", &["ab", "xaxbx", "aabb"]),
        ] {
            for text in texts {
                assert!(
                    matches(pattern.as_bytes(), text.as_bytes()),
                    "{pattern} {text}"
                );
            }
        }
        for (pattern, text) in [
            ("h?llo", "hllo"),
            ("h[ae]llo", "hillo"),
            ("h[^e]llo", "hello"),
            ("a\\*b", "axb"),
            ("", "a"),
            ("*a", "ab"),
        ] {
            assert!(
                !matches(pattern.as_bytes(), text.as_bytes()),
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn many_stars_take_no_longer_than_the_product_of_the_lengths() {
        let text = vec![b'a'; 4_000];
        assert!(!matches(
            "a*".repeat(200)
                .as_bytes()
                .iter()
                .copied()
                .chain(*b"b")
                .collect::<Vec<_>>()
                .as_slice(),
            &text
        ));
    }
}
