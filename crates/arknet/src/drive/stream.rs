//! The loops of a byte stream, with their bounds.
//!
//! A turn is: take what arrived, let the application answer, hand the answers over, all at once. Its bounds keep one
//! connection from holding its lane.

use std::io::{self, IoSlice};
use std::task::{Context, Poll, ready};

use arknet_proto::buf::SendQueue;
use bytes::BytesMut;

use super::pool;
use crate::io::Stream;

/// What a read offers. Much more than a usual message, so that a read comes back short and thereby proves the socket
/// empty, which saves the second system call; more than 64 KiB made no difference.
pub(crate) const READ_ROOM: usize = 64 * 1024;

/// The most that a read offers while a message larger than [`READ_ROOM`] comes in: its buffer doubles up to here.
const READ_ROOM_LARGE: usize = 1024 * 1024;

/// Below this a buffer is not worth a read.
const READ_ROOM_LEAST: usize = 16 * 1024;

/// Reads in one turn: four full buffers, then the others have their turn.
pub(crate) const READS_PER_TURN: usize = 4;

/// Messages that one turn delivers. Tiny messages fill a read with tens of thousands; a handler of a microsecond would
/// hold the lane for as many.
pub(crate) const MESSAGES_PER_TURN: usize = 1024;

/// Sends gather until the turn ends, or until so much waits: then it leaves at once, so that a long turn neither
/// holds its answers back nor grows its buffer.
pub(crate) const HIGH_MARK: usize = 64 * 1024;

/// Writes in one turn. A peer that takes everything at once could otherwise be written to for ever.
const WRITES_PER_TURN: usize = 16;

/// Pieces in one vectored write.
const PIECES: usize = 16;

/// An unfinished message up to this size is moved to a buffer of its own size while the connection waits, so that many
/// slow peers do not hold a read buffer each.
const SMALL_REMAINDER: usize = 4 * 1024;

/// What there is to send, as the drive sees it.
pub(crate) trait Outgoing {
    /// How many bytes wait.
    fn waiting(&self) -> usize;
    /// The first stretch of them.
    fn front(&self) -> &[u8];
    /// Whether that is all.
    fn is_contiguous(&self) -> bool;
    /// Fills in the stretches, and returns how many.
    fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize;
    /// The transport took so many.
    fn advance(&mut self, count: usize);
}

impl<T> Outgoing for SendQueue<T> {
    #[inline]
    fn waiting(&self) -> usize {
        self.wire_bytes()
    }

    #[inline]
    fn front(&self) -> &[u8] {
        self.front()
    }

    #[inline]
    fn is_contiguous(&self) -> bool {
        self.is_contiguous()
    }

    fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        self.slices(slices)
    }

    #[inline]
    fn advance(&mut self, count: usize) {
        self.advance(count);
    }
}

/// Appends what has arrived to `into`, which is lent a buffer if it has none. 0 is the end of the stream.
#[inline]
pub(crate) fn poll_receive(
    socket: &mut impl Stream,
    cx: &mut Context<'_>,
    into: &mut BytesMut,
) -> Poll<io::Result<usize>> {
    make_room(into);
    socket.poll_receive(cx, into)
}

#[inline]
pub(crate) fn make_room(buffer: &mut BytesMut) {
    if buffer.capacity() - buffer.len() >= READ_ROOM_LEAST {
        return;
    }
    if buffer.capacity() == 0 {
        *buffer = pool::lend_receive();
    } else if buffer.len() <= SMALL_REMAINDER {
        let mut lent = pool::lend_receive();
        lent.extend_from_slice(buffer);
        pool::return_receive(std::mem::replace(buffer, lent));
    } else {
        buffer.reserve(buffer.len().clamp(READ_ROOM, READ_ROOM_LARGE));
    }
}

/// Gives the receive buffer of a connection that waits back to the lane, as far as it is free.
#[inline]
pub(crate) fn rest(buffer: &mut BytesMut) {
    if buffer.capacity() == 0 {
        return;
    }
    if buffer.is_empty() {
        pool::return_receive(std::mem::take(buffer));
    } else if buffer.len() <= SMALL_REMAINDER && buffer.capacity() > 2 * SMALL_REMAINDER {
        let remainder = BytesMut::from(&buffer[..]);
        pool::return_receive(std::mem::replace(buffer, remainder));
    }
}

/// Hands over what waits. Ready when nothing does; pending also when the turn's bound is reached, with the caller woken.
#[inline]
pub(crate) fn poll_flush(
    socket: &mut impl Stream,
    cx: &mut Context<'_>,
    out: &mut impl Outgoing,
) -> Poll<io::Result<()>> {
    for _ in 0..WRITES_PER_TURN {
        if out.waiting() == 0 {
            return Poll::Ready(Ok(()));
        }
        let count = ready!(poll_write(socket, cx, out))?;
        if count == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        out.advance(count);
    }
    if out.waiting() == 0 {
        return Poll::Ready(Ok(()));
    }
    cx.waker().wake_by_ref();
    Poll::Pending
}

#[inline]
fn poll_write(
    socket: &mut impl Stream,
    cx: &mut Context<'_>,
    out: &impl Outgoing,
) -> Poll<io::Result<usize>> {
    if out.is_contiguous() {
        return socket.poll_send(cx, out.front());
    }
    let mut slices = [IoSlice::new(&[]); PIECES];
    let filled = out.slices(&mut slices);
    socket.poll_send_vectored(cx, slices.get(..filled).unwrap_or_default())
}
