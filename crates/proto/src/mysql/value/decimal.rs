//! DECIMAL, as digits.

use std::fmt;

/// A decimal number as text, exactly as the server has it: an optional sign, digits, and a point among them if need be.
///
/// It does no arithmetic: give the text to a decimal type of your choice.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decimal(String);

impl Decimal {
    /// A number in digits; `None` for anything else.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        is_decimal(text.as_bytes()).then_some(Self(text))
    }

    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The digits.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether it is an optional sign, and digits with at most one point among them.
pub(crate) fn is_decimal(text: &[u8]) -> bool {
    let (whole, fraction) = parts(text);
    let digits = whole.iter().chain(fraction);
    !(whole.is_empty() && fraction.is_empty()) && digits.clone().all(u8::is_ascii_digit)
}

/// The digits before the point, and those behind it.
fn parts(text: &[u8]) -> (&[u8], &[u8]) {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    match digits.iter().position(|byte| *byte == b'.') {
        Some(point) => (
            digits.get(..point).unwrap_or_default(),
            digits.get(point + 1..).unwrap_or_default(),
        ),
        None => (digits, &[]),
    }
}

/// Its value, if it is a whole number: all behind the point is zero.
pub(crate) fn whole(text: &[u8]) -> Option<i128> {
    if !is_decimal(text) {
        return None;
    }
    let (whole, fraction) = parts(text);
    if fraction.iter().any(|digit| *digit != b'0') {
        return None;
    }
    let magnitude = whole.iter().try_fold(0_i128, |value, digit| {
        value.checked_mul(10)?.checked_add(i128::from(digit - b'0'))
    })?;
    Some(if text.starts_with(b"-") {
        -magnitude
    } else {
        magnitude
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_kept_as_they_are() {
        for text in ["0", "-0.00", "12345678901234567890.5", "007", ".5", "5."] {
            assert_eq!(Decimal::new(text).unwrap().to_string(), text);
        }
        for text in ["", "-", ".", "-.", "1e5", "+1", "1.2.3", "1,5", " 1", "NaN"] {
            assert_eq!(Decimal::new(text), None, "{text}");
        }
    }

    #[test]
    fn whole_numbers_are_numbers() {
        assert_eq!(whole(b"-42.000"), Some(-42));
        assert_eq!(whole(b"18446744073709551615"), Some(u64::MAX.into()));
        assert_eq!(whole(b"0.5"), None);
        assert_eq!(whole(&[b'9'; 60]), None);
    }
}
