//! Services: operations that the owner submits, that are done elsewhere, and whose results are delivered to the owner.
//!
//! The owner keeps a slot per operation; what goes elsewhere is the operation and the slot's ticket, and what comes back is
//! the ticket and the result. So a callback, a task and a cancelled group need nothing from the other side: a result whose
//! slot is gone is thrown away.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use slab::Slab;

use super::call::Call;
use super::core::{Core, State};
use super::cx::Cx;
use super::dispatch::{Completion, Dispatch, Job, Ordered};
use super::error::{FromLost, Lost, RejectReason, Rejected};
use super::groups::{GroupRef, NONE};
use super::journal::Codec;
use super::label::Label;
use super::mailbox::Mailbox;
use super::source::{Class, Source, Ticket};

/// What becomes of an operation that was submitted when its group is cancelled or its future dropped.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum OnCancel {
    /// It is done, and its result thrown away: a write that was accepted is written. The default.
    #[default]
    Detach,
    /// It is taken back if it has not begun.
    Withdraw,
}

/// Submits operations of one kind, and has their results delivered by the owner.
///
/// Clones share the limits. [`ordered`](Self::ordered), [`within`](Self::within) and [`on_cancel`](Self::on_cancel) make
/// one that submits in another way.
pub struct Service<W, Op, Out> {
    cx: Cx<W>,
    core: Rc<ServiceCore<W, Op, Out>>,
    key: Option<u64>,
    on_cancel: OnCancel,
}

impl<W, Op, Out> Clone for Service<W, Op, Out> {
    fn clone(&self) -> Self {
        Self {
            cx: self.cx.clone(),
            core: self.core.clone(),
            key: self.key,
            on_cancel: self.on_cancel,
        }
    }
}

impl<W, Op, Out> std::fmt::Debug for Service<W, Op, Out> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Service")
            .field("name", &self.core.name)
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}

