//! When a client tries again.
//!
//! [`ReconnectPolicy`] is what an application chooses, a value; [`Reconnect`] counts one client's
//! failures and turns them into delays. It has no clock, and the random bits for jitter are a
//! parameter, so that what it answers can be tested to the nanosecond.

use std::num::NonZeroU32;
use std::time::Duration;

/// Whether, when and how often a client connects again, after a connection was lost and after an
/// attempt failed.
///
/// Default: [`fixed`](Self::fixed) at one second, without end.
///
/// ```
/// use arknet_proto::reconnect::ReconnectPolicy;
///
/// let policy = ReconnectPolicy::backoff().attempts(10);
/// # let _ = policy;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReconnectPolicy {
    schedule: Schedule,
    attempts: Option<NonZeroU32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Schedule {
    Off,
    Fixed(Duration),
    Backoff(Backoff),
}

/// Delays that grow, for [`ReconnectPolicy::backoff_with`].
///
/// The nth attempt in a row waits between half and all of `first * factor^(n - 1)`, and of `max` at
/// most. The half that is left to chance keeps the clients of a server that went down from coming
/// back in one wave; the half that is not keeps them from coming back at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Before the first attempt. Default: one second.
    pub first: Duration,
    /// The delay does not grow past this. Default: 30 seconds.
    pub max: Duration,
    /// By how much it grows with every failure; one keeps it as it is. Default: 2.
    pub factor: NonZeroU32,
}

impl ReconnectPolicy {
    /// Unless another is chosen.
    pub const DEFAULT_DELAY: Duration = Duration::from_secs(1);

    /// Shorter delays are raised to this: an attempt on a closed local port fails at once, and a
    /// client without a delay would keep a processor busy with it.
    pub const LEAST_DELAY: Duration = Duration::from_millis(1);

    /// Never again: the first failure and the first loss are final.
    #[must_use]
    pub const fn off() -> Self {
        Self {
            schedule: Schedule::Off,
            attempts: None,
        }
    }

    /// After the same delay every time, at least [`LEAST_DELAY`](Self::LEAST_DELAY).
    #[must_use]
    pub const fn fixed(delay: Duration) -> Self {
        Self {
            schedule: Schedule::Fixed(delay),
            attempts: None,
        }
    }

    /// After delays that double from one second to 30, with jitter.
    #[must_use]
    pub const fn backoff() -> Self {
        Self::backoff_with(Backoff::DEFAULT)
    }

    /// After delays that grow as told.
    #[must_use]
    pub const fn backoff_with(backoff: Backoff) -> Self {
        Self {
            schedule: Schedule::Backoff(backoff),
            attempts: None,
        }
    }

    /// Gives up after this many attempts in a row, zero being [`off`](Self::off). A connection that
    /// opens starts the count again. Default: no end.
    #[must_use]
    pub const fn attempts(self, attempts: u32) -> Self {
        match NonZeroU32::new(attempts) {
            Some(attempts) => Self {
                attempts: Some(attempts),
                ..self
            },
            None => Self::off(),
        }
    }

    /// Whether a client never connects again.
    #[must_use]
    pub const fn is_off(&self) -> bool {
        matches!(self.schedule, Schedule::Off)
    }
}

impl Default for ReconnectPolicy {
    fn default() -> Self {
        Self::fixed(Self::DEFAULT_DELAY)
    }
}

impl Backoff {
    const DEFAULT: Self = Self {
        first: ReconnectPolicy::DEFAULT_DELAY,
        max: Duration::from_secs(30),
        factor: NonZeroU32::MIN.saturating_add(1),
    };

