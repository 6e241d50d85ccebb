//! What a client counts.

/// A snapshot of a client, by [`Client::stats`](super::Client::stats). Counts are of requests, a pipeline of ten being
/// ten, since the client was made.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Whether there is a connection.
    pub connected: bool,
    /// Requests that wait for their reply, sent or not.
    pub waiting: usize,
    /// Bytes that wait to be sent.
    pub queued_bytes: usize,
    /// Requests that were taken in.
    pub submitted: u64,
    /// Requests that were refused because of a limit, or because the client was closed.
    pub refused: u64,
    /// Replies that have come, those that nobody wanted any more with them.
    pub replies: u64,
    /// Requests whose deadline passed.
    pub timed_out: u64,
    /// Requests that were lost with their connection.
    pub lost: u64,
    /// Batches whose caller did not wait for the result.
    pub abandoned: u64,
    /// Connections that were made.
    pub connects: u64,
    /// Attempts to connect that failed.
    pub failed_connects: u64,
    /// Pushes that have come.
    pub pushes: u64,
}

/// The counts among them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) submitted: u64,
    pub(super) refused: u64,
    pub(super) replies: u64,
    pub(super) timed_out: u64,
    pub(super) lost: u64,
    pub(super) abandoned: u64,
    pub(super) connects: u64,
    pub(super) failed_connects: u64,
    pub(super) pushes: u64,
}

impl Counts {
    pub(super) fn stats(&self, connected: bool, waiting: usize, queued_bytes: usize) -> Stats {
        let Self {
            submitted,
            refused,
            replies,
            timed_out,
            lost,
            abandoned,
            connects,
            failed_connects,
            pushes,
        } = *self;
        Stats {
            connected,
            waiting,
            queued_bytes,
            submitted,
            refused,
            replies,
            timed_out,
            lost,
            abandoned,
            connects,
            failed_connects,
            pushes,
        }
    }
}