impl<W, Op, Out> Service<W, Op, Out>
where
    W: 'static,
    Op: Send + 'static,
    Out: FromLost + 'static,
{
    pub(crate) fn new(cx: Cx<W>, core: Rc<ServiceCore<W, Op, Out>>) -> Self {
        Self {
            cx,
            core,
            key: None,
            on_cancel: OnCancel::default(),
        }
    }

    /// The same service for one key: what is submitted by it is begun when the one before of the same key has ended, and
    /// delivered in that order. A read behind a write of its key sees what was written. Across keys nothing is promised.
    #[must_use]
    pub fn ordered(&self, key: impl Ordered) -> Self {
        Self {
            key: Some(key.key()),
            ..self.clone()
        }
    }

    /// The same service for a group: callbacks of what is submitted by it are cancelled with that.
    #[must_use]
    pub fn within(&self, cx: &Cx<W>) -> Self {
        Self {
            cx: cx.clone(),
            ..self.clone()
        }
    }

    /// The same service with another fate for what is cancelled.
    #[must_use]
    pub fn on_cancel(&self, on_cancel: OnCancel) -> Self {
        Self {
            on_cancel,
            ..self.clone()
        }
    }

    /// Submits an operation; its result is delivered to `then`, in an update, with the world.
    ///
    /// # Errors
    ///
    /// The operation comes back where too many are under way, the group has been cancelled, or the owner has ended.
    #[track_caller]
    pub fn send<F>(&self, operation: Op, then: F) -> Result<(), Rejected<Op>>
    where
        F: FnOnce(&mut W, Out) + 'static,
    {
        let bytes = self.core.weight_of(&operation);
        self.send_with(operation, bytes, |operation| operation, Label::here(), then)
    }

    /// Submits an operation at the first poll, as soon as there is room for it, and waits for its result, in a task.
    ///
    /// Dropping this future is what [`OnCancel`] says.
    #[track_caller]
    pub fn call(&self, operation: Op) -> Call<W, Op, Out> {
        self.call_as(operation, Label::here())
    }

    pub(crate) fn call_as(&self, operation: Op, label: Label) -> Call<W, Op, Out> {
        Call::new(self.clone(), operation, label)
    }

    /// As [`call`](Self::call), submitted now.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn try_call(&self, operation: Op) -> Result<Call<W, Op, Out>, Rejected<Op>> {
        let bytes = self.core.weight_of(&operation);
        self.try_call_with(operation, bytes, |operation| operation, Label::here())
    }

    /// As [`try_call`](Self::try_call), of what `make` makes of `seed` once there is room for it.
    pub(crate) fn try_call_with<S>(
        &self,
        seed: S,
        bytes: usize,
        make: impl FnOnce(S) -> Op,
        label: Label,
    ) -> Result<Call<W, Op, Out>, Rejected<S>> {
        let then = || Then::Wait {
            waker: None,
            output: None,
        };
        let ticket = self.submit_with(seed, bytes, make, None, label, then)?;
        Ok(Call::sent(self.clone(), ticket, label))
    }

    /// As [`send`](Self::send), of what `make` makes of `seed` once there is room for it.
    pub(crate) fn send_with<S>(
        &self,
        seed: S,
        bytes: usize,
        make: impl FnOnce(S) -> Op,
        label: Label,
        then: impl FnOnce(&mut W, Out) + 'static,
    ) -> Result<(), Rejected<S>> {
        let then = || Then::Call(Box::new(then) as Callback<W, Out>);
        self.submit_with(seed, bytes, make, self.cx.group, label, then)?;
        Ok(())
    }

    /// How many operations are under way or wait to be delivered.
    pub fn in_flight(&self) -> usize {
        self.core.slots.borrow().len()
    }

    pub(crate) fn submit(
        &self,
        operation: Op,
        group: Option<GroupRef>,
        label: Label,
        then: impl FnOnce() -> Then<W, Out>,
    ) -> Result<Ticket, Rejected<Op>> {
        let bytes = self.core.weight_of(&operation);
        self.submit_with(operation, bytes, |operation| operation, group, label, then)
    }

    fn submit_with<S>(
        &self,
        seed: S,
        bytes: usize,
        make: impl FnOnce(S) -> Op,
        group: Option<GroupRef>,
        label: Label,
        then: impl FnOnce() -> Then<W, Out>,
    ) -> Result<Ticket, Rejected<S>> {
        let core = &*self.cx.core;
        let admitted = self
            .cx
            .check_open()
            .and_then(|()| self.core.admit(core, bytes, group));
        let (ticket, member) = match admitted {
            Ok(admitted) => admitted,
            Err(reason) => {
                core.count_rejection();
                return Err(Rejected::new(seed, reason));
            }
        };
        let serial = self.core.serial.get();
        self.core.serial.set(serial + 1);
        self.core.insert(Slot {
            generation: ticket.generation,
            serial,
            key: self.key,
            on_cancel: self.on_cancel,
            group,
            member,
            label,
            bytes,
            then: then(),
        });
        self.core.give_out(core, ticket, self.key, make(seed));
        Ok(ticket)
    }

    pub(crate) fn inner(&self) -> &Rc<ServiceCore<W, Op, Out>> {
        &self.core
    }

    /// Whether nothing more is taken.
    pub(crate) fn is_closed(&self) -> bool {
        self.cx.core.state.get() == State::Ended
    }
}

/// What becomes of a result.
pub(crate) enum Then<W, Out> {
    Call(Callback<W, Out>),
    Wait {
        waker: Option<Waker>,
        output: Option<Out>,
    },
    /// Nobody wants it any more.
    Discard,
}

type Callback<W, Out> = Box<dyn FnOnce(&mut W, Out)>;

struct Slot<W, Out> {
    generation: u32,
    serial: u64,
    key: Option<u64>,
    on_cancel: OnCancel,
    group: Option<GroupRef>,
    member: u32,
    label: Label,
    bytes: usize,
    then: Then<W, Out>,
}

/// A service on the owner's side.
pub(crate) struct ServiceCore<W, Op, Out> {
    name: &'static str,
    class: Class,
    place: u32,
    most: usize,
    most_bytes: usize,
    weigh: fn(&Op) -> usize,
    dispatch: Box<dyn Dispatch<Op>>,
    /// Of the operations in the slots.
    bytes: Cell<usize>,
    slots: RefCell<Slab<Slot<W, Out>>>,
    ready: RefCell<VecDeque<Completion<Out>>>,
    mailbox: Arc<Mailbox<Completion<Out>>>,
    generation: Cell<u32>,
    serial: Cell<u64>,
    delivered: Cell<(usize, usize)>,
    waiters: RefCell<Waiters>,
    codec: Option<Codec<Out>>,
    /// Results come from the journal, so that nothing is submitted.
    replayed: Cell<bool>,
}