    /// The delay that `random` picks from the range whose end is `ceiling`.
    fn jittered(ceiling: Duration, random: u64) -> Duration {
        let ceiling = nanoseconds(ceiling);
        let fixed = ceiling / 2;
        // A fraction of 2^64, which random bits are over; the product of two u64 fits.
        let share = (u128::from(ceiling - fixed) * u128::from(random)) >> u64::BITS;
        Duration::from_nanos(fixed.saturating_add(u64::try_from(share).unwrap_or(u64::MAX)))
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// One client's place in its policy.
///
/// Call [`failed`](Self::failed) for every attempt that failed and every connection that was lost,
/// wait as long as it says, and try again; call [`succeeded`](Self::succeeded) for every connection
/// that opened.
#[derive(Clone, Debug)]
pub struct Reconnect {
    policy: ReconnectPolicy,
    /// Attempts granted since a connection was open.
    granted: u32,
    /// What the next backoff delay may be at most; `None` before the first.
    ceiling: Option<Duration>,
}

impl Reconnect {
    /// Nothing has failed yet.
    #[must_use]
    pub const fn new(policy: ReconnectPolicy) -> Self {
        Self {
            policy,
            granted: 0,
            ceiling: None,
        }
    }

    /// The delay before the next attempt, or `None` if there is to be none. `random` is 64 random
    /// bits; only backoff looks at them.
    pub fn failed(&mut self, random: u64) -> Option<Duration> {
        if self
            .policy
            .attempts
            .is_some_and(|attempts| self.granted >= attempts.get())
        {
            return None;
        }
        let delay = match self.policy.schedule {
            Schedule::Off => return None,
            Schedule::Fixed(delay) => delay,
            Schedule::Backoff(backoff) => Backoff::jittered(self.grow(backoff), random),
        };
        self.granted = self.granted.saturating_add(1);
        Some(delay.max(ReconnectPolicy::LEAST_DELAY))
    }

    /// A connection opened: delays and attempts begin again.
    pub fn succeeded(&mut self) {
        self.granted = 0;
        self.ceiling = None;
    }

    /// Attempts that were granted since a connection was open.
    #[must_use]
    pub const fn attempts(&self) -> u32 {
        self.granted
    }

    /// The policy.
    #[must_use]
    pub const fn policy(&self) -> &ReconnectPolicy {
        &self.policy
    }

    /// This delay's ceiling, while the next one's is remembered.
    fn grow(&mut self, backoff: Backoff) -> Duration {
        let ceiling = self.ceiling.unwrap_or(backoff.first).min(backoff.max);
        self.ceiling = Some(ceiling.saturating_mul(backoff.factor.get()));
        ceiling
    }
}

/// What a delay of more than 584 years has beyond them is cut off.
fn nanoseconds(delay: Duration) -> u64 {
    u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn backoff(first: Duration, max: Duration, factor: u32) -> Backoff {
        Backoff {
            first,
            max,
            factor: NonZeroU32::new(factor).unwrap(),
        }
    }

    #[test]
    fn by_default_a_client_tries_again_every_second_without_end() {
        let mut reconnect = Reconnect::new(ReconnectPolicy::default());
        for _ in 0..1_000 {
            assert_eq!(reconnect.failed(u64::MAX), Some(SECOND));
        }
        assert_eq!(reconnect.attempts(), 1_000);
    }

    #[test]
    fn off_is_off() {
        assert!(ReconnectPolicy::off().is_off());
        assert_eq!(Reconnect::new(ReconnectPolicy::off()).failed(0), None);
        let never = ReconnectPolicy::fixed(SECOND).attempts(0);
        assert_eq!(never, ReconnectPolicy::off());
    }

    #[test]
    fn it_gives_up_after_its_attempts_and_an_open_connection_renews_them() {
        let mut reconnect = Reconnect::new(ReconnectPolicy::fixed(SECOND).attempts(2));
        assert_eq!(reconnect.failed(0), Some(SECOND));
        assert_eq!(reconnect.failed(0), Some(SECOND));
        assert_eq!(reconnect.failed(0), None);
        assert_eq!(reconnect.failed(0), None);
        reconnect.succeeded();
        assert_eq!(reconnect.failed(0), Some(SECOND));
        assert_eq!(reconnect.attempts(), 1);
    }

    #[test]
    fn delays_double_to_half_a_minute_and_start_over() {
        let mut reconnect = Reconnect::new(ReconnectPolicy::backoff());
        // All random bits set is the whole delay but for a nanosecond.
        let mut seconds = || reconnect.failed(u64::MAX).unwrap().as_secs_f64().round();
        let delays: Vec<f64> = std::iter::repeat_with(&mut seconds).take(7).collect();
        assert_eq!(delays, [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]);
        reconnect.succeeded();
        assert_eq!(reconnect.failed(0), Some(Duration::from_millis(500)));
    }

    #[test]
    fn chance_picks_from_the_upper_half() {
        let policy = ReconnectPolicy::backoff_with(backoff(SECOND, SECOND, 1));
        let mut reconnect = Reconnect::new(policy);
        assert_eq!(reconnect.failed(0), Some(Duration::from_millis(500)));
        assert_eq!(reconnect.failed(1 << 63), Some(Duration::from_millis(750)));
        assert_eq!(
            reconnect.failed(u64::MAX),
            Some(SECOND - Duration::from_nanos(1))
        );
    }

    #[test]
    fn no_delay_is_so_short_that_a_client_spins() {
        let policies = [
            ReconnectPolicy::fixed(Duration::ZERO),
            ReconnectPolicy::backoff_with(backoff(Duration::ZERO, SECOND, 2)),
            ReconnectPolicy::backoff_with(backoff(SECOND, Duration::ZERO, 2)),
        ];
        for policy in policies {
            let delay = Reconnect::new(policy).failed(0);
            assert_eq!(delay, Some(ReconnectPolicy::LEAST_DELAY));
        }
    }

    proptest! {
        #[test]
        fn no_policy_overflows_or_leaves_its_bounds(
            first: Duration,
            max: Duration,
            factor in 1..=u32::MAX,
            random in prop::collection::vec(any::<u64>(), 1..100),
        ) {
            let policy = ReconnectPolicy::backoff_with(backoff(first, max, factor));
            let mut reconnect = Reconnect::new(policy);
            let mut ceiling = nanoseconds(first.min(max));
            for random in random {
                let delay = reconnect.failed(random).unwrap();
                let most = Duration::from_nanos(ceiling).max(ReconnectPolicy::LEAST_DELAY);
                let least = Duration::from_nanos(ceiling / 2);
                prop_assert!(least <= delay && delay <= most, "{least:?} {delay:?} {most:?}");
                let grown = u128::from(ceiling) * u128::from(factor);
                ceiling = u64::try_from(grown).unwrap_or(u64::MAX).min(nanoseconds(max));
            }
        }
    }
}
