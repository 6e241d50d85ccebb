//! How far this machine lets a program alone: a fixed loop, timed by the wall and by its own
//! processor time. Where the two differ, something else had the processor.

use std::time::Instant;

use serde::Serialize;

use crate::stats::summary::Summary;

/// Loops: enough for a twentieth of them to be several.
const LOOPS: usize = 100;
/// Steps of one loop: about ten milliseconds on a machine of today, longer than a scheduler's slice.
const STEPS: u64 = 8_000_000;

/// What the loops took.
#[derive(Clone, Debug, Serialize)]
pub struct Calibration {
    /// Wall time over processor time of a loop; 1 is a machine that does nothing else.
    pub wall_over_cpu: Summary,
    /// Milliseconds of processor time of a loop: its range shows changing frequencies and
    /// neighbours on the same core.
    pub cpu_milliseconds: Summary,
}

/// Runs the loops; `None` where the system has no clock for a thread's processor time.
#[must_use]
pub fn calibrate() -> Option<Calibration> {
    let mut ratios = Vec::with_capacity(LOOPS);
    let mut milliseconds = Vec::with_capacity(LOOPS);
    for _ in 0..LOOPS {
        let (wall, cpu) = (Instant::now(), thread_seconds()?);
        std::hint::black_box(spin(STEPS));
        let cpu = thread_seconds()? - cpu;
        ratios.push(wall.elapsed().as_secs_f64() / cpu);
        milliseconds.push(cpu * 1e3);
    }
    Some(Calibration {
        wall_over_cpu: Summary::of(&ratios)?,
        cpu_milliseconds: Summary::of(&milliseconds)?,
    })
}

/// The xorshift that measurements use as work.
fn spin(steps: u64) -> u64 {
    let mut state = 1_u64;
    for _ in 0..steps {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}

#[cfg(unix)]
#[allow(
    clippy::cast_precision_loss,
    reason = "processor seconds fit a float's 53 bits"
)]
fn thread_seconds() -> Option<f64> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}

#[cfg(not(unix))]
fn thread_seconds() -> Option<f64> {
    None
}
