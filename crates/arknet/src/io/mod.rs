//! What a back end must provide, and nothing else: sockets that hand over bytes, and the clock.
//!
//! A back end makes system calls and does not think; it knows no engine. Buffers are lent for the length of one poll and
//! are owned values, so that nothing borrows one across an await: a readiness back end fills the buffer in place, a
//! completion back end takes it and puts the one that the kernel filled in its place.

use std::io::{self, IoSlice};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::BytesMut;

pub(crate) mod direct;
pub(crate) mod tokio;

/// The clock of every driver. Engines are given what it says.
#[inline]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The time of the last tick of the system's clock: milliseconds late, never early, and several times cheaper than
/// [`now`].
#[cfg(target_os = "linux")]
#[inline]
pub(crate) fn coarse_now() -> Instant {
    use std::sync::OnceLock;

    use rustix::time::{ClockId, Timespec, clock_gettime};

    /// One moment on both scales: `Instant` is `CLOCK_MONOTONIC`, and does not say so.
    static MOMENT: OnceLock<(Instant, Duration)> = OnceLock::new();
    fn since_start(time: Timespec) -> Duration {
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
    }
    let (instant, then) =
        MOMENT.get_or_init(|| (now(), since_start(clock_gettime(ClockId::Monotonic))));
    let tick = since_start(clock_gettime(ClockId::MonotonicCoarse));
    match tick.checked_sub(*then) {
        Some(later) => *instant + later,
        // The tick before the moment.
        None => instant.checked_sub(*then - tick).unwrap_or(*instant),
    }
}

/// As [`now`], where there is nothing cheaper.
#[cfg(not(target_os = "linux"))]
#[inline]
pub(crate) fn coarse_now() -> Instant {
    now()
}

/// Farther away than anybody waits, and within what every clock and timer can express.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// The time after `duration`; one that the clock cannot express is as good as never.
#[inline]
pub(crate) fn after(duration: Duration) -> Instant {
    now() + duration.min(FAR)
}

/// A connected byte stream.
pub(crate) trait Stream: Send + Unpin {
    /// Appends what has arrived to `into`, at most its spare room. 0 means that the peer has ended its stream.
    ///
    /// A read that comes back shorter than the room has proved the socket empty, and the next call says so without a
    /// system call: offer more room than is needed.
    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut BytesMut,
    ) -> Poll<io::Result<usize>>;

    /// Hands bytes to the transport and returns how many it took.
    fn poll_send(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;

    /// Hands bytes in several pieces to the transport and returns how many it took.
    fn poll_send_vectored(
        &mut self,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>>;

    /// Ends the sending direction; the peer's direction stays.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
}
