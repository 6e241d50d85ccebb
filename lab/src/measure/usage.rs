//! What the process has used: processor time, context switches, memory; and which threads used it.
//!
//! Client and server are both in the process, so both are included. 100 % is one logical processor.

use std::collections::BTreeMap;

/// Processor time and context switches of the process since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Microseconds spent in user code.
    pub user_us: u64,
    /// Microseconds spent in the kernel.
    pub system_us: u64,
    /// Times a thread went to sleep.
    pub voluntary: u64,
    /// Times a thread was taken off its processor.
    pub involuntary: u64,
}

impl Usage {
    /// What was used up to now; `None` where the system does not say.
    pub fn now() -> Option<Self> {
        Some(platform::resources()?.0)
    }

    /// What was used since `earlier`.
    pub fn since(self, earlier: Usage) -> Usage {
        Usage {
            user_us: self.user_us.saturating_sub(earlier.user_us),
            system_us: self.system_us.saturating_sub(earlier.system_us),
            voluntary: self.voluntary.saturating_sub(earlier.voluntary),
            involuntary: self.involuntary.saturating_sub(earlier.involuntary),
        }
    }

    /// Seconds of processor time, user and system.
    pub fn cpu_seconds(self) -> f64 {
        (self.user_us + self.system_us) as f64 / 1e6
    }
}

/// The largest resident size that the process ever had, in bytes; `None` where the system does not
/// say.
pub fn peak_rss() -> Option<u64> {
    Some(platform::resources()?.1)
}

/// Processor seconds by the role of the threads that live now: their names without numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Roles(pub BTreeMap<String, f64>);

impl Roles {
    /// What each role has used up to now; empty where the system does not say.
    pub fn now() -> Self {
        Roles(platform::threads())
    }

    /// What each role used since `earlier`.
    pub fn since(mut self, earlier: &Roles) -> Roles {
        for (role, seconds) in &mut self.0 {
            *seconds = (*seconds - earlier.0.get(role).copied().unwrap_or(0.0)).max(0.0);
        }
        self
    }
}

/// The role in a thread's name: `io` of `io-3`.
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "only Linux lists threads")
)]
fn role(name: &str) -> &str {
    let name = name.trim();
    let short = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-' || c == '_');
    if short.is_empty() { name } else { short }
}

#[cfg(unix)]
mod platform {
    use std::collections::BTreeMap;
    use std::mem::MaybeUninit;

    use super::Usage;

    /// `ru_maxrss` is in bytes on Apple's systems and in KiB on all others.
    const RSS_UNIT: u64 = if cfg!(target_vendor = "apple") {
        1
    } else {
        1024
    };

    pub(super) fn resources() -> Option<(Usage, u64)> {
        let mut usage = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer is valid for a write of one `rusage`, which is all getrusage does.
        let status = unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) };
        if status != 0 {
            return None;
        }
        // SAFETY: a `rusage` is plain integers, for which zeroes are valid, and it was written.
        let usage = unsafe { usage.assume_init() };
        let micros = |time: libc::timeval| {
            let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
            seconds.saturating_mul(1_000_000) + u64::try_from(time.tv_usec).unwrap_or(0)
        };
        let count = |n| u64::try_from(n).unwrap_or(0);
        let used = Usage {
            user_us: micros(usage.ru_utime),
            system_us: micros(usage.ru_stime),
            voluntary: count(usage.ru_nvcsw),
            involuntary: count(usage.ru_nivcsw),
        };
        Some((used, count(usage.ru_maxrss).saturating_mul(RSS_UNIT)))
    }

    #[cfg(target_os = "linux")]
    pub(super) fn threads() -> BTreeMap<String, f64> {
        let mut roles = BTreeMap::new();
        let Ok(tasks) = std::fs::read_dir("/proc/self/task") else {
            return roles;
        };
        for task in tasks.flatten() {
            let read = |file| std::fs::read_to_string(task.path().join(file)).ok();
            // The first number of schedstat is the time on a processor, in nanoseconds.
            let (Some(name), Some(times)) = (read("comm"), read("schedstat")) else {
                continue;
            };
            let time = times
                .split(' ')
                .next()
                .and_then(|ns| ns.parse::<u64>().ok());
            let seconds = time.unwrap_or(0) as f64 / 1e9;
            *roles.entry(super::role(&name).to_owned()).or_insert(0.0) += seconds;
        }
        roles
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn threads() -> BTreeMap<String, f64> {
        BTreeMap::new()
    }
}

#[cfg(not(unix))]
mod platform {
    use std::collections::BTreeMap;

    use super::Usage;

    pub(super) fn resources() -> Option<(Usage, u64)> {
        None
    }

    pub(super) fn threads() -> BTreeMap<String, f64> {
        BTreeMap::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_at_the_end_of_a_threads_name_are_not_its_role() {
        assert_eq!(role("io-12\n"), "io");
        assert_eq!(role("tokio-rt-worker"), "tokio-rt-worker");
        assert_eq!(role("42"), "42");
    }

    #[test]
    fn what_was_used_is_a_difference_that_never_wraps() {
        let early = Usage {
            user_us: 5,
            system_us: 7,
            voluntary: 1,
            involuntary: 9,
        };
        let late = Usage {
            user_us: 1_000_005,
            system_us: 500_007,
            voluntary: 3,
            involuntary: 0,
        };
        let used = late.since(early);
        assert_eq!((used.voluntary, used.involuntary), (2, 0));
        assert_eq!(used.cpu_seconds(), 1.5);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_kernel_tells_time_memory_and_roles() {
        let used = Usage::now().expect("Linux has getrusage");
        assert!(used.cpu_seconds() > 0.0);
        // A process that runs tests is larger than a page and smaller than the machine.
        assert!(peak_rss().is_some_and(|bytes| bytes > 1 << 16));
        let roles = Roles::now();
        assert!(
            roles
                .clone()
                .since(&roles)
                .0
                .values()
                .all(|seconds| *seconds == 0.0)
        );
    }
}