/// Those who wait for room, first come first served.
#[derive(Default)]
struct Waiters {
    /// By number. One without a waker has been told to look.
    queue: VecDeque<(u64, Option<Waker>)>,
    next: u64,
}

impl Waiters {
    fn place_of(&self, number: u64) -> Option<usize> {
        self.queue
            .binary_search_by_key(&number, |(number, _)| *number)
            .ok()
    }
}

/// What a service is made of.
pub(crate) struct ServiceParts<Op, Out> {
    pub(crate) name: &'static str,
    pub(crate) class: Class,
    pub(crate) place: u32,
    pub(crate) most: usize,
    /// Bytes of operations that are under way, as `weigh` says.
    pub(crate) most_bytes: usize,
    pub(crate) weigh: fn(&Op) -> usize,
    pub(crate) dispatch: Box<dyn Dispatch<Op>>,
    pub(crate) mailbox: Arc<Mailbox<Completion<Out>>>,
    pub(crate) codec: Option<Codec<Out>>,
    pub(crate) replayed: bool,
}

impl<W, Op, Out> ServiceCore<W, Op, Out> {
    pub(crate) fn new(parts: ServiceParts<Op, Out>) -> Self {
        let ServiceParts {
            name,
            class,
            place,
            most,
            most_bytes,
            weigh,
            dispatch,
            mailbox,
            codec,
            replayed,
        } = parts;
        Self {
            name,
            class,
            place,
            most,
            most_bytes,
            weigh,
            dispatch,
            bytes: Cell::new(0),
            slots: RefCell::default(),
            ready: RefCell::default(),
            mailbox,
            generation: Cell::new(0),
            serial: Cell::new(0),
            delivered: Cell::new((0, 0)),
            waiters: RefCell::default(),
            codec,
            replayed: Cell::new(replayed),
        }
    }
}

impl<W, Op, Out: FromLost> ServiceCore<W, Op, Out> {
    /// Has an operation done whose slot is there.
    #[inline]
    fn give_out(&self, core: &Core<W>, ticket: Ticket, key: Option<u64>, operation: Op) {
        if self.replayed.get() && self.codec.is_some() {
            return;
        }
        core.submitted.set(true);
        let job = Job {
            ticket,
            key,
            operation,
        };
        if self.dispatch.dispatch(job).is_err() {
            let mut lost = vec![Completion::new(ticket, Out::from_lost(Lost::Ended), 0)];
            self.mailbox.post_reserved(&mut lost, 0);
        }
    }
}

impl<W, Op, Out> ServiceCore<W, Op, Out> {
    /// A slot for an operation of so many bytes, and its place in the group.
    #[inline]
    fn admit(
        &self,
        core: &Core<W>,
        bytes: usize,
        group: Option<GroupRef>,
    ) -> Result<(Ticket, u32), RejectReason> {
        let slots = self.slots.borrow_mut();
        let full = RejectReason::Operations {
            most: self.most,
            of: self.name,
        };
        if slots.len() >= self.most {
            return Err(full);
        }
        if !self.has_bytes(bytes) {
            return Err(RejectReason::Bytes {
                most: self.most_bytes,
                of: self.name,
            });
        }
        let slot = u32::try_from(slots.vacant_key()).map_err(|_| full)?;
        let generation = self.generation.get().wrapping_add(1);
        self.generation.set(generation);
        let ticket = Ticket { slot, generation };
        let member = core.join(group, self.place, ticket)?;
        Ok((ticket, member))
    }

    fn insert(&self, slot: Slot<W, Out>) {
        self.bytes.set(self.bytes.get().saturating_add(slot.bytes));
        self.slots.borrow_mut().insert(slot);
    }

    fn take_out(&self, slots: &mut Slab<Slot<W, Out>>, ticket: Ticket) -> Option<Slot<W, Out>> {
        let slot = slots.try_remove(ticket.slot as usize)?;
        self.bytes.set(self.bytes.get().saturating_sub(slot.bytes));
        Some(slot)
    }

    #[inline]
    pub(crate) fn weight_of(&self, operation: &Op) -> usize {
        (self.weigh)(operation)
    }

