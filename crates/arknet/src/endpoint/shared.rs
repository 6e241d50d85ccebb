//! What a connection shares with the world outside of its lane: a mailbox, an account of what handles have sent, and a
//! few numbers that anyone may read.
//!
//! The connection's own path touches none of it but one flag a turn, by a plain load.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::Instant;

use arknet_proto::buf::SendLimits;
use arknet_proto::session::State;
use bytes::Bytes;
use tokio::sync::Notify;

use super::error::SendError;
use super::session::Session;
use crate::io::tokio::PeerAddress;
use crate::lanes::lock;

/// Functions that may wait to run on a connection's lane. More means that they come faster than the lane can run them.
const POSTS: usize = 1024;

/// What hears of the completion of a send, on the connection's lane.
pub(crate) type Completion = Box<dyn FnOnce(&mut Session, Result<usize, SendError>) + Send>;

/// What runs on a connection's lane.
pub(crate) type Post = Box<dyn FnOnce(&mut Session) + Send>;

/// The identity of a session: unique in the process, never used again.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SessionId(u64);

impl SessionId {
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What has something for a connection on its lane, again and again, without a box for each time.
#[cfg(feature = "owner")]
pub(crate) trait Called: Send + Sync {
    /// Runs on the lane, after the mail and before a close that came with it.
    fn called(&self, session: &mut Session);
}

/// Something from outside, in order.
pub(crate) enum Mail {
    Send {
        generation: u64,
        payload: Bytes,
        completion: Option<Completion>,
    },
    Post(Post),
}

#[derive(Default)]
pub(crate) struct Mailbox {
    pub(crate) queue: VecDeque<Mail>,
    pub(crate) posts: usize,
    pub(crate) close: Option<Close>,
    #[cfg(feature = "owner")]
    call: Option<Arc<dyn Called>>,
    waker: Option<Waker>,
    /// The lane's task is gone: nothing will ever be read.
    ended: bool,
}

/// How far a close from outside goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Close {
    /// Drain, within the configured time.
    Graceful,
    /// Drain, by then.
    By(Instant),
    /// Cut.
    Abort,
}

/// What handles have sent and has not been handed over.
#[derive(Debug)]
pub(crate) struct Account {
    bytes: AtomicUsize,
    operations: AtomicUsize,
    limits: SendLimits,
    pub(crate) room: Notify,
}

impl Account {
    fn reserve(&self, bytes: usize) -> Result<(), SendError> {
        if add_within(&self.operations, 1, self.limits.operations).is_err() {
            return Err(self.full());
        }
        if add_within(&self.bytes, bytes, self.limits.bytes).is_err() {
            self.operations.fetch_sub(1, Ordering::AcqRel);
            return Err(self.full());
        }
        Ok(())
    }

    fn full(&self) -> SendError {
        SendError::QueueFull {
            bytes: self.bytes.load(Ordering::Relaxed),
            operations: self.operations.load(Ordering::Relaxed),
            limits: self.limits,
            message: None,
        }
    }

    pub(crate) fn release(&self, bytes: usize, operations: usize) {
        self.bytes.fetch_sub(bytes, Ordering::AcqRel);
        self.operations.fetch_sub(operations, Ordering::AcqRel);
        self.room.notify_waiters();
    }
}

fn add_within(value: &AtomicUsize, more: usize, limit: usize) -> Result<usize, usize> {
    value.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |value| {
        value.checked_add(more).filter(|sum| *sum <= limit)
    })
}

/// The addresses of a connection; those of a client change with each connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Addresses {
    pub(crate) local: Option<PeerAddress>,
    pub(crate) peer: Option<PeerAddress>,
}

/// Everything of a connection that is not its lane's alone.
pub(crate) struct Shared {
    pub(crate) id: SessionId,
    state: AtomicU8,
    generation: AtomicU64,
    /// A connection that was lost may be followed by another.
    reconnects: AtomicBool,
    /// Nothing will happen any more.
    over: AtomicBool,
    mail: AtomicBool,
    mailbox: Mutex<Mailbox>,
    pub(crate) account: Account,
    queued: AtomicUsize,
    addresses: Mutex<Addresses>,
    /// Told when the state changes.
    pub(crate) changed: Notify,
    pub(crate) counters: Counters,
}

/// What went through a connection, all its generations together.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) received_messages: AtomicU64,
    pub(crate) dropped_bytes: AtomicU64,
    pub(crate) dropped_messages: AtomicU64,
    cut: AtomicBool,
}

