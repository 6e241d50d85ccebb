//! Messages for a session whose owner is not on its lane.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::error::{CloseReason, Error};
use super::message::Message;

/// Messages that may wait for an owner elsewhere; then the lane stops reading the socket.
pub(super) const INBOX_MESSAGES: usize = 1024;

/// Bytes that may wait; one message more may go over it.
pub(super) const INBOX_BYTES: usize = 256 * 1024;

/// What an owner elsewhere has not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    queue: VecDeque<Message>,
    bytes: usize,
    /// Somebody receives here: the lane reads for it.
    active: bool,
    /// The lane stopped reading for want of room.
    full: bool,
    ended: Option<CloseReason>,
    waker: Option<Waker>,
}

/// What a receiver gets: a message, the end, or the error that ended it.
pub(crate) type Received<T = Message> = Result<Option<T>, Arc<Error>>;

impl Inbox {
    /// The next message; `true` beside it means that the lane is to be told, because it waits for a reader or for room.
    pub(crate) fn poll_receive(&mut self, cx: &mut Context<'_>) -> (Poll<Received>, bool) {
        if let Some(message) = self.queue.pop_front() {
            self.bytes -= message.len();
            let resumed = self.full && self.has_half_the_room();
            self.full &= !resumed;
            return (Poll::Ready(Ok(Some(message))), resumed);
        }
        match &self.ended {
            Some(CloseReason::Error(error)) => (Poll::Ready(Err(error.clone())), false),
            Some(_) => (Poll::Ready(Ok(None)), false),
            None => {
                self.waker = Some(cx.waker().clone());
                (Poll::Pending, !std::mem::replace(&mut self.active, true))
            }
        }
    }

    fn has_half_the_room(&self) -> bool {
        self.queue.len() <= INBOX_MESSAGES / 2 && self.bytes <= INBOX_BYTES / 2
    }

    /// Whether somebody receives here.
    pub(super) fn is_active(&self) -> bool {
        self.active
    }

    /// Whether there is room for another message; where not, the lane is told when there is.
    pub(super) fn has_room(&mut self) -> bool {
        self.full = self.queue.len() >= INBOX_MESSAGES || self.bytes >= INBOX_BYTES;
        !self.full
    }

    /// Adds a message.
    pub(super) fn push(&mut self, message: Message) {
        self.bytes += message.len();
        self.queue.push_back(message);
    }

    /// Takes the oldest message, for an owner that is on the lane.
    pub(super) fn pop(&mut self) -> Option<Message> {
        let message = self.queue.pop_front()?;
        self.bytes -= message.len();
        Some(message)
    }

    /// Nothing more will come, until the next connection.
    pub(super) fn end(&mut self, reason: CloseReason) {
        self.ended.get_or_insert(reason);
    }

    /// Whom to wake after `push` and `end`.
    pub(super) fn take_waker(&mut self) -> Option<Waker> {
        self.waker.take()
    }
}
