//! A leak check for a whole process: open files, threads and memory, before and after.
//!
//! The check is process-wide, so it belongs into a process in which nothing else runs: one test
//! per test binary, or a process per test (`cargo nextest`). Take the snapshot after a warm-up
//! that has made what a process makes once (lazy statics, thread-locals, a runtime that stays):
//!
//! ```
//! use std::time::Duration;
//! use arknet_testkit::leak::Snapshot;
//!
//! # fn exercise() { drop(std::net::TcpListener::bind("127.0.0.1:0")); }
//! exercise();
//! let before = Snapshot::take();
//! exercise();
//! before.assert_no_leaks(Duration::from_secs(5));
//! ```
//!
//! A leak is what is there now and was not then. Fewer is none: something may close a file that
//! was open when the snapshot was taken. Files and threads are read from `/proc` and so are seen
//! on Linux only; memory is exact with [`alloc::Counting`], and otherwise
//! the resident set, a coarse figure.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::alloc;

/// How often [`Snapshot::assert_no_leaks`] looks: short beside the time that a runtime takes to
/// let go, long beside the cost of a look.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// What a process is forgiven by default with the counting allocator: the first panic message,
/// the first line on standard output and the like allocate once and stay.
const HEAP_SLACK: u64 = 16 * 1024;

/// What a process is forgiven by default without it: an allocator keeps pages that it may need
/// again, so that only a large leak shows in the resident set.
const RESIDENT_SLACK: u64 = 32 * 1024 * 1024;

/// What a process held at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// File descriptor to what it is open on, as `/proc/self/fd` names it.
    files: BTreeMap<u32, String>,
    /// Thread id to thread name (Linux cuts it to 15 bytes).
    threads: BTreeMap<u32, String>,
    memory: Memory,
}

/// Bytes held, and how they were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    /// Live heap bytes before this snapshot's own tables were made, and with them: the first is
    /// compared as the later, the second as the earlier, so that a snapshot finds no leak in
    /// itself.
    Heap {
        without_tables: u64,
        with_tables: u64,
    },
    Resident(u64),
    Unknown,
}

/// How much more memory than at the snapshot is no leak, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slack {
    /// With the counting allocator. Default: 16 KiB.
    pub heap: u64,
    /// Without it, in the resident set. Default: 32 MiB.
    pub resident: u64,
}

impl Default for Slack {
    fn default() -> Self {
        Self {
            heap: HEAP_SLACK,
            resident: RESIDENT_SLACK,
        }
    }
}

impl Snapshot {
    /// Looks at the process now.
    #[must_use]
    pub fn take() -> Self {
        let counted = alloc::installed();
        let without_tables = live_heap();
        let (files, threads) = (open_files(), running_threads());
        let memory = match resident() {
            _ if counted => Memory::Heap {
                without_tables,
                with_tables: live_heap(),
            },
            Some(bytes) => Memory::Resident(bytes),
            None => Memory::Unknown,
        };
        Self {
            files,
            threads,
            memory,
        }
    }

    /// Waits until the process holds no more than at the snapshot.
    ///
    /// # Panics
    ///
    /// When it still holds more after `deadline`, naming each file, thread and byte.
    pub fn assert_no_leaks(&self, deadline: Duration) {
        self.assert_no_leaks_beyond(deadline, Slack::default());
    }

    /// As [`assert_no_leaks`](Snapshot::assert_no_leaks), with another tolerance for memory.
    ///
    /// # Panics
    ///
    /// As [`assert_no_leaks`](Snapshot::assert_no_leaks).
    pub fn assert_no_leaks_beyond(&self, deadline: Duration, slack: Slack) {
        let end = Instant::now() + deadline;
        loop {
            let leaks = self.leaks(slack);
            if leaks.is_empty() {
                return;
            }
            assert!(
                Instant::now() < end,
                "after {deadline:?} the process still holds:\n{leaks}"
            );
            drop(leaks);
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// What the process holds now and did not at the snapshot, without waiting.
    #[must_use]
    pub fn leaks(&self, slack: Slack) -> Leaks {
        let now = Self::take();
        Leaks {
            memory: self.memory_leak(&now, slack),
            files: surplus(&self.files, &now.files),
            threads: surplus(&self.threads, &now.threads),
        }
    }

    fn memory_leak(&self, now: &Self, slack: Slack) -> Option<String> {
        let (kind, before, after, slack) = match (self.memory, now.memory) {
            (Memory::Heap { with_tables, .. }, Memory::Heap { without_tables, .. }) => {
                ("heap bytes", with_tables, without_tables, slack.heap)
            }
            (Memory::Resident(before), Memory::Resident(after)) => {
                ("resident bytes", before, after, slack.resident)
            }
            _ => return None,
        };
        let more = after.saturating_sub(before);
        (more > slack)
            .then(|| format!("{more} more {kind} ({before} before, {after} now, slack {slack})"))
    }
}

/// What a process holds that it should not; empty when all is well. Prints one leak a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leaks {
    files: Vec<(u32, String)>,
    threads: Vec<(u32, String)>,
    memory: Option<String>,
}

impl Leaks {
    /// Whether nothing leaked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.threads.is_empty() && self.memory.is_none()
    }
}

