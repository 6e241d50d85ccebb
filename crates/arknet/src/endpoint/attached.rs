//! The driver of a session whose owner is async code.
//!
//! The task of a connection polls the application's future and drives the socket, both in one. While the future is being
//! polled, the connection lies in a slot of the thread, where the [`Connection`](super::Connection) that the future owns
//! finds it: so a receive decodes and a send appends directly, with no lock, no atomic operation and no other task in
//! between. A `Connection` that has been moved to another task does not find it, and uses the mailbox and the inbox.

use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use super::core::{Core, Read};
use super::error::{CloseReason, SendError};
use super::inbox::{Inbox, Received};
use super::outbox::Outbox;
use super::shared::Shared;
use super::take::Take;
use super::timers::Action;
use crate::drive::stream::READS_PER_TURN;
use crate::io::now;
use crate::lanes::lock;
use arknet_proto::session::{Cause, Event, State};

thread_local! {
    static CURRENT: Cell<Option<Box<Attached>>> = const { Cell::new(None) };
}

/// A connection and its owner's expectations.
pub(crate) struct Attached {
    pub(super) core: Core,
    /// Wakers of parts of the owner's future that wait for a message or for room, where these are not the task's own.
    waiting: Vec<Waker>,
    /// The waker of the part that waits for a message, where it is not the task's own: readiness of a socket of a lane
    /// wakes the task only.
    receiver: Option<Waker>,
    /// That part waits until reading goes on.
    receiver_paused: bool,
    /// The owner waits for something that the driver may bring about.
    waits: bool,
    /// The owner waits until nothing waits to be sent.
    waits_for_flush: bool,
    /// Those that wait have been told that the session is being closed. Whoever waits afterwards knows.
    told_draining: bool,
    /// Why the session ended, once it has.
    ended: Option<CloseReason>,
    /// The owner is elsewhere: messages are read for it.
    pumping: bool,
    /// Which connection of the session it is.
    pub(super) generation: u64,
    inbox: Ending,
}

/// The inbox of an owner elsewhere, who hears of the end even where the lane drops the connection in the middle of its life.
struct Ending(Arc<Mutex<Inbox>>);

