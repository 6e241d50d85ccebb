//! What the children of this process have used so far.
//!
//! One measuring process runs at a time, so the difference of two readings is that process's own.
//! The kernel is asked directly because a child cannot count what its exit costs.

use serde::{Deserialize, Serialize};

/// Resources of one measuring process, seen from outside: start and exit are included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// Seconds in user mode.
    pub user_seconds: f64,
    /// Seconds in the kernel.
    pub system_seconds: f64,
    /// Times that a thread gave its processor up to wait.
    pub voluntary_switches: i64,
    /// Times that a thread lost its processor.
    pub involuntary_switches: i64,
    /// Page faults without IO.
    pub minor_faults: i64,
    /// Page faults with IO.
    pub major_faults: i64,
}

impl Resources {
    /// The sum over all children that have ended, or zeros where the system cannot say.
    #[must_use]
    pub fn of_children() -> Self {
        read().unwrap_or_default()
    }

    /// What was used between `earlier` and this reading.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            user_seconds: self.user_seconds - earlier.user_seconds,
            system_seconds: self.system_seconds - earlier.system_seconds,
            voluntary_switches: self.voluntary_switches - earlier.voluntary_switches,
            involuntary_switches: self.involuntary_switches - earlier.involuntary_switches,
            minor_faults: self.minor_faults - earlier.minor_faults,
            major_faults: self.major_faults - earlier.major_faults,
        }
    }
}

#[cfg(unix)]
fn read() -> Option<Resources> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for one `rusage`, all of whose bit patterns are valid.
    let usage = unsafe {
        if libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) != 0 {
            return None;
        }
        usage.assume_init()
    };
    Some(Resources {
        user_seconds: seconds(usage.ru_utime),
        system_seconds: seconds(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw,
        involuntary_switches: usage.ru_nivcsw,
        minor_faults: usage.ru_minflt,
        major_faults: usage.ru_majflt,
    })
}

#[cfg(unix)]
#[allow(
    clippy::cast_precision_loss,
    reason = "processor seconds fit a float's 53 bits"
)]
fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

#[cfg(not(unix))]
fn read() -> Option<Resources> {
    None
}
