//! The bytes below a protocol: a socket, or a socket with TLS over it.

use std::io;
use std::task::{Context, Poll, ready};

use bytes::BytesMut;

#[cfg(feature = "tls")]
pub(crate) use self::secure::Secure;
use crate::drive::stream::{self, Outgoing};
use crate::io::Stream;
use crate::io::tokio::Socket;

#[cfg(feature = "tls")]
mod secure;

/// Why a transport cannot go on.
#[derive(Debug)]
pub(crate) enum TransportError {
    Io(io::Error),
    #[cfg(feature = "tls")]
    Tls(crate::tls::Error),
}

impl From<io::Error> for TransportError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

#[cfg(feature = "tls")]
impl From<crate::tls::Error> for TransportError {
    fn from(error: crate::tls::Error) -> Self {
        Self::Tls(error)
    }
}

/// What carries a connection.
#[derive(Debug)]
pub(crate) enum Transport {
    Plain(Socket),
    #[cfg(feature = "tls")]
    Secure(Box<Secure>),
}

impl Transport {
    pub(crate) fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            #[cfg(feature = "tls")]
            Self::Secure(secure) => secure.socket(),
        }
    }

    /// Appends what has arrived. 0 is the end of the peer's stream.
    #[inline]
    pub(crate) fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut BytesMut,
    ) -> Poll<Result<usize, TransportError>> {
        match self {
            Self::Plain(socket) => Poll::Ready(Ok(ready!(stream::poll_receive(socket, cx, into))?)),
            #[cfg(feature = "tls")]
            Self::Secure(secure) => secure.poll_receive(cx, into),
        }
    }

    /// Hands over what waits.
    #[inline]
    pub(crate) fn poll_flush(
        &mut self,
        cx: &mut Context<'_>,
        queue: &mut impl Outgoing,
    ) -> Poll<Result<(), TransportError>> {
        match self {
            Self::Plain(socket) => {
                if queue.waiting() == 0 {
                    // An empty operation has no bytes that could carry it over.
                    queue.advance(0);
                    return Poll::Ready(Ok(()));
                }
                Poll::Ready(Ok(ready!(stream::poll_flush(socket, cx, queue))?))
            }
            #[cfg(feature = "tls")]
            Self::Secure(secure) => secure.poll_flush(cx, queue),
        }
    }

    /// Whether the transport itself has bytes to hand over, beside those of the queue.
    #[inline]
    pub(crate) fn has_own_bytes(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            #[cfg(feature = "tls")]
            Self::Secure(secure) => secure.has_own_bytes(),
        }
    }

    /// Shakes hands on a secure transport; a plain one has nothing to do. What arrives behind the handshake goes to
    /// `plain`.
    pub(crate) fn poll_handshake(
        &mut self,
        cx: &mut Context<'_>,
        plain: &mut BytesMut,
    ) -> Poll<Result<(), TransportError>> {
        match self {
            Self::Plain(_) => Poll::Ready(Ok(())),
            #[cfg(feature = "tls")]
            Self::Secure(secure) => secure.poll_handshake(cx, plain),
        }
    }

    /// Bytes at the front of what waits that the system may have taken a part of, without [`Outgoing::advance`] having
    /// been told: they lie in records that were begun. Of interest when the transport has failed.
    pub(crate) fn in_doubt(&self) -> usize {
        match self {
            Self::Plain(_) => 0,
            #[cfg(feature = "tls")]
            Self::Secure(secure) => secure.in_doubt(),
        }
    }

    /// Bytes at the front of what waits that lie sealed in records, and will be handed over whatever becomes of them.
    pub(crate) fn committed(&self) -> usize {
        match self {
            Self::Plain(_) => 0,
            #[cfg(feature = "tls")]
            Self::Secure(secure) => secure.committed(),
        }
    }

    /// Ends the sending direction.
    pub(crate) fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        match self {
            Self::Plain(socket) => Poll::Ready(Ok(ready!(socket.poll_end(cx))?)),
            #[cfg(feature = "tls")]
            Self::Secure(secure) => secure.poll_end(cx),
        }
    }
}