impl Counters {
    pub(crate) fn received_messages(&self) -> u64 {
        self.received_messages.load(Ordering::Relaxed)
    }

    /// Payload bytes and messages that were accepted and not handed over.
    pub(crate) fn all_dropped(&self) -> (u64, u64) {
        (
            self.dropped_bytes.load(Ordering::Relaxed),
            self.dropped_messages.load(Ordering::Relaxed),
        )
    }

    /// Whether the last connection was cut.
    pub(crate) fn was_cut(&self) -> bool {
        self.cut.load(Ordering::Relaxed)
    }

    pub(crate) fn set_cut(&self, cut: bool) {
        self.cut.store(cut, Ordering::Relaxed);
    }

    /// Only the lane counts these, so a load and a store do.
    #[inline]
    pub(crate) fn delivered(&self, messages: u64) {
        let before = self.received_messages.load(Ordering::Relaxed);
        self.received_messages
            .store(before + messages, Ordering::Relaxed);
    }

    pub(crate) fn dropped(&self, bytes: usize, messages: usize) {
        self.dropped_bytes
            .fetch_add(bytes as u64, Ordering::Relaxed);
        self.dropped_messages
            .fetch_add(messages as u64, Ordering::Relaxed);
    }
}

impl Shared {
    pub(crate) fn new(limits: SendLimits) -> Arc<Self> {
        Arc::new(Self {
            id: SessionId::next(),
            state: AtomicU8::new(State::Connecting as u8),
            generation: AtomicU64::new(0),
            reconnects: AtomicBool::new(false),
            over: AtomicBool::new(false),
            mail: AtomicBool::new(false),
            mailbox: Mutex::default(),
            account: Account {
                bytes: AtomicUsize::new(0),
                operations: AtomicUsize::new(0),
                limits,
                room: Notify::new(),
            },
            queued: AtomicUsize::new(0),
            addresses: Mutex::default(),
            changed: Notify::new(),
            counters: Counters::default(),
        })
    }

    pub(crate) fn state(&self) -> State {
        match self.state.load(Ordering::Acquire) {
            0 => State::Connecting,
            1 => State::Open,
            2 => State::Draining,
            _ => State::Closed,
        }
    }

