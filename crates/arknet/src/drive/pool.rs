//! Buffers that a lane lends to its connections while they have something to read or to send, so that an idle
//! connection holds none.

use std::cell::RefCell;

use bytes::BytesMut;

use super::stream::READ_ROOM;

/// How many buffers of a kind a thread keeps. A turn uses one or two; the rest serves bursts of half-received messages.
const KEPT: usize = 16;

/// A send buffer that has grown above this is given back to the system.
const KEPT_SEND_CAPACITY: usize = 256 * 1024;

/// A new send buffer: room for a turn's answers at usual sizes; it grows to what is used and stays so in the pool.
const SEND_CAPACITY: usize = 16 * 1024;

struct Pool {
    receive: Vec<BytesMut>,
    send: Vec<Vec<u8>>,
}

thread_local! {
    static POOL: RefCell<Pool> = const { RefCell::new(Pool { receive: Vec::new(), send: Vec::new() }) };
}

/// An empty buffer with room for a read.
#[inline]
pub(crate) fn lend_receive() -> BytesMut {
    POOL.with_borrow_mut(|pool| pool.receive.pop())
        .unwrap_or_else(|| BytesMut::with_capacity(READ_ROOM))
}

/// Takes an empty receive buffer back. One that somebody still holds a message of is let go.
#[inline]
pub(crate) fn return_receive(mut buffer: BytesMut) {
    buffer.clear();
    if buffer.capacity() < READ_ROOM && !buffer.try_reclaim(READ_ROOM) {
        return;
    }
    if buffer.capacity() > 2 * READ_ROOM {
        return;
    }
    POOL.with_borrow_mut(|pool| {
        if pool.receive.len() < KEPT {
            pool.receive.push(buffer);
        }
    });
}

/// An empty send buffer.
#[inline]
pub(crate) fn lend_send() -> Vec<u8> {
    POOL.with_borrow_mut(|pool| pool.send.pop())
        .unwrap_or_else(|| Vec::with_capacity(SEND_CAPACITY))
}

/// Takes a send buffer back.
#[inline]
pub(crate) fn return_send(mut buffer: Vec<u8>) {
    if buffer.capacity() > KEPT_SEND_CAPACITY {
        return;
    }
    buffer.clear();
    POOL.with_borrow_mut(|pool| {
        if pool.send.len() < KEPT {
            pool.send.push(buffer);
        }
    });
}
