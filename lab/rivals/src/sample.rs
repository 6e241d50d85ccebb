//! What a run says about itself, and the costs that follow from it.

use arknet_lab::measure::Measurement;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// One run's figures. Messages, time and CPU all cover the measured phase and nothing else; the CPU
/// is the process's: both ends of an echo, the client alone of a database.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Sample {
    /// Round trips, or whatever else the work counts.
    pub(crate) messages: u64,
    /// Seconds of wall time.
    pub(crate) elapsed_seconds: f64,
    /// Seconds of CPU in user mode.
    pub(crate) cpu_user_seconds: f64,
    /// Seconds of CPU in the kernel.
    pub(crate) cpu_system_seconds: f64,
    /// Median round trip of a message in microseconds; absent where a clock reading would be a good
    /// part of what is measured.
    #[serde(default)]
    pub(crate) rtt_p50_us: Option<f64>,
    /// 99th percentile of the same.
    #[serde(default)]
    pub(crate) rtt_p99_us: Option<f64>,
    /// Wrong contents, wrong order, failed operations, in any phase.
    pub(crate) errors: u64,
}

impl Sample {
    /// The figures of one of the lab's measurements.
    ///
    /// # Errors
    ///
    /// When the measurement is invalid, or the system does not tell the CPU time.
    pub(crate) fn of(measurement: &Measurement) -> Result<Self, Failure> {
        if let Some(why) = &measurement.error {
            return Err(Failure::Invalid(why.clone()));
        }
        let (Some(cpu), Some(user)) = (
            measurement.cpu_ns_per_message,
            measurement.cpu_user_ns_per_message,
        ) else {
            return Err(Failure::Invalid(
                "the system does not tell the CPU time".to_owned(),
            ));
        };
        let seconds = |per_message: f64| per_message * measurement.messages as f64 / 1e9;
        Ok(Self {
            messages: measurement.messages,
            elapsed_seconds: measurement.elapsed_seconds,
            cpu_user_seconds: seconds(user),
            cpu_system_seconds: seconds(cpu - user),
            rtt_p50_us: Some(measurement.rtt_p50_us),
            rtt_p99_us: Some(measurement.rtt_p99_us),
            errors: measurement.warmup_errors + measurement.counters.values().sum::<u64>(),
        })
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
