//! A stream socket of a lane.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::task::{Context, Poll};

use bytes::{BufMut, BytesMut};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use socket2::SockRef;

use super::Local;
use super::reactor::{ENDED, READABLE, Readiness, WRITABLE};
use crate::io::Stream;

/// A connected stream socket, watched by the reactor of the lane that it was made on. The task that made it is the one
/// that is woken; who drives a part of it with a waker of its own asks [`may_read`](Self::may_read), and wakes it.
#[derive(Debug)]
pub(crate) struct DirectSocket {
    socket: OwnedFd,
    readiness: Readiness,
    token: usize,
    lane: usize,
}

impl DirectSocket {
    /// Takes a non-blocking socket over, if this thread is running a lane and a task of it; gives it back otherwise.
    pub(crate) fn adopt(socket: OwnedFd) -> Result<io::Result<Self>, OwnedFd> {
        let registered = Local::with(|local| {
            let task = local.current.get()?;
            Some((local.lane, local.reactor.register(&socket, task)))
        });
        match registered.flatten() {
            Some((lane, Ok((token, readiness)))) => Ok(Ok(Self {
                socket,
                readiness,
                token,
                lane,
            })),
            Some((_, Err(error))) => Ok(Err(error)),
            None => Err(socket),
        }
    }

    pub(crate) fn options(&self) -> SockRef<'_> {
        SockRef::from(&self.socket)
    }

    /// Whether a read would be tried, as far as is known.
    #[inline]
    pub(crate) fn may_read(&self) -> bool {
        self.readiness.get() & READABLE != 0
    }

    /// Runs a call that a direction's readiness allows, and notes what it says about it: `full` is what it would have
    /// returned had there been more.
    #[inline]
    fn attempt(
        &self,
        direction: u8,
        full: usize,
        call: impl Fn(BorrowedFd<'_>) -> Result<usize, Errno>,
    ) -> Poll<io::Result<usize>> {
        let ready = self.readiness.get();
        if ready & direction == 0 {
            return Poll::Pending;
        }
        loop {
            match call(self.socket.as_fd()) {
                Ok(count) => {
                    if count < full && ready & ENDED == 0 {
                        self.readiness.set(ready & !direction);
                    }
                    return Poll::Ready(Ok(count));
                }
                Err(Errno::AGAIN) => {
                    self.readiness.set(ready & !direction);
                    return Poll::Pending;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}

impl Stream for DirectSocket {
    #[inline]
    fn poll_receive(
        &mut self,
        _: &mut Context<'_>,
        into: &mut BytesMut,
    ) -> Poll<io::Result<usize>> {
        let ready = self.readiness.get();
        if ready & READABLE == 0 {
            return Poll::Pending;
        }
        let room = into.spare_capacity_mut();
        let offered = room.len();
        loop {
            match rustix::net::recv(&self.socket, &mut *room, RecvFlags::empty()) {
                Ok(((received, _), _)) => {
                    let count = received.len();
                    if count < offered && ready & ENDED == 0 {
                        self.readiness.set(ready & !READABLE);
                    }
                    // SAFETY: the system has filled the first `count` bytes of the spare room.
                    unsafe { into.advance_mut(count) };
                    return Poll::Ready(Ok(count));
                }
                Err(Errno::AGAIN) => {
                    self.readiness.set(ready & !READABLE);
                    return Poll::Pending;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }

    #[inline]
    fn poll_send(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.attempt(WRITABLE, bytes.len(), |socket| {
            rustix::net::send(socket, bytes, SendFlags::NOSIGNAL)
        })
    }

    fn poll_send_vectored(
        &mut self,
        _: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let full = pieces.iter().map(|piece| piece.len()).sum();
        self.attempt(WRITABLE, full, |socket| {
            let mut control = rustix::net::SendAncillaryBuffer::default();
            rustix::net::sendmsg(socket, pieces, &mut control, SendFlags::NOSIGNAL)
        })
    }

    fn poll_end(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.options().shutdown(std::net::Shutdown::Write))
    }
}

impl Drop for DirectSocket {
    fn drop(&mut self) {
        // Dropped elsewhere, the slot stays until its lane ends; that happens only when the lane is ending.
        Local::with(|local| {
            if local.lane == self.lane {
                local.reactor.deregister(self.token);
            }
        });
    }
}
