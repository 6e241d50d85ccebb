//! Inlets: streams of events into the owner, each with a bound and a turn of its own.
//!
//! A connection is an inlet: its events come in the order in which they were put in, a chatty one has its quantum and then
//! waits for the others, and one whose owner does not keep up is full, which is what makes its reader stop reading.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use super::core::Core;
use super::cx::Cx;
use super::error::{RejectReason, Rejected};
use super::groups::{GroupRef, NONE};
use super::journal::Codec;
use super::label::Label;
use super::mailbox::Mailbox;
use super::posts::reason_of;
use super::signal::Signal;
use super::source::{Class, Source, Ticket};

/// What an inlet does when it is full.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Overflow {
    /// Nothing more is taken until the owner has delivered some: for streams. The default.
    #[default]
    Refuse,
    /// The oldest events give way, and are counted: for datagrams and states.
    DropOldest,
}

/// The bounds of an inlet.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct InletLimits {
    /// Events that have not been delivered. Default 1,024.
    pub events: usize,
    /// Bytes of them. Default 256 KiB, which is what a connection's inbox holds.
    pub bytes: usize,
    /// What happens beyond that.
    pub overflow: Overflow,
}

impl InletLimits {
    /// So many events and bytes, refusing more.
    pub fn new(events: usize, bytes: usize) -> Self {
        Self {
            events,
            bytes,
            overflow: Overflow::Refuse,
        }
    }

    /// The same bounds with another overflow.
    #[must_use]
    pub fn overflow(self, overflow: Overflow) -> Self {
        Self { overflow, ..self }
    }
}

impl Default for InletLimits {
    fn default() -> Self {
        Self::new(1024, 256 << 10)
    }
}

struct Event<T> {
    number: u64,
    bytes: usize,
    event: T,
}

/// Puts events into an owner, from any thread. The inlet ends, after its last event, when all clones have been dropped.
pub struct Inlet<T> {
    shared: Arc<InletShared<T>>,
}

struct InletShared<T> {
    mailbox: Arc<Mailbox<Event<T>>>,
    signal: Arc<Signal>,
    place: u32,
    overflow: Overflow,
}

impl<T> Drop for InletShared<T> {
    fn drop(&mut self) {
        self.mailbox.close();
        // The owner comes to let it go.
        self.signal.notify(self.place);
    }
}

impl<T> Clone for Inlet<T> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl<T> std::fmt::Debug for Inlet<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inlet").finish_non_exhaustive()
    }
}

impl<T: Send + 'static> Inlet<T> {
    /// Puts an event of `bytes` into the owner.
    ///
    /// # Errors
    ///
    /// The event comes back where the inlet is full and does not drop the oldest, or the owner or the group has ended.
    pub fn try_send(&self, event: T, bytes: usize) -> Result<(), Rejected<T>> {
        let event = Event {
            number: 0,
            bytes,
            event,
        };
        let mailbox = &self.shared.mailbox;
        let posted = match self.shared.overflow {
            Overflow::Refuse => mailbox.post(event, bytes),
            Overflow::DropOldest => mailbox
                .post_newest(event, bytes, |event| event.bytes)
                .map(|_| ()),
        };
        posted.map_err(|(refusal, event)| {
            Rejected::new(
                event.event,
                reason_of(refusal, mailbox.limits(), "an inlet"),
            )
        })
    }

    /// As [`try_send`](Self::try_send), and waits for room.
    ///
    /// Dropping this future before it is done leaves the event unsent.
    ///
    /// # Errors
    ///
    /// The event comes back where the owner or the group has ended, or 1,024 others wait already.
    pub async fn send(&self, event: T, bytes: usize) -> Result<(), Rejected<T>> {
        let mut event = event;
        loop {
            match self.try_send(event, bytes) {
                Ok(()) => return Ok(()),
                Err(rejected) if rejected.is_full() => event = rejected.operation,
                Err(rejected) => return Err(rejected),
            }
            if let Err(reason) = self.room(bytes).await {
                return Err(Rejected::new(event, reason));
            }
        }
    }

    /// Waits until an event of `bytes` would find room: before a socket is read.
    ///
    /// # Errors
    ///
    /// Where the owner or the group has ended, or 1,024 others wait already.
    pub async fn room(&self, bytes: usize) -> Result<(), RejectReason> {
        let mailbox = &self.shared.mailbox;
        poll_fn(|cx| match mailbox.poll_room(bytes, cx) {
            Poll::Ready(Err(refusal)) => {
                Poll::Ready(Err(reason_of(refusal, mailbox.limits(), "an inlet")))
            }
            Poll::Ready(Ok(())) => Poll::Ready(Ok(())),
            Poll::Pending => Poll::Pending,
        })
        .await
    }

    /// How many events gave way to newer ones.
    pub fn dropped(&self) -> u64 {
        self.shared.mailbox.dropped()
    }

    /// Whether the owner or the group has ended.
    pub fn is_closed(&self) -> bool {
        self.shared.mailbox.is_closed()
    }
}

