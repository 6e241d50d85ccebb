//! What the proxy does to the bytes of one direction.

use std::num::NonZeroU64;
use std::time::Duration;

/// One of a connection's two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From the client, who connected to the proxy, to the server behind it.
    ToServer,
    /// From the server to the client.
    ToClient,
}

/// Who meets a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The client; the server's connection is closed in order.
    Client,
    /// The server; the client's connection is closed in order.
    Server,
    /// Both.
    Both,
}

/// What happens to one direction of a connection: a pace, and at most one fault after a number of
/// bytes.
///
/// Bytes are counted as they are handed on, from the moment at which the plan came into force: the
/// beginning of a connection that is new, the call of [`set`](super::FaultProxy::set) for one that
/// is open. Exactly that many bytes are handed on, then the fault happens at once, without waiting
/// for another byte. After zero bytes it happens as soon as the server's side is connected.
///
/// ```
/// use std::time::Duration;
/// use arknet_testkit::proxy::Plan;
///
/// let slow_and_short = Plan::cut_after(300).one_byte_at_a_time();
/// let crawling = Plan::pass().throttled(1_000).delayed(Duration::from_millis(5));
/// # drop((slow_and_short, crawling));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub(super) fault: Option<(u64, Fault)>,
    pub(super) single_bytes: bool,
    pub(super) delay: Option<Duration>,
    pub(super) bytes_per_second: Option<NonZeroU64>,
}

/// What ends the passing of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Cut,
    Stall,
    Reset(Side),
    HalfClose,
    Swallow,
}

impl Plan {
    /// Everything is handed on as it comes, ends included. The default.
    #[must_use]
    pub fn pass() -> Self {
        Self::default()
    }

    /// After `bytes`, both sides of the connection are closed as a process closes its sockets: in
    /// order, unless a side has sent what the proxy has not read, or goes on sending; then the
    /// system answers with a reset.
    #[must_use]
    pub fn cut_after(bytes: u64) -> Self {
        Self::with(bytes, Fault::Cut)
    }

    /// After `bytes`, nothing is handed on any more, the end of the stream neither, and both sides
    /// stay open; the sender feels it as soon as the buffers between are full. Until
    /// [`resume`](super::FaultProxy::resume) or another plan.
    #[must_use]
    pub fn stall_after(bytes: u64) -> Self {
        Self::with(bytes, Fault::Stall)
    }

    /// After `bytes`, the connection is closed with a reset (RST) to `side`.
    ///
    /// A reset may overtake bytes that the side has not read yet: that is its nature.
    #[must_use]
    pub fn reset_after(bytes: u64, side: Side) -> Self {
        Self::with(bytes, Fault::Reset(side))
    }

    /// After `bytes`, the receiver sees the end of the stream. What the sender still sends is
    /// swallowed; the other direction goes on.
    #[must_use]
    pub fn half_close_after(bytes: u64) -> Self {
        Self::with(bytes, Fault::HalfClose)
    }

    /// Everything is swallowed, the end of the stream too: the sender can send for ever, the
    /// receiver hears nothing and sees no end.
    #[must_use]
    pub fn black_hole() -> Self {
        Self::black_hole_after(0)
    }

    /// As [`black_hole`](Plan::black_hole), after `bytes` were handed on.
    #[must_use]
    pub fn black_hole_after(bytes: u64) -> Self {
        Self::with(bytes, Fault::Swallow)
    }

    /// Hands on each byte with a write of its own. No-delay is on, so that each is a segment; a
    /// receiver that is slower than the proxy may still read several at once, unless the plan is
    /// also [`delayed`](Plan::delayed).
    #[must_use]
    pub fn one_byte_at_a_time(mut self) -> Self {
        self.single_bytes = true;
        self
    }

    /// Holds each chunk for `delay` before it is handed on. A chunk is what one read found, up to
    /// 16 KiB, or one byte of [`one_byte_at_a_time`](Plan::one_byte_at_a_time). The next chunk is
    /// not read before, so this limits the throughput too. The end of the stream is not delayed.
    #[must_use]
    pub fn delayed(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    /// Hands on no more than `bytes_per_second`, in slices of a fiftieth of a second. Zero is
    /// taken as one.
    #[must_use]
    pub fn throttled(mut self, bytes_per_second: u64) -> Self {
        self.bytes_per_second = Some(NonZeroU64::new(bytes_per_second).unwrap_or(NonZeroU64::MIN));
        self
    }

    fn with(bytes: u64, fault: Fault) -> Self {
        Self {
            fault: Some((bytes, fault)),
            ..Self::default()
        }
    }
}
