//! What the rest of the machine did meanwhile: read before and after every process.

use serde::{Deserialize, Serialize};

use super::plan::Exclusion;

/// The kernel's clock ticks per second as `/proc/stat` counts them, fixed by its ABI.
const TICKS_PER_SECOND: f64 = 100.0;

/// One reading of the machine's counters; `None` where the system does not offer it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Ticks that a hypervisor took, since boot, all processors together.
    pub steal_ticks: Option<u64>,
    /// Microseconds since boot in which some task waited for a processor.
    pub cpu_pressure_us: Option<u64>,
    /// Microseconds since boot in which some task waited for memory.
    pub memory_pressure_us: Option<u64>,
    /// Microseconds for which the control group was throttled.
    pub throttled_us: Option<u64>,
    /// Tasks that could run at this instant, this one included.
    pub running: Option<u64>,
    /// Load average of the last minute.
    pub load: Option<f64>,
}

impl Noise {
    /// Reads the counters.
    #[must_use]
    pub fn read() -> Self {
        let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let stat = file("/proc/stat");
        Self {
            steal_ticks: steal(&stat),
            cpu_pressure_us: pressure(&file("/proc/pressure/cpu")),
            memory_pressure_us: pressure(&file("/proc/pressure/memory")),
            throttled_us: field(&file("/sys/fs/cgroup/cpu.stat"), "throttled_usec"),
            running: field(&stat, "procs_running"),
            load: file("/proc/loadavg")
                .split_whitespace()
                .next()
                .and_then(|x| x.parse().ok()),
        }
    }

    /// Share of one processor's time, in percent, that was stolen up to `later`.
    #[must_use]
    pub fn steal_percent(&self, later: &Self, wall_seconds: f64) -> Option<f64> {
        let ticks = later.steal_ticks?.checked_sub(self.steal_ticks?)?;
        share(
            f64::from(u32::try_from(ticks).ok()?) / TICKS_PER_SECOND,
            wall_seconds,
        )
    }

    /// Share of the time, in percent, in which some task waited for a processor up to `later`.
    #[must_use]
    pub fn pressure_percent(&self, later: &Self, wall_seconds: f64) -> Option<f64> {
        let waited = later.cpu_pressure_us?.checked_sub(self.cpu_pressure_us?)?;
        share(f64::from(u32::try_from(waited).ok()?) / 1e6, wall_seconds)
    }
}

/// Whether the plan's rules call this interval noisy, and by which rule.
#[must_use]
pub fn judge(before: &Noise, after: &Noise, wall_seconds: f64, rules: &Exclusion) -> Vec<String> {
    let mut broken = Vec::new();
    if let Some(steal) = before.steal_percent(after, wall_seconds)
        && steal > rules.noisy_steal_percent
    {
        broken.push(format!(
            "steal {steal:.1} % > {} %",
            rules.noisy_steal_percent
        ));
    }
    if let Some(pressure) = before.pressure_percent(after, wall_seconds)
        && pressure > rules.noisy_pressure_percent
    {
        broken.push(format!(
            "pressure {pressure:.0} % > {} %",
            rules.noisy_pressure_percent
        ));
    }
    broken
}

fn share(seconds: f64, wall_seconds: f64) -> Option<f64> {
    (wall_seconds > 0.0).then(|| seconds / wall_seconds * 100.0)
}

/// The eighth number of the first line: user, nice, system, idle, iowait, irq, softirq, steal.
fn steal(stat: &str) -> Option<u64> {
    stat.lines().next()?.split_whitespace().nth(8)?.parse().ok()
}

fn pressure(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some"))?;
    line.split_whitespace()
        .find_map(|word| word.strip_prefix("total=")?.parse().ok())
}

fn field(text: &str, name: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::plan::FailedRepetition;

    const RULES: Exclusion = Exclusion {
        failed_repetition: FailedRepetition::Cell,
        noisy_steal_percent: 1.0,
        noisy_pressure_percent: 10.0,
    };

    #[test]
    fn the_kernels_text_is_read_by_its_fields() {
        assert_eq!(steal("cpu  1 2 3 4 5 6 7 88 9 10\ncpu0 1"), Some(88));
        assert_eq!(
            pressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=4711\nfull x"),
            Some(4711)
        );
        assert_eq!(field("ctxt 5\nprocs_running 3\n", "procs_running"), Some(3));
        assert_eq!(pressure(""), None);
    }

    #[test]
    fn the_plans_rules_decide_what_is_noisy() {
        let before = Noise {
            steal_ticks: Some(100),
            cpu_pressure_us: Some(0),
            ..Noise::default()
        };
        let quiet = Noise {
            steal_ticks: Some(100),
            cpu_pressure_us: Some(50_000),
            ..before
        };
        let noisy = Noise {
            steal_ticks: Some(105),
            cpu_pressure_us: Some(500_000),
            ..before
        };
        assert!(judge(&before, &quiet, 1.0, &RULES).is_empty());
        assert_eq!(judge(&before, &noisy, 1.0, &RULES).len(), 2);
        assert!(judge(&Noise::default(), &Noise::default(), 1.0, &RULES).is_empty());
    }
}