type Handler<W, T> = Box<dyn FnMut(&mut W, T)>;

struct InletSource<W, T> {
    name: &'static str,
    place: u32,
    mailbox: Arc<Mailbox<Event<T>>>,
    ready: RefCell<VecDeque<Event<T>>>,
    /// Taken out while it runs; gone for good once the inlet is cancelled.
    handler: RefCell<Option<Handler<W, T>>>,
    cancelled: Cell<bool>,
    group: Option<GroupRef>,
    member: Cell<u32>,
    label: Label,
    numbers: Cell<u64>,
    delivered: Cell<(usize, usize)>,
    codec: Option<Codec<T>>,
}

impl<W, T> Source<W> for InletSource<W, T> {
    fn name(&self) -> &str {
        self.name
    }

    fn take_in(&self, _: Instant) -> usize {
        let mut ready = self.ready.borrow_mut();
        let before = ready.len();
        let count = self.mailbox.take(&mut ready);
        let mut number = self.numbers.get();
        for event in ready.iter_mut().skip(before) {
            event.number = number;
            number += 1;
        }
        self.numbers.set(number);
        count
    }

    fn ready(&self) -> usize {
        self.ready.borrow().len()
    }

    fn deliver(&self, core: &Rc<Core<W>>) -> bool {
        let Some(Event {
            number,
            bytes,
            event,
        }) = self.ready.borrow_mut().pop_front()
        else {
            return false;
        };
        let (count, total) = self.delivered.get();
        self.delivered.set((count + 1, total.saturating_add(bytes)));
        let Some(mut handler) = self.handler.borrow_mut().take() else {
            core.contain(self.label, self.group, || drop(event));
            return true;
        };
        if core.recording.get() {
            let payload = self.codec.as_ref().map(|codec| (codec.encode)(&event));
            let key = (u64::from(self.place) << 40) | number;
            core.record(Class::Network, self.name, key, Some(self.label), payload);
        }
        core.call(self.label, self.group, |world| handler(world, event));
        if self.cancelled.get() {
            core.contain(self.label, self.group, || drop(handler));
        } else {
            *self.handler.borrow_mut() = Some(handler);
        }
        true
    }

    fn settle(&self) {
        let (count, bytes) = self.delivered.take();
        self.mailbox.release(count, bytes);
    }

    fn bring_forward(&self, key: u64, payload: Option<&[u8]>) -> bool {
        if key >> 40 != u64::from(self.place) {
            return false;
        }
        let number = key & ((1 << 40) - 1);
        let mut ready = self.ready.borrow_mut();
        if let (Some(codec), Some(payload)) = (&self.codec, payload) {
            ready.push_front(Event {
                number,
                bytes: 0,
                event: (codec.decode)(payload),
            });
            return true;
        }
        let found = ready.iter().position(|event| event.number == number);
        let event = found.and_then(|at| ready.remove(at));
        event.map(|event| ready.push_front(event)).is_some()
    }

    fn refuse(&self) {
        self.mailbox.close();
    }

    fn unfinished(&self) -> usize {
        self.mailbox.count().saturating_sub(self.delivered.get().0)
    }

