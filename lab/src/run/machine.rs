//! The machine as a session record describes it: what may explain a figure, and no names.

use serde::{Deserialize, Serialize};

/// The circumstances of a session. `unknown` stands where the system does not say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Operating system and architecture.
    pub system: String,
    /// Kernel release.
    pub kernel: String,
    /// Distribution.
    pub distribution: String,
    /// Processor's name.
    pub cpu: String,
    /// Processors that this process may use.
    pub cpus: usize,
    /// Whether sibling threads share cores.
    pub smt: String,
    /// Frequency governor of the first processor.
    pub governor: String,
    /// Whether the processor may exceed its base clock.
    pub turbo: String,
    /// Clock source of the kernel.
    pub clocksource: String,
    /// Mitigations in force, one a line of the kernel's list.
    pub mitigations: Vec<String>,
    /// Total memory in KiB.
    pub memory_kib: u64,
    /// Transparent huge pages.
    pub huge_pages: String,
    /// `container`, `virtual machine` or `none seen`.
    pub virtualisation: String,
    /// Limit of the control group on processor time.
    pub cpu_quota: String,
    /// Open files, soft and hard.
    pub open_files: String,
    /// MTU of the loopback interface.
    pub loopback_mtu: String,
    /// `net.core.somaxconn`, `rmem_max`, `wmem_max`, `tcp_rmem`, `tcp_wmem`.
    pub network: Vec<String>,
}

impl Machine {
    /// Reads it all.
    #[must_use]
    pub fn read() -> Self {
        let cpuinfo = text("/proc/cpuinfo").unwrap_or_default();
        Self {
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            kernel: or_unknown(text("/proc/sys/kernel/osrelease")),
            distribution: or_unknown(distribution()),
            cpu: or_unknown(value_of(&cpuinfo, "model name")),
            cpus: std::thread::available_parallelism().map_or(0, usize::from),
            smt: or_unknown(text("/sys/devices/system/cpu/smt/control")),
            governor: or_unknown(text(
                "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            )),
            turbo: or_unknown(text("/sys/devices/system/cpu/cpufreq/boost")),
            clocksource: or_unknown(text(
                "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            )),
            mitigations: mitigations(),
            memory_kib: memory_kib().unwrap_or(0),
            huge_pages: or_unknown(text("/sys/kernel/mm/transparent_hugepage/enabled")),
            virtualisation: virtualisation(&cpuinfo),
            cpu_quota: or_unknown(text("/sys/fs/cgroup/cpu.max")),
            open_files: or_unknown(open_files()),
            loopback_mtu: or_unknown(text("/sys/class/net/lo/mtu")),
            network: network(),
        }
    }
}

fn text(path: &str) -> Option<String> {
    std::fs::read_to_string(path)
        .ok()
        .map(|text| text.trim().to_owned())
}

fn or_unknown(value: Option<String>) -> String {
    value
        .filter(|value| !value.is_empty())
        .unwrap_or_else(|| "unknown".to_owned())
}

/// The value of `key : value` or `key=value`, quotes removed.
fn value_of(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let rest = line
            .strip_prefix(key)?
            .trim_start()
            .trim_start_matches([':', '=']);
        Some(rest.trim().trim_matches('"').to_owned())
    })
}

fn distribution() -> Option<String> {
    value_of(&text("/etc/os-release")?, "PRETTY_NAME")
}

fn memory_kib() -> Option<u64> {
    let value = value_of(&text("/proc/meminfo")?, "MemTotal")?;
    value.split_whitespace().next()?.parse().ok()
}

fn mitigations() -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/sys/devices/system/cpu/vulnerabilities") else {
        return Vec::new();
    };
    let mut lines: Vec<String> = entries
        .flatten()
        .filter_map(|entry| {
            let state = std::fs::read_to_string(entry.path()).ok()?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let state = state.trim();
            (state != "Not affected").then(|| format!("{name}: {state}"))
        })
        .collect();
    lines.sort();
    lines
}

fn virtualisation(cpuinfo: &str) -> String {
    let container = std::path::Path::new("/.dockerenv").exists()
        || std::path::Path::new("/run/.containerenv").exists()
        || text("/proc/1/cgroup").is_some_and(|group| {
            ["docker", "kubepods", "lxc", "containerd"]
                .iter()
                .any(|word| group.contains(word))
        });
    let guest = cpuinfo.lines().any(|line| {
        line.starts_with("flags") && line.split_whitespace().any(|flag| flag == "hypervisor")
    });
    match (container, guest) {
        (true, true) => "container in a virtual machine",
        (true, false) => "container",
        (false, true) => "virtual machine",
        (false, false) => "none seen",
    }
    .to_owned()
}

fn open_files() -> Option<String> {
    let limits = text("/proc/self/limits")?;
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"))?;
    let mut words = line.split_whitespace().skip(3);
    Some(format!("{} / {}", words.next()?, words.next()?))
}

fn network() -> Vec<String> {
    [
        "core/somaxconn",
        "core/rmem_max",
        "core/wmem_max",
        "ipv4/tcp_rmem",
        "ipv4/tcp_wmem",
    ]
    .iter()
    .filter_map(|key| {
        let value = text(&format!("/proc/sys/net/{key}"))?;
        let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(format!("net.{} = {value}", key.replace('/', ".")))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_behind_colons_equals_signs_and_quotes() {
        assert_eq!(
            value_of("a: 1\nmodel name\t: Zen 4\n", "model name").unwrap(),
            "Zen 4"
        );
        assert_eq!(
            value_of("PRETTY_NAME=\"Debian 13\"", "PRETTY_NAME").unwrap(),
            "Debian 13"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_has_a_kernel_processors_and_a_loopback_interface() {
        let machine = Machine::read();
        assert_ne!(machine.kernel, "unknown");
        assert!(machine.cpus > 0);
        assert!(
            machine.loopback_mtu.parse::<u32>().is_ok(),
            "{}",
            machine.loopback_mtu
        );
    }
}
