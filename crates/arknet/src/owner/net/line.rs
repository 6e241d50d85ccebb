//! What a connection's lane and the owner share: events on their way in, sends on their way out.
//!
//! Each side works on a buffer of its own and exchanges it for the other's, once a turn and once an update: a message costs
//! neither a lock nor an allocation.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;

use super::buffers::Buffers;
use super::packed::Packed;
use crate::endpoint::{Called, CloseReason, SendError, Session, SessionHandle};
use crate::lanes::lock;
use crate::owner::signal::{Signal, SourceId};

/// The kinds of what is on its way out: bytes that lie in the queue, bytes that lie beside it, and two ends.
pub(super) const COPIED: u8 = 0;
pub(super) const OWNED: u8 = 1;
pub(super) const FINISH: u8 = 2;
pub(super) const CLOSE: u8 = 3;

/// What is the same for all connections of an endpoint.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) signal: Arc<Signal>,
    pub(super) buffers: Buffers,
    pub(super) most_events: usize,
    pub(super) most_bytes: usize,
    /// What may wait in all connections together before each has room for one message only.
    pub(super) most_in_all: usize,
    pub(super) in_all: AtomicUsize,
}

/// On its way out.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    pub(super) packed: Packed,
    pub(super) owned: VecDeque<Bytes>,
}

impl Outgoing {
    fn append(&mut self, other: &mut Self) {
        self.packed.append(&mut other.packed);
        self.owned.append(&mut other.owned);
    }

    pub(super) fn clear(&mut self) {
        self.packed.clear();
        self.owned.clear();
    }
}

pub(super) struct Line {
    pub(super) common: Arc<Common>,
    /// None of a connection that is replayed.
    pub(super) handle: Option<SessionHandle>,
    generation: u64,
    inward: Mutex<Inward>,
    outward: Mutex<Outward>,
    moved_operations: AtomicU64,
    moved_bytes: AtomicU64,
    done_operations: AtomicU64,
    done_bytes: AtomicU64,
    /// The owner was refused a send, and waits for room.
    wanting: AtomicBool,
}

#[derive(Default)]
struct Inward {
    /// Where the owner knows it, once it does.
    place: Option<SourceId>,
    /// The owner has been told and has not looked yet.
    listed: bool,
    messages: Packed,
    /// Put in and not yet delivered.
    count: usize,
    bytes: usize,
    ended: bool,
    writable: bool,
    closed: Option<CloseReason>,
    /// The lane has said why it ended.
    over: bool,
    /// The lane reads no more until there is room.
    paused: bool,
    /// The owner drains: the lane reads no more.
    refusing: bool,
    /// The owner wants nothing more.
    gone: bool,
    /// The owner knows of the end.
    told: bool,
    lane: Option<Waker>,
}

#[derive(Default)]
struct Outward {
    outgoing: Outgoing,
    resume: bool,
    hold: bool,
    /// The lane has been called and has not looked yet.
    called: bool,
}

/// What became of what a lane put in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Verdict {
    /// So many events and bytes wait now.
    Room(usize, usize),
    Full,
    Gone,
}

/// What the owner took beside the messages.
#[derive(Default)]
pub(super) struct Taken {
    pub(super) ended: bool,
    pub(super) writable: bool,
    pub(super) closed: Option<CloseReason>,
}

impl Line {
    pub(super) fn new(common: Arc<Common>, handle: Option<SessionHandle>) -> Arc<Self> {
        let generation = handle.as_ref().map_or(0, SessionHandle::generation);
        Arc::new(Self {
            common,
            handle,
            generation,
            inward: Mutex::default(),
            outward: Mutex::default(),
            moved_operations: AtomicU64::new(0),
            moved_bytes: AtomicU64::new(0),
            done_operations: AtomicU64::new(0),
            done_bytes: AtomicU64::new(0),
            wanting: AtomicBool::new(false),
        })
    }

    fn is_full(&self, inward: &Inward) -> bool {
        let common = &self.common;
        inward.count >= common.most_events
            || inward.bytes >= common.most_bytes
            || (inward.count > 0 && common.in_all.load(Ordering::Relaxed) >= common.most_in_all)
    }

    fn tell(&self, mut inward: std::sync::MutexGuard<'_, Inward>) {
        let Some(place) = inward.place else { return };
        let first = !std::mem::replace(&mut inward.listed, true);
        drop(inward);
        if first {
            self.common.signal.notify(place);
        }
    }