    /// One operation always has room, whatever its size.
    fn has_bytes(&self, bytes: usize) -> bool {
        let held = self.bytes.get();
        held == 0 || held.saturating_add(bytes) <= self.most_bytes
    }

    pub(crate) fn has_room_for(&self, bytes: usize) -> bool {
        self.slots.borrow().len() < self.most && self.has_bytes(bytes)
    }

    /// Whether the queue of those that wait for room is empty.
    pub(crate) fn nobody_waits(&self) -> bool {
        self.waiters.borrow().queue.is_empty()
    }

    /// Waits for room; the number is for [`poll_turn`](Self::poll_turn).
    pub(crate) fn queue(&self, waker: Waker) -> u64 {
        let mut waiters = self.waiters.borrow_mut();
        let number = waiters.next;
        waiters.next += 1;
        waiters.queue.push_back((number, Some(waker)));
        number
    }

    /// Whether it is the turn of this waiter, and there is room for so many bytes: then it waits no longer. Otherwise its
    /// waker is kept.
    pub(crate) fn poll_turn(&self, number: u64, waker: &Waker, bytes: usize) -> bool {
        let mut waiters = self.waiters.borrow_mut();
        match waiters.place_of(number) {
            // Nobody overtakes: who was told later may be polled earlier.
            Some(0) if self.has_room_for(bytes) => {
                waiters.queue.pop_front();
                return true;
            }
            Some(place) => {
                if let Some((_, known)) = waiters.queue.get_mut(place)
                    && !known.as_ref().is_some_and(|known| known.will_wake(waker))
                {
                    *known = Some(waker.clone());
                }
            }
            None => {}
        }
        false
    }

    /// One waits no longer: whether there is more room, the first of the others sees.
    pub(crate) fn pass_on(&self) {
        let mut waiters = self.waiters.borrow_mut();
        let first = waiters.queue.front_mut();
        let waker = first.and_then(|(_, waker)| waker.take());
        drop(waiters);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Gives up a place in the queue.
    pub(crate) fn leave_queue(&self, number: u64) {
        let mut waiters = self.waiters.borrow_mut();
        let left = waiters
            .place_of(number)
            .and_then(|place| waiters.queue.remove(place));
        drop(waiters);
        drop(left);
        self.pass_on();
    }

    /// There is room for so many more: they are told to look, all at once, so that they need no update each.
    fn tell_waiters(&self, count: usize) {
        let (mut place, mut left) = (0, count);
        while left > 0 {
            let mut waiters = self.waiters.borrow_mut();
            let Some((_, waker)) = waiters.queue.get_mut(place) else {
                return;
            };
            let waker = waker.take();
            drop(waiters);
            place += 1;
            if let Some(waker) = waker {
                left -= 1;
                waker.wake();
            }
        }
    }

    /// The result that a task waits for, if it has been delivered; otherwise its waker is kept. `None` where the slot is
    /// gone.
    pub(crate) fn poll_output(&self, ticket: Ticket, waker: &Waker) -> Option<Option<Out>> {
        let mut slots = self.slots.borrow_mut();
        let slot = slot_of(&mut slots, ticket)?;
        let Then::Wait {
            waker: known,
            output,
        } = &mut slot.then
        else {
            return None;
        };
        if let Some(output) = output.take() {
            self.take_out(&mut slots, ticket);
            return Some(Some(output));
        }
        if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
            let old = known.replace(waker.clone());
            drop(slots);
            drop(old);
        }
        Some(None)
    }

    /// Nobody wants the result any more.
    pub(crate) fn forget(&self, ticket: Ticket) {
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slot_of(&mut slots, ticket) else {
            return;
        };
        let then = std::mem::replace(&mut slot.then, Then::Discard);
        let (key, on_cancel) = (slot.key, slot.on_cancel);
        slot.member = NONE;
        // A result that has been delivered and not been taken has no completion to come.
        if matches!(
            then,
            Then::Wait {
                output: Some(_),
                ..
            }
        ) {
            self.take_out(&mut slots, ticket);
        } else if on_cancel == OnCancel::Withdraw {
            self.dispatch.withdraw(key, ticket);
        }
        drop(slots);
        super::posts::drop_contained([then]);
    }

