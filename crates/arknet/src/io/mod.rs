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
