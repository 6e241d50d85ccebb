//! Wall-clock time as records write it.

use std::time::{SystemTime, UNIX_EPOCH};

const SECONDS_PER_DAY: u64 = 86_400;

/// The current time in UTC, to the second: `2026-10-15T19:07:59Z`.
#[must_use]
pub fn now_utc() -> String {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    format_utc(since.as_secs())
}

/// Seconds since the epoch as UTC.
#[must_use]
pub fn format_utc(seconds: u64) -> String {
    let (year, month, day) = civil(seconds / SECONDS_PER_DAY);
    let of_day = seconds % SECONDS_PER_DAY;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Days since the epoch as a date, counting from 1 March so that a leap day ends its year.
fn civil(days: u64) -> (u64, u64, u64) {
    const DAYS_FROM_0000_03_01: u64 = 719_468;
    const DAYS_PER_ERA: u64 = 146_097;
    let shifted = days.saturating_add(DAYS_FROM_0000_03_01);
    let era = shifted / DAYS_PER_ERA;
    let of_era = shifted % DAYS_PER_ERA;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::format_utc;

    #[test]
    fn known_instants_are_written_as_the_calendar_has_them() {
        assert_eq!(format_utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(format_utc(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(format_utc(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(format_utc(1_792_091_279), "2026-10-15T19:07:59Z");
    }
}
