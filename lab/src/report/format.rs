//! Numbers as a reader meets them: separators, sensible digits, a real minus sign.

use crate::stats::summary::Summary;

/// A number with thousands separators and about four significant digits.
#[must_use]
pub fn number(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 10_000.0 => 0,
        size if size >= 100.0 => 1,
        _ => 2,
    };
    grouped(&format!("{value:.decimals$}"))
}

/// A count with thousands separators.
#[must_use]
pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// `median [min–max]`.
#[must_use]
pub fn range(summary: &Summary) -> String {
    let Summary {
        median, min, max, ..
    } = *summary;
    format!("{} [{}–{}]", number(median), number(min), number(max))
}

/// `+1.83%`, `−3.65%`.
#[must_use]
pub fn percent_change(percent: f64) -> String {
    let sign = if percent < 0.0 { '−' } else { '+' };
    format!("{sign}{:.2}%", percent.abs())
}

/// A ratio with its range: `1.02 [0.99–1.05]`.
#[must_use]
pub fn ratio(summary: &Summary) -> String {
    format!(
        "{:.3} [{:.3}–{:.3}]",
        summary.median, summary.min, summary.max
    )
}

/// Run ids, runs of neighbours shortened: `r0003–r0006, r0021`.
#[must_use]
pub fn run_ids(ids: &[&str]) -> String {
    let mut sorted: Vec<&str> = ids.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut spans: Vec<(&str, &str)> = Vec::new();
    for id in sorted {
        match spans.last_mut() {
            Some((_, last)) if follows(last, id) => *last = id,
            _ => spans.push((id, id)),
        }
    }
    let texts = spans.into_iter().map(|(first, last)| match first == last {
        true => first.to_owned(),
        false => format!("{first}–{last}"),
    });
    texts.collect::<Vec<_>>().join(", ")
}

fn follows(last: &str, id: &str) -> bool {
    let of = |id: &str| {
        id.strip_prefix('r')
            .and_then(|digits| digits.parse::<u64>().ok())
    };
    matches!((of(last), of(id)), (Some(a), Some(b)) if a.checked_add(1) == Some(b))
}

fn grouped(text: &str) -> String {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => ("−", rest),
        None => ("", text),
    };
    let (whole, fraction) = text
        .split_once('.')
        .map_or((text, None), |(w, f)| (w, Some(f)));
    let mut grouped = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && whole.len().saturating_sub(index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if let Some(fraction) = fraction {
        grouped.push('.');
        grouped.push_str(fraction);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_separators_and_no_false_precision() {
        assert_eq!(number(1_837_089.63), "1,837,090");
        assert_eq!(number(4_251.58), "4,251.6");
        assert_eq!(number(92.0), "92.00");
        assert_eq!(number(-1234.5), "−1,234.5");
        assert_eq!(count(999), "999");
        assert_eq!(count(5_044_224), "5,044,224");
    }

    #[test]
    fn changes_carry_their_sign() {
        assert_eq!(percent_change(1.834), "+1.83%");
        assert_eq!(percent_change(-3.65), "−3.65%");
    }

    #[test]
    fn neighbouring_runs_are_one_span() {
        assert_eq!(
            run_ids(&["r0004", "r0003", "r0009", "r0005"]),
            "r0003–r0005, r0009"
        );
        assert_eq!(run_ids(&[]), "");
    }
}
