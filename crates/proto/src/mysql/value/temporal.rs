//! Dates and times as MySQL has them, which is more than a calendar has: zero dates, dates without a day, negative times.

use std::fmt;
use std::time::Duration;

/// A date: `0000-00-00` to `9999-12-31`. Month and day may be zero, and 31 of February is a date to a server that is
/// told so. Nothing is ever changed into something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

/// A date and a time of that day, without a time zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime {
    date: Date,
    hour: u8,
    minute: u8,
    second: u8,
    microsecond: u32,
}

/// A span of time from `-838:59:59.999999` to `838:59:59.999999`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Time {
    negative: bool,
    hours: u16,
    minutes: u8,
    seconds: u8,
    microseconds: u32,
}

/// The most hours of a [`Time`].
const MAX_HOURS: u16 = 838;

impl Date {
    /// A date; `None` beyond the year 9999, the month 12 or the day 31.
    #[must_use]
    pub const fn new(year: u16, month: u8, day: u8) -> Option<Self> {
        if year > 9999 || month > 12 || day > 31 {
            return None;
        }
        Some(Self { year, month, day })
    }

    /// 0 to 9999.
    #[must_use]
    pub const fn year(self) -> u16 {
        self.year
    }

    /// 1 to 12, or 0.
    #[must_use]
    pub const fn month(self) -> u8 {
        self.month
    }

    /// 1 to 31, or 0.
    #[must_use]
    pub const fn day(self) -> u8 {
        self.day
    }

    /// Whether it is `0000-00-00`.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.year == 0 && self.month == 0 && self.day == 0
    }

    /// Whether a calendar has it.
    #[must_use]
    pub const fn is_real(self) -> bool {
        let leap = self.year.is_multiple_of(4)
            && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400));
        let days = match self.month {
            0 => 0,
            2 if leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        self.day >= 1 && self.day <= days
    }
}

impl DateTime {
    /// A time of a day; `None` beyond 23:59:59.999999.
    #[must_use]
    pub const fn new(
        date: Date,
        hour: u8,
        minute: u8,
        second: u8,
        microsecond: u32,
    ) -> Option<Self> {
        if hour > 23 || minute > 59 || second > 59 || microsecond > 999_999 {
            return None;
        }
        Some(Self {
            date,
            hour,
            minute,
            second,
            microsecond,
        })
    }

    /// The day.
    #[must_use]
    pub const fn date(self) -> Date {
        self.date
    }

    /// 0 to 23.
    #[must_use]
    pub const fn hour(self) -> u8 {
        self.hour
    }

    /// 0 to 59.
    #[must_use]
    pub const fn minute(self) -> u8 {
        self.minute
    }

    /// 0 to 59.
    #[must_use]
    pub const fn second(self) -> u8 {
        self.second
    }

    /// 0 to 999,999.
    #[must_use]
    pub const fn microsecond(self) -> u32 {
        self.microsecond
    }

    /// Whether it is midnight.
    #[must_use]
    pub(crate) const fn is_midnight(self) -> bool {
        self.hour == 0 && self.minute == 0 && self.second == 0 && self.microsecond == 0
    }
}

impl From<Date> for DateTime {
    /// Midnight.
    fn from(date: Date) -> Self {
        Self {
            date,
            ..Self::default()
        }
    }
}

impl Time {
    /// A span; `None` beyond 838:59:59.999999. Nothing is not negative.
    #[must_use]
    pub const fn new(
        negative: bool,
        hours: u16,
        minutes: u8,
        seconds: u8,
        microseconds: u32,
    ) -> Option<Self> {
        if hours > MAX_HOURS || minutes > 59 || seconds > 59 || microseconds > 999_999 {
            return None;
        }
        let is_zero = hours == 0 && minutes == 0 && seconds == 0 && microseconds == 0;
        let negative = negative && !is_zero;
        Some(Self {
            negative,
            hours,
            minutes,
            seconds,
            microseconds,
        })
    }

    /// Whether it is less than nothing.
    #[must_use]
    pub const fn is_negative(self) -> bool {
        self.negative
    }

    /// 0 to 838.
    #[must_use]
    pub const fn hours(self) -> u16 {
        self.hours
    }