impl std::ops::Deref for Ending {
    type Target = Mutex<Inbox>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Ending {
    /// Nothing more comes; the first reason stands.
    fn end(&self, reason: CloseReason) {
        let waker = {
            let mut inbox = lock(&self.0);
            inbox.end(reason);
            inbox.take_waker()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.end(CloseReason::Aborted);
    }
}

/// Wakers of parts that are remembered. All that waits borrows the connection, so only one or two do at a time; the others
/// are of parts that were dropped.
const WAITING: usize = 16;

impl Attached {
    pub(super) fn into_parts(self) -> (Box<Core>, CloseReason) {
        // The driver gives it back only when it has ended.
        (
            Box::new(self.core),
            self.ended.unwrap_or(CloseReason::Aborted),
        )
    }

    /// A connection that has just been opened, with the inbox of its [`Connection`](super::Connection).
    pub(super) fn new(core: Core, inbox: Arc<Mutex<Inbox>>) -> Box<Self> {
        Box::new(Self {
            generation: core.session.generation(),
            inbox: Ending(inbox),
            core,
            waiting: Vec::new(),
            receiver: None,
            receiver_paused: false,
            waits: false,
            waits_for_flush: false,
            told_draining: false,
            ended: None,
            pumping: false,
        })
    }

    pub(super) fn ended(&self) -> Option<&CloseReason> {
        self.ended.as_ref()
    }

    /// The next message for the owner.
    #[inline]
    pub(super) fn poll_receive<R: Take>(
        &mut self,
        cx: &mut Context<'_>,
        take: &mut R,
    ) -> Poll<Received<R::Taken>> {
        if self.pumping
            && let Some(message) = lock(&self.inbox).pop()
        {
            let mut outbox = Outbox::here(&mut self.core.session);
            return Poll::Ready(Ok(Some(take.take_queued(message, &mut outbox))));
        }
        for _ in 0..READS_PER_TURN {
            if let Some(taken) = take.take_buffered(&mut self.core) {
                return Poll::Ready(Ok(Some(taken)));
            }
            self.core.inbound.settle();
            if self.core.state() != State::Open || self.core.session.engine().peer_has_ended() {
                return self.poll_ended(cx);
            }
            if self.core.session.is_reading_paused() {
                break;
            }
            match self.core.poll_read(cx) {
                Poll::Ready(Read::Some) => {}
                Poll::Ready(Read::End) => self.core.check_end(),
                Poll::Ready(Read::Fault) => {}
                Poll::Pending => {
                    self.wait_for_message(cx);
                    return Poll::Pending;
                }
            }
        }
        self.wait_for_message(cx);
        self.receiver_paused = self.core.session.is_reading_paused();
        if !self.receiver_paused {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// The owner asked for a message and there will be none. An error is told when the driver has seen it.
    #[cold]
    fn poll_ended<T>(&mut self, cx: &Context<'_>) -> Poll<Received<T>> {
        match &self.ended {
            Some(CloseReason::Error(error)) => Poll::Ready(Err(error.clone())),
            Some(_) => Poll::Ready(Ok(None)),
            // Ended by a fault that the driver will tell of when this poll is over.
            None if self.core.state() == State::Closed => {
                self.wait(cx);
                Poll::Pending
            }
            None => Poll::Ready(Ok(None)),
        }
    }

    /// Hands over what waits; ready when all is.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        self.core.session.flush(cx);
        if self.core.session.is_flushed() {
            return Poll::Ready(Ok(()));
        }
        if self.core.state() == State::Closed {
            let generation = self.core.session.generation();
            return Poll::Ready(Err(SendError::ConnectionLost { generation }));
        }
        self.waits_for_flush = true;
        self.wait(cx);
        Poll::Pending
    }

    /// Remembers that a part of the owner's future waits.
    #[inline]
    pub(super) fn wait(&mut self, cx: &Context<'_>) {
        self.waits = true;
        if !self.core.session.is_own_waker(cx) {
            self.remember(cx);
        }
    }

    #[cold]
    fn remember(&mut self, cx: &Context<'_>) {
        if self.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
            return;
        }
        if self.waiting.len() >= WAITING {
            // Of a part that has given up, most likely. One that still waits asks again.
            self.waiting.remove(0).wake();
        }
        self.waiting.push(cx.waker().clone());
    }

    #[inline]
    fn wait_for_message(&mut self, cx: &Context<'_>) {
        self.wait(cx);
        self.receiver_paused = false;
        self.receiver = (!self.core.session.is_own_waker(cx)).then(|| cx.waker().clone());
    }

    /// Wakes the part that waits for a message where only the task was woken.
    #[inline]
    fn wake_receiver(&mut self) {
        if self.receiver.is_some() {
            self.wake_part();
        }
    }

    #[cold]
    fn wake_part(&mut self) {
        let session = &mut self.core.session;
        if session.is_reading_paused() {
            return;
        }
        let may_read = session
            .transport_mut()
            .is_some_and(|transport| transport.socket().may_read_unannounced());
        if (may_read || self.receiver_paused)
            && let Some(receiver) = self.receiver.take()
        {
            receiver.wake();
        }
    }

    fn wake_owner(&mut self, cx: &Context<'_>) {
        if std::mem::take(&mut self.waits) {
            for waker in self.waiting.drain(..) {
                waker.wake();
            }
            cx.waker().wake_by_ref();
        }
    }
}

/// Runs `function` on the connection, if it is the one whose task is being polled on this thread.
#[inline]
pub(super) fn with<T>(
    shared: &Arc<Shared>,
    generation: u64,
    function: impl FnOnce(&mut Attached) -> T,
) -> Option<T> {
    let mut slot = Slot(CURRENT.take());
    let attached = slot.0.as_mut()?;
    let here = Arc::ptr_eq(attached.core.session.shared(), shared);
    if !here || attached.generation != generation {
        return None;
    }
    Some(function(attached))
}

/// Takes a whole message that has arrived, if the connection is the one whose task is being polled on this thread.
///
/// Apart from [`with`], because what this returns is one word: the message as part of a larger value, written in two
/// words and read in one, stalled the processor for 20 ns.
#[inline]
pub(super) fn take_message<R: Take>(
    shared: &Arc<Shared>,
    generation: u64,
    take: &mut R,
) -> Option<R::Taken> {
    let mut slot = Slot(CURRENT.take());
    let attached = slot.0.as_mut()?;
    let here = Arc::ptr_eq(attached.core.session.shared(), shared);
    if !here || attached.generation != generation || attached.pumping {
        return None;
    }
    take.take_buffered(&mut attached.core)
}

/// Puts back what was taken from the thread's slot, whatever happens meanwhile.
struct Slot(Option<Box<Attached>>);

impl Drop for Slot {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// The task of a session whose owner is `owner`: drives both until the session has closed and the owner is done.
pub(super) struct Driver<F> {
    /// Elsewhere only while the owner is being polled.
    attached: Option<Box<Attached>>,
    /// The owner, until it is done.
    owner: Option<Pin<Box<F>>>,
    /// The owner's session has been cut from outside: it is not waited for.
    cut: bool,
}

impl<F: Future<Output = ()>> Driver<F> {
    pub(super) fn new(attached: Box<Attached>, owner: Option<F>) -> Self {
        Self {
            attached: Some(attached),
            owner: owner.map(Box::pin),
            cut: false,
        }
    }

    /// Polls everything. The connection comes back when it has closed and the owner is done.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Box<Attached>> {
        let Some(mut attached) = self.attached.take() else {
            return Poll::Pending;
        };
        attached.core.begin(cx);
        drive(&mut attached, cx);
        if let Some(owner) = &mut self.owner {
            attached.wake_receiver();
            let (inner, done) = poll_owner(owner.as_mut(), attached, cx);
            attached = inner;
            if done {
                let owner = self.owner.take();
                attached = drop_owner(owner, attached);
            }
            drive(&mut attached, cx);
        }
        self.cut |= attached.core.session.is_cut();
        attached.core.publish();
        if attached.ended.is_none() || (self.owner.is_some() && !self.cut) {
            self.attached = Some(attached);
            return Poll::Pending;
        }
        let owner = self.owner.take();
        Poll::Ready(drop_owner(owner, attached))
    }
}

/// Polls the owner, with the connection in the thread's slot, and says whether it is done.
#[inline]
fn poll_owner<F: Future<Output = ()>>(
    owner: Pin<&mut F>,
    attached: Box<Attached>,
    cx: &mut Context<'_>,
) -> (Box<Attached>, bool) {
    let outer = Slot(CURRENT.replace(Some(attached)));
    let polled = catch_unwind(AssertUnwindSafe(|| owner.poll(cx)));
    let mut attached = taken_back(outer);
    let done = match polled {
        Ok(polled) => polled.is_ready(),
        Err(panic) => {
            attached.core.session.panicked(&*panic);
            true
        }
    };
    (attached, done)
}

/// Drops the owner with the connection at hand, so that a `Connection` in it finds it.
fn drop_owner<T>(owner: Option<T>, attached: Box<Attached>) -> Box<Attached> {
    let outer = Slot(CURRENT.replace(Some(attached)));
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(owner)));
    let mut attached = taken_back(outer);
    if let Err(panic) = dropped {
        attached.core.session.panicked(&*panic);
    }
    attached
}