impl fmt::Display for Leaks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (fd, target) in &self.files {
            writeln!(f, "  file descriptor {fd} -> {target}")?;
        }
        for (id, name) in &self.threads {
            writeln!(f, "  thread {id} \"{name}\"")?;
        }
        match &self.memory {
            Some(memory) => writeln!(f, "  {memory}"),
            None => Ok(()),
        }
    }
}

/// The entries of `after` whose value occurs more often than in `before`, those with unknown
/// numbers first in line: a runtime that was replaced by its like has new numbers but no leak,
/// while a socket's inode makes it unlike any other.
fn surplus(before: &BTreeMap<u32, String>, after: &BTreeMap<u32, String>) -> Vec<(u32, String)> {
    let mut forgiven: BTreeMap<&str, usize> = BTreeMap::new();
    for value in before.values() {
        *forgiven.entry(value).or_default() += 1;
    }
    let (same, new): (Vec<_>, Vec<_>) = after
        .iter()
        .partition(|(number, value)| before.get(number) == Some(value));
    let mut leaked = Vec::new();
    for (number, value) in same.into_iter().chain(new) {
        match forgiven.get_mut(value.as_str()) {
            Some(left) if *left > 0 => *left -= 1,
            _ => leaked.push((*number, value.clone())),
        }
    }
    leaked
}

fn live_heap() -> u64 {
    u64::try_from(alloc::counts().live_bytes).unwrap_or(0)
}

/// Empty where there is no `/proc`.
fn open_files() -> BTreeMap<u32, String> {
    // The folder itself is open while it is read, here and in any thread that takes a snapshot.
    let own_listing = format!("/proc/{}/fd", std::process::id());
    numbered("/proc/self/fd", |entry| {
        let target = fs::read_link(entry).ok()?.to_string_lossy().into_owned();
        (target != own_listing).then_some(target)
    })
}

fn running_threads() -> BTreeMap<u32, String> {
    numbered("/proc/self/task", |entry| {
        Some(
            fs::read_to_string(entry.join("comm"))
                .ok()?
                .trim_end()
                .to_owned(),
        )
    })
}

/// The entries of `folder` whose names are numbers; one that vanishes while it is read is skipped.
fn numbered(
    folder: &str,
    describe: impl Fn(&std::path::Path) -> Option<String>,
) -> BTreeMap<u32, String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let number = entry.file_name().to_str()?.parse().ok()?;
            Some((number, describe(&entry.path())?))
        })
        .collect()
}

/// `VmRSS`, in bytes.
fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(entries: &[(u32, &str)]) -> BTreeMap<u32, String> {
        entries
            .iter()
            .map(|(number, value)| (*number, (*value).to_owned()))
            .collect()
    }

    #[test]
    fn one_more_of_a_kind_is_the_new_one() {
        let before = held(&[(3, "pipe"), (5, "epoll")]);
        let after = held(&[(3, "pipe"), (4, "epoll"), (5, "epoll")]);
        assert_eq!(surplus(&before, &after), [(4, "epoll".to_owned())]);
    }

    #[test]
    fn a_replacement_of_the_same_kind_is_no_leak() {
        let before = held(&[(5, "epoll")]);
        assert_eq!(surplus(&before, &held(&[(9, "epoll")])), []);
    }

    #[test]
    fn another_socket_in_place_of_the_old_one_is_a_leak() {
        let before = held(&[(5, "socket:[1]")]);
        let after = held(&[(5, "socket:[2]")]);
        assert_eq!(surplus(&before, &after), [(5, "socket:[2]".to_owned())]);
    }

    #[test]
    fn fewer_is_no_leak() {
        assert_eq!(surplus(&held(&[(5, "pipe"), (6, "pipe")]), &held(&[])), []);
    }

    #[test]
    fn a_leak_is_printed_one_a_line() {
        let leaks = Leaks {
            files: vec![(7, "socket:[1]".to_owned())],
            threads: vec![(12, "lane-0".to_owned())],
            memory: Some("20000 more heap bytes".to_owned()),
        };
        assert_eq!(
            leaks.to_string(),
            "  file descriptor 7 -> socket:[1]\n  thread 12 \"lane-0\"\n  20000 more heap bytes\n"
        );
    }
}