    // The lane's side.

    /// Puts in what the lane has read in a turn.
    pub(super) fn publish(&self, staged: &mut Packed, ended: bool) -> Verdict {
        let mut inward = lock(&self.inward);
        if inward.gone {
            return Verdict::Gone;
        }
        let (count, bytes) = (staged.len(), staged.size());
        inward.count = inward.count.saturating_add(count);
        inward.bytes = inward.bytes.saturating_add(bytes);
        self.common.in_all.fetch_add(bytes, Ordering::Relaxed);
        inward.messages.append(staged);
        inward.ended |= ended;
        inward.paused = inward.refusing || self.is_full(&inward);
        let verdict = if inward.paused {
            Verdict::Full
        } else {
            Verdict::Room(inward.count, inward.bytes)
        };
        self.tell(inward);
        verdict
    }

    /// The connection has ended. The first reason stands.
    pub(super) fn close(&self, reason: CloseReason) {
        let mut inward = lock(&self.inward);
        if std::mem::replace(&mut inward.over, true) {
            return;
        }
        inward.closed = Some(reason);
        self.tell(inward);
    }

    /// Notes how much of what the owner has sent has been handed to the transport.
    pub(super) fn settle_sends(&self, session: &Session) {
        let moved = self.moved_operations.load(Ordering::Relaxed);
        let done = moved.saturating_sub(session.queued_operations() as u64);
        let bytes = self.moved_bytes.load(Ordering::Relaxed);
        let done_bytes = bytes.saturating_sub(session.queued_bytes() as u64);
        if done == self.done_operations.load(Ordering::Relaxed)
            && done_bytes == self.done_bytes.load(Ordering::Relaxed)
        {
            return;
        }
        // Before the look at who waits, as the owner says that it waits before it looks at these.
        self.done_bytes.store(done_bytes, Ordering::SeqCst);
        self.done_operations.store(done, Ordering::SeqCst);
        if self.wanting.load(Ordering::SeqCst) && session.has_drained_to_half() {
            self.wanting.store(false, Ordering::SeqCst);
            let mut inward = lock(&self.inward);
            inward.writable = true;
            self.tell(inward);
        }
    }

    /// Ready when the owner has been told of the end, or wants nothing more.
    pub(super) fn poll_told(&self, cx: &Context<'_>) -> Poll<()> {
        let mut inward = lock(&self.inward);
        if inward.told || inward.gone {
            return Poll::Ready(());
        }
        inward.lane = Some(cx.waker().clone());
        Poll::Pending
    }

    // The owner's side.

    /// The owner knows it from here on by this place.
    pub(super) fn bind(&self, place: SourceId) {
        let mut inward = lock(&self.inward);
        inward.place = Some(place);
        let some = !inward.messages.is_empty()
            || inward.ended
            || inward.writable
            || inward.closed.is_some();
        if some {
            self.tell(inward);
        }
    }

    /// Moves all messages behind those in `ready`.
    pub(super) fn take(&self, ready: &mut Packed) -> Taken {
        let mut inward = lock(&self.inward);
        inward.listed = false;
        ready.append(&mut inward.messages);
        Taken {
            ended: std::mem::take(&mut inward.ended),
            writable: std::mem::take(&mut inward.writable),
            closed: inward.closed.take(),
        }
    }

    /// Gives back the room of what has been delivered; a lane that waits for it reads on once half is free.
    pub(super) fn release(self: &Arc<Self>, count: usize, bytes: usize) {
        if count == 0 {
            return;
        }
        let mut inward = lock(&self.inward);
        inward.count = inward.count.saturating_sub(count);
        // What was discarded meanwhile has been given back.
        let bytes = bytes.min(inward.bytes);
        inward.bytes -= bytes;
        self.common.in_all.fetch_sub(bytes, Ordering::Relaxed);
        let half = inward.count <= self.common.most_events / 2
            && inward.bytes <= self.common.most_bytes / 2;
        if !inward.paused || inward.refusing || !half {
            return;
        }
        inward.paused = false;
        drop(inward);
        self.call(|outward| outward.resume = true);
    }

    /// Reads no more: the owner drains.
    pub(super) fn refuse(self: &Arc<Self>) {
        lock(&self.inward).refusing = true;
        self.call(|outward| outward.hold = true);
    }