/// Takes the connection from the slot, into which `outer` is put back.
fn taken_back(outer: Slot) -> Box<Attached> {
    let attached = CURRENT.take();
    drop(outer);
    // Whatever takes the connection from its slot puts it back by a guard, even when it panics.
    attached.unwrap_or_else(|| unreachable!("a connection left its slot"))
}

/// Moves the connection on: flushes, completes, tells the owner, looks at the clock, reads where nobody else does.
#[inline]
fn drive(attached: &mut Attached, cx: &mut Context<'_>) {
    let core = &mut attached.core;
    core.session.flush(cx);
    let mut busy = core.session.complete();
    if core.poll_deadline(cx).is_ready() {
        busy = true;
        core.tick();
        run_timers(core);
    }
    if core.state() == State::Draining {
        discard(core, cx);
    } else {
        pump(attached, cx);
    }
    tell(attached, cx);
    if busy || attached.core.session.engine().has_news() {
        cx.waker().wake_by_ref();
    }
}

/// Reads until the peer has ended its stream; what comes is of no use any more.
fn discard(core: &mut Core, cx: &mut Context<'_>) {
    for _ in 0..READS_PER_TURN {
        if !core.is_reading() || core.poll_read(cx).is_pending() {
            return;
        }
    }
    cx.waker().wake_by_ref();
}

