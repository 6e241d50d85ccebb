//! What a run says about itself, and the costs that follow from it.

use std::time::Instant;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::traffic::Run;

/// One run's figures. Messages, time and CPU all cover the measured phase and nothing else; the CPU
/// is the process's, client and server ends together.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Sample {
    /// Round trips.
    pub(crate) messages: u64,
    /// Seconds of wall time.
    pub(crate) elapsed_seconds: f64,
    /// Seconds of CPU in user mode.
    pub(crate) cpu_user_seconds: f64,
    /// Seconds of CPU in the kernel.
    pub(crate) cpu_system_seconds: f64,
    /// Median round trip of a message in microseconds.
    pub(crate) rtt_p50_us: f64,
    /// 99th percentile of the same.
    pub(crate) rtt_p99_us: f64,
    /// Wrong contents, wrong order, failed operations, in any phase.
    pub(crate) errors: u64,
}

impl Sample {
    /// The sample between two stamps of a run.
    pub(crate) fn between(run: &Run, begin: &Stamp, end: &Stamp, trips: &Histogram<u64>) -> Self {
        let microseconds = |q| trips.value_at_quantile(q) as f64 / 1000.0;
        Self {
            messages: end.messages - begin.messages,
            elapsed_seconds: end.at.duration_since(begin.at).as_secs_f64(),
            cpu_user_seconds: end.user - begin.user,
            cpu_system_seconds: end.system - begin.system,
            rtt_p50_us: microseconds(0.5),
            rtt_p99_us: microseconds(0.99),
            errors: run.errors(),
        }
    }

    /// Whether the run counts.
    pub(crate) fn is_valid(&self) -> bool {
        self.errors == 0 && self.messages > 0
    }

    /// Microseconds of CPU a message.
    pub(crate) fn cpu_us(&self) -> f64 {
        self.per_message(self.cpu_user_seconds + self.cpu_system_seconds)
    }

    /// Microseconds of user-mode CPU a message.
    pub(crate) fn user_us(&self) -> f64 {
        self.per_message(self.cpu_user_seconds)
    }

    /// Microseconds of wall time a message.
    pub(crate) fn wall_us(&self) -> f64 {
        self.per_message(self.elapsed_seconds)
    }

    fn per_message(&self, seconds: f64) -> f64 {
        seconds * 1e6 / self.messages as f64
    }
}

/// One end of the measured phase.
pub(crate) struct Stamp {
    at: Instant,
    messages: u64,
    user: f64,
    system: f64,
}

impl Stamp {
    pub(crate) fn now(run: &Run) -> Result<Self, Failure> {
        let (user, system) = process_cpu().map_err(Failure::io("reading the CPU time"))?;
        Ok(Self {
            at: Instant::now(),
            messages: run.messages(),
            user,
            system,
        })
    }
}

/// Seconds of CPU that this process has used, user and system.
#[cfg(unix)]
fn process_cpu() -> std::io::Result<(f64, f64)> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the pointer is valid for one `rusage`, which the call fills before it returns 0.
    let usage = unsafe {
        if libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    Ok((seconds(usage.ru_utime), seconds(usage.ru_stime)))
}

#[cfg(not(unix))]
fn process_cpu() -> std::io::Result<(f64, f64)> {
    Err(std::io::ErrorKind::Unsupported.into())
}