    fn list_unfinished(&self, abandoned: &mut dyn FnMut(&str, Option<Label>, usize)) {
        let count = Source::<W>::unfinished(self);
        if count > 0 {
            abandoned(self.name, Some(self.label), count);
        }
    }

    fn cancel(&self, _: Ticket) {
        self.cancelled.set(true);
        self.member.set(NONE);
        self.mailbox.close();
        let handler = self.handler.borrow_mut().take();
        super::posts::drop_contained([handler]);
    }

    fn end(&self) {
        Source::<W>::cancel(
            self,
            Ticket {
                slot: 0,
                generation: 0,
            },
        );
        let mut ready = std::mem::take(&mut *self.ready.borrow_mut());
        self.mailbox.take(&mut ready);
        super::posts::drop_contained(ready);
    }

    fn is_over(&self) -> bool {
        self.mailbox.is_closed() && self.mailbox.is_drained() && self.ready.borrow().is_empty()
    }

    fn over(&self, core: &Core<W>) {
        core.leave(self.member.replace(NONE));
    }
}

impl<W: 'static> Cx<W> {
    /// Opens an inlet: a stream of events from other threads, each of which `handler` gets with the world, in order.
    ///
    /// It counts as network: all inlets have their turns, 16 events each, before one has a second.
    ///
    /// # Errors
    ///
    /// The handler comes back where there are too many sources, the group has been cancelled, or the owner has ended.
    #[track_caller]
    pub fn inlet<T, F>(
        &self,
        name: &'static str,
        limits: InletLimits,
        handler: F,
    ) -> Result<Inlet<T>, Rejected<F>>
    where
        T: Send + 'static,
        F: FnMut(&mut W, T) + 'static,
    {
        self.open_inlet(name, Label::here(), limits, None, handler)
    }

    /// As [`inlet`](Self::inlet), for events that a journal keeps: a replay delivers those of the journal, and what comes
    /// in meanwhile waits until it is over.
    ///
    /// # Errors
    ///
    /// As [`inlet`](Self::inlet).
    #[track_caller]
    pub fn inlet_journalled<T, F>(
        &self,
        name: &'static str,
        limits: InletLimits,
        codec: Codec<T>,
        handler: F,
    ) -> Result<Inlet<T>, Rejected<F>>
    where
        T: Send + 'static,
        F: FnMut(&mut W, T) + 'static,
    {
        self.open_inlet(name, Label::here(), limits, Some(codec), handler)
    }

    fn open_inlet<T, F>(
        &self,
        name: &'static str,
        label: Label,
        limits: InletLimits,
        codec: Option<Codec<T>>,
        handler: F,
    ) -> Result<Inlet<T>, Rejected<F>>
    where
        T: Send + 'static,
        F: FnMut(&mut W, T) + 'static,
    {
        if let Err(reason) = self.check_open() {
            self.core.count_rejection();
            return Err(Rejected::new(handler, reason));
        }
        let place = match self.core.reserve() {
            Ok(place) => place,
            Err(reason) => {
                self.core.count_rejection();
                return Err(Rejected::new(handler, reason));
            }
        };
        let signal = self.core.signal.clone();
        let mailbox = Mailbox::new(signal.clone(), place, limits.events.max(1), limits.bytes);
        let source = Rc::new(InletSource {
            name,
            place,
            mailbox: Arc::new(mailbox),
            ready: RefCell::default(),
            handler: RefCell::new(Some(Box::new(handler))),
            cancelled: Cell::new(false),
            group: self.group,
            member: Cell::new(NONE),
            label,
            numbers: Cell::new(0),
            delivered: Cell::new((0, 0)),
            codec,
        });
        self.core.install(place, Class::Network, source.clone());
        let ticket = Ticket {
            slot: 0,
            generation: 0,
        };
        // The group was alive a moment ago, on this thread.
        if let Ok(member) = self.core.join(self.group, source.place, ticket) {
            source.member.set(member);
        }
        Ok(Inlet {
            shared: Arc::new(InletShared {
                mailbox: source.mailbox.clone(),
                signal,
                place: source.place,
                overflow: limits.overflow,
            }),
        })
    }
}
