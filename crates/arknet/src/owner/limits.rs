//! The bounds of an owner.

/// Bounds of everything that an owner holds. Whatever meets one is refused and counted.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Functions that other threads have posted and that have not run. Default 65,536: at 20 updates a second and 512
    /// operations each, six seconds of them; an owner that is further behind will not catch up.
    pub posts: usize,
    /// Bytes of payloads that wait for the owner in one source. Default 64 MiB.
    pub bytes: usize,
    /// Messages of one session of the network that wait for the owner; its socket is not read while there are as many.
    /// Default 1,024, which is what a connection's inbox holds.
    pub inbox_events: usize,
    /// Bytes of those, each counted with 8 more. Default 256 KiB. Where the messages of all sessions of an endpoint are as
    /// large as [`bytes`](Self::bytes), each session has room for one only.
    pub inbox_bytes: usize,
    /// Operations of one service that are under way or whose result has not been delivered. Default 65,536.
    pub in_flight: usize,
    /// Operations of one service that run at once on each of its lanes. Default 1,024: more would wait in the
    /// service's own pool.
    pub concurrency: usize,
    /// Tasks that have not ended. Default 1,048,576.
    pub tasks: usize,
    /// Timers that have not fired, sleeping tasks included. Default 1,048,576.
    pub timers: usize,
    /// Functions that were deferred and have not run. Default 65,536.
    pub deferred: usize,
    /// Groups that have not ended. Default 1,048,576.
    pub groups: usize,
    /// Threads for blocking work. Default 4; they start when they are needed and end when they have been idle for ten
    /// seconds.
    pub blocking_threads: usize,
    /// Blocking work that runs, waits for a thread, or has not been delivered. Default 1,024.
    pub blocking: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            posts: 1 << 16,
            bytes: 64 << 20,
            inbox_events: 1 << 10,
            inbox_bytes: 256 << 10,
            in_flight: 1 << 16,
            concurrency: 1 << 10,
            tasks: 1 << 20,
            timers: 1 << 20,
            deferred: 1 << 16,
            groups: 1 << 20,
            blocking_threads: 4,
            blocking: 1 << 10,
        }
    }
}