    /// Which connection of its endpoint this is: 0 before the first, then counting up.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(crate) fn addresses(&self) -> Addresses {
        lock(&self.addresses).clone()
    }

    /// Wire bytes that wait on the lane, as of its last turn, plus what waits in the mailbox.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }

    // The lane's side.

    pub(crate) fn publish_state(&self, state: State) {
        // Only the lane writes it, so a turn that changes nothing makes no exchange.
        if self.state.load(Ordering::Relaxed) != state as u8 {
            self.state.swap(state as u8, Ordering::AcqRel);
            self.changed.notify_waiters();
            self.account.room.notify_waiters();
        }
    }

    /// A new connection begins; what was sent before belongs to the last one.
    pub(crate) fn publish_addresses(&self, addresses: Addresses) {
        *lock(&self.addresses) = addresses;
    }

    pub(crate) fn publish_generation(&self) -> u64 {
        self.generation.fetch_add(1, Ordering::AcqRel) + 1
    }

    #[inline]
    pub(crate) fn publish_queued(&self, bytes: usize) {
        if self.queued.load(Ordering::Relaxed) != bytes {
            self.queued.store(bytes, Ordering::Relaxed);
        }
    }

    /// Whether there is mail. A plain load: this is asked every turn.
    #[inline]
    pub(crate) fn has_mail(&self) -> bool {
        self.mail.load(Ordering::Acquire)
    }

    /// Takes the mail that there is.
    pub(crate) fn take_mail(&self) -> (VecDeque<Mail>, Option<Close>) {
        self.mail.swap(false, Ordering::AcqRel);
        let mut mailbox = lock(&self.mailbox);
        mailbox.posts = 0;
        (std::mem::take(&mut mailbox.queue), mailbox.close.take())
    }

    /// Takes the call that there is, before its close is taken.
    #[cfg(feature = "owner")]
    pub(crate) fn take_call(&self) -> Option<Arc<dyn Called>> {
        lock(&self.mailbox).call.take()
    }

    /// Has something called on the lane, once for all that comes before it is; another that waits is replaced.
    #[cfg(feature = "owner")]
    pub(crate) fn call(&self, called: Arc<dyn Called>) {
        let mut mailbox = lock(&self.mailbox);
        if mailbox.ended {
            return;
        }
        let replaced = mailbox.call.replace(called);
        drop(mailbox);
        drop(replaced);
        self.notify();
    }

    pub(crate) fn set_waker(&self, waker: &Waker) {
        lock(&self.mailbox).waker = Some(waker.clone());
    }

    /// Nobody reads the mail any more; what is left of it comes back.
    pub(crate) fn end_mail(&self) -> VecDeque<Mail> {
        let mut mailbox = lock(&self.mailbox);
        mailbox.ended = true;
        mailbox.waker = None;
        #[cfg(feature = "owner")]
        let _called = mailbox.call.take();
        std::mem::take(&mut mailbox.queue)
    }

    /// The end of it all, for everybody who waits; mail that is left is dropped.
    pub(crate) fn end(&self) {
        drop(self.end_mail());
        self.over.store(true, Ordering::Release);
        self.publish_state(State::Closed);
        // A client's state was closed already when its last connection was lost.
        self.changed.notify_waiters();
    }

    /// It is a client's: the end of a connection is not its end.
    pub(crate) fn set_reconnects(&self) {
        self.reconnects.store(true, Ordering::Release);
    }

    pub(crate) fn reconnects(&self) -> bool {
        self.reconnects.load(Ordering::Acquire)
    }

    /// Whether nothing will happen any more.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    // Everybody's side.

    /// Admits a send, or refuses it at once. One that is `pinned` is for this connection only.
    pub(crate) fn send(
        &self,
        payload: Bytes,
        completion: Option<Completion>,
        pinned: Option<u64>,
    ) -> Result<(), SendError> {
        let generation = self.generation();
        if self.state() != State::Open || pinned.is_some_and(|pinned| pinned != generation) {
            return Err(SendError::NotConnected);
        }
        let accounted = payload.len();
        if let Err(error) = self.account.reserve(accounted) {
            return Err(error.with_message(payload));
        }
        let mail = Mail::Send {
            generation,
            payload,
            completion,
        };
        let mut mailbox = lock(&self.mailbox);
        if mailbox.ended {
            drop(mailbox);
            self.account.release(accounted, 1);
            return Err(SendError::NotConnected);
        }
        mailbox.queue.push_back(mail);
        drop(mailbox);
        self.notify();
        Ok(())
    }

    /// Whether a send of `bytes` would be admitted now.
    pub(crate) fn check(&self, bytes: usize) -> Result<(), SendError> {
        if self.state() != State::Open {
            return Err(SendError::NotConnected);
        }
        self.account.reserve(bytes)?;
        self.account.release(bytes, 1);
        Ok(())
    }

    /// Runs a function on the lane, unless too many wait or the connection is gone.
    pub(crate) fn post(&self, post: Post) -> Result<(), SendError> {
        let mut mailbox = lock(&self.mailbox);
        if mailbox.ended {
            return Err(SendError::NotConnected);
        }
        if mailbox.posts >= POSTS {
            return Err(SendError::TooManyPosts { limit: POSTS });
        }
        mailbox.posts += 1;
        mailbox.queue.push_back(Mail::Post(post));
        drop(mailbox);
        self.notify();
        Ok(())
    }

    /// Runs a function on the lane, however many wait, if the connection is still this one. Each connection posts two
    /// such functions at most: its close and its abort.
    pub(crate) fn post_last(&self, generation: u64, post: Post) {
        let mut mailbox = lock(&self.mailbox);
        if mailbox.ended {
            return;
        }
        mailbox.queue.push_back(Mail::Post(Box::new(move |session| {
            // While the client connects again, the last connection is over already.
            let is_over = session.engine().state() == State::Connecting;
            if session.generation() == generation && !is_over {
                post(session);
            }
        })));
        drop(mailbox);
        self.notify();
    }

    pub(crate) fn close(&self, close: Close) {
        let mut mailbox = lock(&self.mailbox);
        mailbox.close = Some(match (mailbox.close, close) {
            (Some(Close::Abort), _) | (_, Close::Abort) => Close::Abort,
            (Some(Close::By(one)), Close::By(other)) => Close::By(one.min(other)),
            (Some(Close::By(deadline)), _) | (_, Close::By(deadline)) => Close::By(deadline),
            _ => Close::Graceful,
        });
        drop(mailbox);
        self.notify();
    }

    /// Wakes the lane's task, once for all that comes before it looks.
    pub(crate) fn notify(&self) {
        if self.mail.swap(true, Ordering::AcqRel) {
            return;
        }
        let waker = lock(&self.mailbox).waker.clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.id.0)
            .field("state", &self.state())
            .field("generation", &self.generation())
            .finish_non_exhaustive()
    }
}