    fn complete(&self, core: &Rc<Core<W>>, completion: Completion<Out>) {
        let Completion { ticket, output, .. } = completion;
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slot_of(&mut slots, ticket) else {
            drop(slots);
            core.contain(Label::here(), None, || drop(output));
            return;
        };
        if core.recording.get() {
            let payload = self.codec.as_ref().map(|codec| (codec.encode)(&output));
            core.record(
                self.class,
                self.name,
                slot.serial,
                Some(slot.label),
                payload,
            );
        }
        if let Then::Wait {
            waker,
            output: place,
        } = &mut slot.then
        {
            *place = Some(output);
            let waker = waker.take();
            drop(slots);
            if let Some(waker) = waker {
                core.wake_now(waker);
            }
            return;
        }
        let Some(slot) = self.take_out(&mut slots, ticket) else {
            return;
        };
        drop(slots);
        core.leave(slot.member);
        match slot.then {
            Then::Call(callback) => {
                core.call(slot.label, slot.group, |world| callback(world, output));
            }
            Then::Discard | Then::Wait { .. } => {
                core.contain(slot.label, None, || drop(output));
            }
        }
    }

    fn ticket_of(&self, serial: u64) -> Option<Ticket> {
        let slots = self.slots.borrow();
        slots.iter().find_map(|(key, slot)| {
            (slot.serial == serial).then_some(Ticket {
                slot: u32::try_from(key).ok()?,
                generation: slot.generation,
            })
        })
    }
}

fn slot_of<W, Out>(slots: &mut Slab<Slot<W, Out>>, ticket: Ticket) -> Option<&mut Slot<W, Out>> {
    slots
        .get_mut(ticket.slot as usize)
        .filter(|slot| slot.generation == ticket.generation)
}

impl<W, Op, Out> Source<W> for ServiceCore<W, Op, Out> {
    fn name(&self) -> &str {
        self.name
    }

    fn take_in(&self, _: Instant) -> usize {
        self.mailbox.take(&mut self.ready.borrow_mut())
    }

    fn ready(&self) -> usize {
        self.ready.borrow().len()
    }

    #[inline]
    fn deliver(&self, core: &Rc<Core<W>>) -> bool {
        let Some(completion) = self.ready.borrow_mut().pop_front() else {
            return false;
        };
        let (count, bytes) = self.delivered.get();
        self.delivered
            .set((count + 1, bytes.saturating_add(completion.bytes)));
        self.complete(core, completion);
        true
    }

    fn settle(&self) {
        let (count, bytes) = self.delivered.take();
        self.mailbox.release(count, bytes);
        if count > 0 {
            self.tell_waiters(count);
        }
    }

    fn bring_forward(&self, key: u64, payload: Option<&[u8]>) -> bool {
        let Some(ticket) = self.ticket_of(key) else {
            return false;
        };
        let mut ready = self.ready.borrow_mut();
        if let (Some(codec), Some(payload)) = (&self.codec, payload) {
            let output = (codec.decode)(payload);
            ready.push_front(Completion::new(ticket, output, 0));
            return true;
        }
        let found = ready
            .iter()
            .position(|completion| completion.ticket == ticket);
        let completion = found.and_then(|at| ready.remove(at));
        completion
            .map(|completion| ready.push_front(completion))
            .is_some()
    }

    fn unfinished(&self) -> usize {
        self.slots.borrow().len()
    }

    fn list_unfinished(&self, abandoned: &mut dyn FnMut(&str, Option<Label>, usize)) {
        let slots = self.slots.borrow();
        let mut left: Vec<_> = slots
            .iter()
            .map(|(_, slot)| (slot.serial, slot.label))
            .collect();
        left.sort_unstable_by_key(|(serial, _)| *serial);
        for (_, label) in left {
            abandoned(self.name, Some(label), 1);
        }
    }

    fn cancel(&self, ticket: Ticket) {
        self.forget(ticket);
    }

    fn live(&self) {
        self.replayed.set(false);
    }

    fn end(&self) {
        self.mailbox.close();
        self.dispatch.close();
        let slots = std::mem::take(&mut *self.slots.borrow_mut());
        super::posts::drop_contained(slots.into_iter().map(|(_, slot)| slot.then));
        let mut ready = std::mem::take(&mut *self.ready.borrow_mut());
        self.mailbox.take(&mut ready);
        super::posts::drop_contained(ready);
        self.waiters.borrow_mut().queue.clear();
    }
}
