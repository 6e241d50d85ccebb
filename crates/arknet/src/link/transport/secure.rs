//! TLS over a socket: the driver of the record pump.

use std::task::{Context, Poll, ready};

use bytes::BytesMut;

use super::TransportError;
use crate::drive::pool;
use crate::drive::stream::{self, Outgoing};
use crate::io::Stream;
use crate::io::tokio::Socket;
use crate::tls::{Info, Pump};

/// Plaintext that is sealed at once: four full records, which leave in one write.
const SEALED_AT_ONCE: usize = 64 * 1024;

/// Plaintext of the largest record (RFC 8446, section 5.1).
const LARGEST_RECORD: usize = 16 * 1024;

/// Rounds of sealing and writing in one turn.
const ROUNDS_PER_TURN: usize = 8;

/// A socket with TLS over it. Idle, it holds no buffer.
#[derive(Debug)]
pub(crate) struct Secure {
    socket: Socket,
    pump: Pump,
    /// Records that have arrived and are not yet whole.
    incoming: BytesMut,
    /// Records to be sent; those before `start` have been.
    outgoing: BytesMut,
    start: usize,
    /// How many bytes of the send queue lie sealed in `outgoing`.
    sealed: usize,
    closing: bool,
}

impl Secure {
    pub(crate) fn new(socket: Socket, pump: Pump) -> Self {
        Self {
            socket,
            pump,
            incoming: BytesMut::new(),
            outgoing: BytesMut::new(),
            start: 0,
            sealed: 0,
            closing: false,
        }
    }

    pub(super) fn socket(&self) -> &Socket {
        &self.socket
    }

    pub(crate) fn info(&self) -> Option<Info> {
        self.pump.info().map(|info| Info::clone(info))
    }

    pub(super) fn has_own_bytes(&self) -> bool {
        self.start < self.outgoing.len()
    }

    pub(super) fn committed(&self) -> usize {
        self.sealed
    }

    pub(super) fn in_doubt(&self) -> usize {
        if self.start > 0 { self.sealed } else { 0 }
    }

    /// Shakes hands. What arrives behind the handshake goes to `plain`.
    pub(crate) fn poll_handshake(
        &mut self,
        cx: &mut Context<'_>,
        plain: &mut BytesMut,
    ) -> Poll<Result<(), TransportError>> {
        self.open_handshake(cx, plain)?;
        loop {
            let flushed = self.poll_send_records(cx)?;
            if !self.pump.is_handshaking() {
                ready!(flushed);
                return Poll::Ready(Ok(()));
            }
            if ready!(self.poll_fill(cx))? == 0 {
                self.pump.end_of_stream()?;
                return Poll::Ready(Err(
                    std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into()
                ));
            }
            self.open_handshake(cx, plain)?;
        }
    }

    /// Opens what has arrived. Where that ends the handshake, the alert leaves all the same: the peer is to learn why.
    fn open_handshake(
        &mut self,
        cx: &mut Context<'_>,
        plain: &mut BytesMut,
    ) -> Result<(), TransportError> {
        let opened = self.open(plain);
        if opened.is_err() {
            self.send_records_now(cx);
        }
        opened.map(drop)
    }

    pub(super) fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        plain: &mut BytesMut,
    ) -> Poll<Result<usize, TransportError>> {
        loop {
            if !self.incoming.is_empty() {
                let opened = self.open(plain);
                self.send_records_now(cx);
                let opened = opened?;
                if opened > 0 {
                    return Poll::Ready(Ok(opened));
                }
            }
            if self.pump.peer_has_closed() {
                return Poll::Ready(Ok(0));
            }
            if ready!(self.poll_fill(cx))? == 0 {
                self.pump.end_of_stream()?;
                return Poll::Ready(Ok(0));
            }
        }
    }

    /// Reads records; gives the buffer back where there are none.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, TransportError>> {
        let read = stream::poll_receive(&mut self.socket, cx, &mut self.incoming);
        if read.is_pending() {
            stream::rest(&mut self.incoming);
        }
        Poll::Ready(Ok(ready!(read)?))
    }

    /// Opens the records that have arrived, and says how much plaintext came of it.
    fn open(&mut self, plain: &mut BytesMut) -> Result<usize, TransportError> {
        stream::make_room(plain);
        self.lend_outgoing();
        let before = plain.len();
        // The last record may go over the room; so much is kept free for it.
        let room = (plain.capacity() - before)
            .saturating_sub(LARGEST_RECORD)
            .max(1);
        self.pump
            .receive(&mut self.incoming, plain, room, &mut self.outgoing)?;
        Ok(plain.len() - before)
    }

    /// Sends what the handshake, an alert or a key update has to say, as far as it goes now; the rest leaves with the
    /// next flush. An error shows there too.
    fn send_records_now(&mut self, cx: &mut Context<'_>) {
        if self.has_own_bytes() {
            let _ = self.poll_send_records(cx);
        } else {
            self.return_outgoing();
        }
    }

    fn poll_send_records(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        while let Some(records) = self
            .outgoing
            .get(self.start..)
            .filter(|bytes| !bytes.is_empty())
        {
            let count = ready!(self.socket.poll_send(cx, records))?;
            if count == 0 {
                return Poll::Ready(Err(
                    std::io::Error::from(std::io::ErrorKind::WriteZero).into()
                ));
            }
            self.start += count;
        }
        self.outgoing.clear();
        self.start = 0;
        Poll::Ready(Ok(()))
    }

    pub(super) fn poll_flush(
        &mut self,
        cx: &mut Context<'_>,
        queue: &mut impl Outgoing,
    ) -> Poll<Result<(), TransportError>> {
        for _ in 0..ROUNDS_PER_TURN {
            ready!(self.poll_send_records(cx))?;
            queue.advance(std::mem::take(&mut self.sealed));
            if queue.waiting() == 0 {
                self.return_outgoing();
                return Poll::Ready(Ok(()));
            }
            self.seal(queue)?;
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn seal(&mut self, queue: &impl Outgoing) -> Result<(), TransportError> {
        self.lend_outgoing();
        let front = queue.front();
        let chunk = front.get(..SEALED_AT_ONCE).unwrap_or(front);
        self.pump.seal(chunk, &mut self.outgoing)?;
        self.sealed = chunk.len();
        Ok(())
    }

    fn lend_outgoing(&mut self) {
        if self.outgoing.capacity() == 0 {
            self.outgoing = pool::lend_receive();
        }
    }

    fn return_outgoing(&mut self) {
        if self.outgoing.is_empty() && self.outgoing.capacity() != 0 {
            pool::return_receive(std::mem::take(&mut self.outgoing));
        }
    }

    /// Says close_notify, then ends the sending direction.
    pub(super) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        if !std::mem::replace(&mut self.closing, true) {
            self.lend_outgoing();
            self.pump.close_notify(&mut self.outgoing);
        }
        ready!(self.poll_send_records(cx))?;
        self.return_outgoing();
        Poll::Ready(Ok(ready!(self.socket.poll_end(cx))?))
    }
}
