//! The thirteen things that may go wrong, counted per phase.
//!
//! They are counted where they happen, on any thread, and none of them happens in a valid run: the
//! atomics are off the path that is measured.

use std::sync::atomic::{AtomicU64, Ordering};

/// Names a counter; the texts are keys of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the keys of the record")]
pub enum Fault {
    ClientSendRejections,
    ClientSendCompletionErrors,
    ServerSendRejections,
    ServerSendCompletionErrors,
    ContentErrors,
    OrderErrors,
    UnexpectedMessages,
    DisconnectErrors,
    UdpLostMessages,
    UnfinishedMessages,
    CallbackExceptions,
    DrainTimeouts,
    DuplicateCompletions,
}

impl Fault {
    /// Every counter, in the order of the record.
    pub const ALL: [Fault; 13] = [
        Fault::ClientSendRejections,
        Fault::ClientSendCompletionErrors,
        Fault::ServerSendRejections,
        Fault::ServerSendCompletionErrors,
        Fault::ContentErrors,
        Fault::OrderErrors,
        Fault::UnexpectedMessages,
        Fault::DisconnectErrors,
        Fault::UdpLostMessages,
        Fault::UnfinishedMessages,
        Fault::CallbackExceptions,
        Fault::DrainTimeouts,
        Fault::DuplicateCompletions,
    ];

    /// The key of the record.
    pub fn name(self) -> &'static str {
        match self {
            Fault::ClientSendRejections => "client_send_rejections",
            Fault::ClientSendCompletionErrors => "client_send_completion_errors",
            Fault::ServerSendRejections => "server_send_rejections",
            Fault::ServerSendCompletionErrors => "server_send_completion_errors",
            Fault::ContentErrors => "content_errors",
            Fault::OrderErrors => "order_errors",
            Fault::UnexpectedMessages => "unexpected_messages",
            Fault::DisconnectErrors => "disconnect_errors",
            Fault::UdpLostMessages => "udp_lost_messages",
            Fault::UnfinishedMessages => "unfinished_messages",
            Fault::CallbackExceptions => "callback_exceptions",
            Fault::DrainTimeouts => "drain_timeouts",
            Fault::DuplicateCompletions => "duplicate_completions",
        }
    }
}

/// The counters of one phase.
#[derive(Debug, Default)]
pub struct Counters {
    counts: [AtomicU64; Fault::ALL.len()],
}

impl Counters {
    /// Counts `n` faults of a kind.
    pub fn add(&self, fault: Fault, n: u64) {
        if let Some(count) = self.counts.get(fault as usize) {
            count.fetch_add(n, Ordering::Relaxed);
        }
    }

    /// How many faults of a kind there were.
    pub fn get(&self, fault: Fault) -> u64 {
        self.counts
            .get(fault as usize)
            .map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// How many faults of any kind there were.
    pub fn total(&self) -> u64 {
        self.counts
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .sum()
    }

    /// All thirteen by name, zero or not.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Fault::ALL
            .into_iter()
            .map(|fault| (fault.name(), self.get(fault)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_is_counted_under_its_own_name() {
        let counters = Counters::default();
        for (n, fault) in (1..).zip(Fault::ALL) {
            counters.add(fault, n);
        }
        let named: Vec<_> = counters.named().collect();
        assert_eq!(named.len(), 13);
        assert_eq!(named[0], ("client_send_rejections", 1));
        assert_eq!(named[4], ("content_errors", 5));
        assert_eq!(named[12], ("duplicate_completions", 13));
        assert_eq!(counters.total(), (1..=13).sum::<u64>());
    }
}