    /// 0 to 59.
    #[must_use]
    pub const fn minutes(self) -> u8 {
        self.minutes
    }

    /// 0 to 59.
    #[must_use]
    pub const fn seconds(self) -> u8 {
        self.seconds
    }

    /// 0 to 999,999.
    #[must_use]
    pub const fn microseconds(self) -> u32 {
        self.microseconds
    }

    /// The whole of it in microseconds.
    #[must_use]
    pub const fn total_microseconds(self) -> i64 {
        let minutes = self.hours as i64 * 60 + self.minutes as i64;
        let total = (minutes * 60 + self.seconds as i64) * 1_000_000 + self.microseconds as i64;
        if self.negative { -total } else { total }
    }

    /// Its length; `None` if it is negative.
    #[must_use]
    pub fn to_duration(self) -> Option<Duration> {
        u64::try_from(self.total_microseconds())
            .ok()
            .map(Duration::from_micros)
    }

    /// So long, to the microsecond below; `None` beyond 838:59:59.999999.
    #[must_use]
    pub fn from_duration(duration: Duration) -> Option<Self> {
        let seconds = duration.as_secs();
        let hours = u16::try_from(seconds / 3600).ok()?;
        let minutes = (seconds / 60 % 60) as u8;
        Self::new(
            false,
            hours,
            minutes,
            (seconds % 60) as u8,
            duration.subsec_micros(),
        )
    }
}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.total_microseconds().cmp(&other.total_microseconds())
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {:02}:{:02}:{:02}",
            self.date, self.hour, self.minute, self.second
        )?;
        fraction(f, self.microsecond)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        write!(
            f,
            "{sign}{:02}:{:02}:{:02}",
            self.hours, self.minutes, self.seconds
        )?;
        fraction(f, self.microseconds)
    }
}

fn fraction(f: &mut fmt::Formatter<'_>, microseconds: u32) -> fmt::Result {
    if microseconds == 0 {
        return Ok(());
    }
    write!(f, ".{microseconds:06}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_and_partial_dates_are_dates() {
        for (date, is_real) in [
            ((0, 0, 0), false),
            ((2016, 7, 0), false),
            ((2023, 2, 29), false),
            ((2024, 2, 29), true),
            ((1900, 2, 29), false),
            ((2000, 2, 29), true),
            ((2024, 4, 31), false),
            ((9999, 12, 31), true),
        ] {
            let date = Date::new(date.0, date.1, date.2).unwrap();
            assert_eq!(date.is_real(), is_real, "{date}");
        }
        assert!(Date::default().is_zero());
        assert_eq!(Date::new(10_000, 1, 1), None);
        assert_eq!(Date::new(2024, 13, 1), None);
        assert_eq!(Date::new(2024, 1, 32), None);
    }

    #[test]
    fn times_have_a_sign_and_an_order() {
        let low = Time::new(true, 838, 59, 59, 999_999).unwrap();
        let high = Time::new(false, 838, 59, 59, 999_999).unwrap();
        assert!(low < Time::default() && Time::default() < high);
        assert_eq!(
            (low.to_string(), high.to_duration().unwrap().as_secs()),
            ("-838:59:59.999999".into(), 3_020_399)
        );
        assert_eq!(low.to_duration(), None);
        assert_eq!(Time::new(true, 0, 0, 0, 0), Some(Time::default()));
        assert_eq!(Time::new(false, 839, 0, 0, 0), None);
        let duration = Duration::from_micros(high.total_microseconds() as u64);
        assert_eq!(Time::from_duration(duration), Some(high));
        assert_eq!(Time::from_duration(Duration::from_secs(839 * 3600)), None);
    }

    #[test]
    fn texts_are_those_of_the_server() {
        let date = Date::new(2024, 2, 29).unwrap();
        assert_eq!(DateTime::from(date).to_string(), "2024-02-29 00:00:00");
        assert_eq!(
            DateTime::new(date, 23, 59, 59, 120).unwrap().to_string(),
            "2024-02-29 23:59:59.000120"
        );
        assert_eq!(DateTime::new(date, 24, 0, 0, 0), None);
        assert_eq!(
            Time::new(false, 1, 2, 3, 0).unwrap().to_string(),
            "01:02:03"
        );
    }
}