    /// What has come and will come is of no use any more.
    pub(super) fn discard(&self) {
        let mut inward = lock(&self.inward);
        inward.gone = true;
        inward.messages.clear();
        let bytes = std::mem::take(&mut inward.bytes);
        inward.count = 0;
        self.common.in_all.fetch_sub(bytes, Ordering::Relaxed);
        let lane = inward.lane.take();
        drop(inward);
        if let Some(lane) = lane {
            lane.wake();
        }
    }

    /// The owner has been told of the end.
    pub(super) fn told(&self) {
        let mut inward = lock(&self.inward);
        inward.told = true;
        let lane = inward.lane.take();
        drop(inward);
        if let Some(lane) = lane {
            lane.wake();
        }
    }

    /// How much has been put in and not been delivered.
    pub(super) fn count(&self) -> usize {
        lock(&self.inward).count
    }

    /// Operations and bytes of the owner's that have been handed to the transport, since the beginning.
    pub(super) fn done(&self) -> (u64, u64) {
        let operations = self.done_operations.load(Ordering::SeqCst);
        (operations, self.done_bytes.load(Ordering::SeqCst))
    }

    /// The owner waits for room: it is told when there is. It must look again after this.
    pub(super) fn want(&self) {
        self.wanting.store(true, Ordering::SeqCst);
    }

    /// There is room after all.
    pub(super) fn want_no_more(&self) {
        self.wanting.store(false, Ordering::SeqCst);
    }

    /// Hands over what the owner has sent.
    pub(super) fn hand_over(self: &Arc<Self>, outgoing: &mut Outgoing) {
        self.call(|outward| outward.outgoing.append(outgoing));
    }

    /// Has the lane look, once until it does.
    fn call(self: &Arc<Self>, put: impl FnOnce(&mut Outward)) {
        let first = {
            let mut outward = lock(&self.outward);
            put(&mut outward);
            !std::mem::replace(&mut outward.called, true)
        };
        if first && let Some(handle) = &self.handle {
            handle.shared().call(self.clone());
        }
    }

    fn send(&self, session: &mut Session, outgoing: &mut Outgoing) {
        let (mut operations, mut bytes) = (0, 0_usize);
        let mut lost = (0, 0_usize);
        while let Some((kind, item)) = outgoing.packed.front() {
            let (size, sent) = match kind {
                COPIED => (item.len(), session.send(item)),
                OWNED => {
                    let owned = outgoing.owned.pop_front().unwrap_or_default();
                    (owned.len(), session.send(owned))
                }
                FINISH => {
                    session.finish();
                    outgoing.packed.pop();
                    continue;
                }
                _ => {
                    session.close();
                    outgoing.packed.pop();
                    continue;
                }
            };
            operations += 1;
            bytes = bytes.saturating_add(size);
            if let Err(error) = sent {
                lost = (lost.0 + 1, lost.1.saturating_add(size));
                refused(session, &error);
            }
            outgoing.packed.pop();
        }
        session.note_dropped(lost.1, lost.0);
        let moved = self.moved_operations.load(Ordering::Relaxed);
        self.moved_operations
            .store(moved + operations, Ordering::Relaxed);
        let moved = self.moved_bytes.load(Ordering::Relaxed);
        self.moved_bytes
            .store(moved + bytes as u64, Ordering::Relaxed);
    }
}

/// The owner accepted what the session does not: on a connection that has ended that is how it goes. On an open one a
/// stream with a hole is worse than one that is cut.
#[cold]
fn refused(session: &mut Session, error: &SendError) {
    if !error.is_closed() {
        tracing::warn!(session = %session.id(), %error, "a message that an owner had sent was refused");
        session.abort();
    }
}

impl Called for Line {
    fn called(&self, session: &mut Session) {
        let (mut outgoing, resume, hold) = {
            let mut outward = lock(&self.outward);
            outward.called = false;
            (
                std::mem::take(&mut outward.outgoing),
                std::mem::take(&mut outward.resume),
                std::mem::take(&mut outward.hold),
            )
        };
        // Of another connection of the same client: what was sent on one is never sent on the next.
        if session.generation() != self.generation {
            return;
        }
        self.send(session, &mut outgoing);
        if let Some(storage) = outgoing.packed.reclaim() {
            self.common.buffers.give_back(storage);
        }
        if hold {
            session.pause_reading(true);
        } else if resume {
            session.pause_reading(false);
        }
    }
}