/// Tells the owner what happened.
#[inline]
fn tell(attached: &mut Attached, cx: &Context<'_>) {
    while let Some(event) = attached.core.session.engine_mut().poll_event() {
        match event {
            Event::Opened => {}
            Event::Writable => attached.wake_owner(cx),
            Event::Closed { cause, .. } => closed(attached, cause, cx),
        }
    }
    if attached.waits_for_flush && attached.core.session.is_flushed() {
        attached.waits_for_flush = false;
        attached.wake_owner(cx);
    }
    if attached.waits && !attached.told_draining && attached.core.state() == State::Draining {
        attached.told_draining = true;
        attached.wake_owner(cx);
    }
}

#[cold]
fn closed(attached: &mut Attached, cause: Cause, cx: &Context<'_>) {
    let core = &mut attached.core;
    let reason = core.session.reason(cause);
    core.publish();
    core.session.abandon();
    core.inbound.reset();
    attached.inbox.end(reason.clone());
    attached.ended = Some(reason);
    attached.wake_owner(cx);
}

/// Reads messages for an owner that is elsewhere, as far as its inbox has room.
#[inline]
fn pump(attached: &mut Attached, cx: &mut Context<'_>) {
    if attached.core.session.take_inbox_news() {
        attached.pumping = lock(&attached.inbox).is_active();
    }
    if attached.pumping && attached.core.state() == State::Open {
        pump_messages(attached, cx);
    }
}

fn pump_messages(attached: &mut Attached, cx: &mut Context<'_>) {
    for _ in 0..READS_PER_TURN {
        let room = push_messages(attached, cx);
        let Attached { core, inbox, .. } = &mut *attached;
        if !room || core.session.is_reading_paused() {
            return;
        }
        if core.session.engine().peer_has_ended() {
            core.check_end();
            end_inbox(core, inbox);
            return attached.wake_owner(cx);
        }
        if core.state() != State::Open {
            return;
        }
        match core.poll_read(cx) {
            Poll::Ready(Read::Some | Read::End) => {}
            Poll::Ready(Read::Fault) | Poll::Pending => return,
        }
    }
    cx.waker().wake_by_ref();
}

/// Moves whole messages to the inbox; says whether it has room for more. The owner is told where it waits, be it elsewhere
/// or, come back, on the lane.
fn push_messages(attached: &mut Attached, cx: &Context<'_>) -> bool {
    let Attached { core, inbox, .. } = attached;
    let mut inbox = lock(inbox);
    let mut pushed = false;
    let mut room = inbox.has_room();
    while room {
        let Some(message) = core.take_message() else {
            break;
        };
        inbox.push(message);
        pushed = true;
        room = inbox.has_room();
    }
    core.inbound.settle();
    let waker = if pushed { inbox.take_waker() } else { None };
    drop(inbox);
    if let Some(waker) = waker {
        waker.wake();
    }
    if pushed {
        attached.wake_owner(cx);
    }
    room
}

/// The peer ended its stream between two messages: the owner elsewhere learns it, and can still send.
fn end_inbox(core: &Core, inbox: &Ending) {
    if core.state() == State::Open {
        inbox.end(CloseReason::Peer);
    }
}

fn run_timers(core: &mut Core) {
    let at = now();
    while core.state() != State::Closed {
        let Some((key, action, every)) = core.session.poll_timer(at) else {
            break;
        };
        // A key alone has nobody to be told to in async code, which waits by itself.
        let Action::Run(mut run) = action else {
            continue;
        };
        core.session.run_guarded(&mut run);
        if every.is_some() {
            core.session.keep_timer(&key, Action::Run(run));
        }
    }
}
