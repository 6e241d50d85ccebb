//! Timers on the owner's clock, ordered by deadline and then by the order in which they were set; nothing is rounded.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use slab::Slab;

use super::core::{Core, TIMERS};
use super::error::RejectReason;
use super::groups::GroupRef;
use super::label::Label;
use super::missed::{self, Missed};
use super::source::{Class, Source, Ticket};

/// The heap keeps the places of cancelled timers until there are more of them than of the others, and this many.
const STALE_KEPT: usize = 64;

type Once<W> = Box<dyn FnOnce(&mut W)>;
type Every<W> = Box<dyn FnMut(&mut W, u64)>;

pub(crate) enum Action<W> {
    Once(Once<W>),
    Every {
        /// Taken out while it runs.
        function: Option<Every<W>>,
        period: Duration,
        missed: Missed,
    },
    Wake(Waker),
}

struct Slot<W> {
    generation: u32,
    serial: u64,
    deadline: Instant,
    group: Option<GroupRef>,
    member: u32,
    label: Label,
    action: Action<W>,
}

type Place = Reverse<(Instant, u64, u32, u32)>;

pub(crate) struct Timers<W> {
    most: usize,
    slots: RefCell<Slab<Slot<W>>>,
    heap: RefCell<BinaryHeap<Place>>,
    due: RefCell<VecDeque<Ticket>>,
    serial: Cell<u64>,
    generation: Cell<u32>,
    pub(crate) missed: Cell<u64>,
}

impl<W> Timers<W> {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            slots: RefCell::default(),
            heap: RefCell::default(),
            due: RefCell::default(),
            serial: Cell::new(0),
            generation: Cell::new(0),
            missed: Cell::new(0),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.borrow().len()
    }

    pub(crate) fn set(
        &self,
        core: &Core<W>,
        deadline: Instant,
        group: Option<GroupRef>,
        label: Label,
        action: Action<W>,
    ) -> Result<Ticket, RejectReason> {
        let mut slots = self.slots.borrow_mut();
        let full = RejectReason::Operations {
            most: self.most,
            of: "timers",
        };
        if slots.len() >= self.most {
            return Err(full);
        }
        let entry = slots.vacant_entry();
        let slot = u32::try_from(entry.key()).map_err(|_| full)?;
        let generation = self.generation.get().wrapping_add(1);
        self.generation.set(generation);
        let ticket = Ticket { slot, generation };
        let member = core.join(group, TIMERS, ticket)?;
        let serial = self.serial.get();
        self.serial.set(serial + 1);
        entry.insert(Slot {
            generation,
            serial,
            deadline,
            group,
            member,
            label,
            action,
        });
        drop(slots);
        self.place(core, deadline, serial, ticket);
        Ok(ticket)
    }

    fn place(&self, core: &Core<W>, deadline: Instant, serial: u64, ticket: Ticket) {
        let place = (deadline, serial, ticket.slot, ticket.generation);
        self.heap.borrow_mut().push(Reverse(place));
        if core.next_timer.get().is_none_or(|next| deadline < next) {
            core.next_timer.set(Some(deadline));
        }
    }

    /// Takes a timer out of its group and its slot; the place in the heap goes stale.
    fn take(&self, ticket: Ticket) -> Option<Slot<W>> {
        let mut slots = self.slots.borrow_mut();
        slot_of(&mut slots, ticket)?;
        let slot = slots.try_remove(ticket.slot as usize);
        let live = slots.len();
        let mut heap = self.heap.borrow_mut();
        if heap.len() > live.saturating_mul(2).saturating_add(STALE_KEPT) {
            heap.retain(|Reverse((_, serial, slot, generation))| {
                let ticket = Ticket {
                    slot: *slot,
                    generation: *generation,
                };
                slot_of(&mut slots, ticket).is_some_and(|slot| slot.serial == *serial)
            });
        }
        slot
    }

    /// Ends a timer that is in its group still.
    pub(crate) fn leave_and_cancel(&self, core: &Core<W>, ticket: Ticket) -> bool {
        let slot = self.take(ticket);
        if let Some(slot) = &slot {
            core.leave(slot.member);
        }
        slot.is_some()
    }

    /// The waker of a sleep; false where it has fired.
    fn set_waker(&self, ticket: Ticket, waker: &Waker) -> bool {
        let mut slots = self.slots.borrow_mut();
        let Some(slot) = slot_of(&mut slots, ticket) else {
            return false;
        };
        let mut old = None;
        if let Action::Wake(known) = &mut slot.action
            && !known.will_wake(waker)
        {
            old = Some(std::mem::replace(known, waker.clone()));
        }
        // Without the borrow: a waker may be anything.
        drop(slots);
        drop(old);
        true
    }

    /// The earliest deadline, where any timer is set.
    pub(crate) fn next(&self) -> Option<Instant> {
        let mut heap = self.heap.borrow_mut();
        let mut slots = self.slots.borrow_mut();
        while let Some(Reverse((deadline, serial, slot, generation))) = heap.peek().copied() {
            let ticket = Ticket { slot, generation };
            if slot_of(&mut slots, ticket).is_some_and(|slot| slot.serial == serial) {
                return Some(deadline);
            }
            heap.pop();
        }
        None
    }

    /// Ends what does not belong to a task: periodic and single callbacks. Returns how many.
    pub(crate) fn cancel_callbacks(&self, core: &Core<W>) -> usize {
        let tickets: Vec<_> = {
            let slots = self.slots.borrow();
            slots
                .iter()
                .filter(|(_, slot)| !matches!(slot.action, Action::Wake(_)))
                .filter_map(|(key, slot)| {
                    Some(Ticket {
                        slot: u32::try_from(key).ok()?,
                        generation: slot.generation,
                    })
                })
                .collect()
        };
        for ticket in &tickets {
            self.leave_and_cancel(core, *ticket);
        }
        tickets.len()
    }

    fn fire(&self, core: &Rc<Core<W>>, ticket: Ticket) {
        let every = {
            let mut slots = self.slots.borrow_mut();
            match slot_of(&mut slots, ticket) {
                Some(slot) => match &mut slot.action {
                    Action::Every {
                        function,
                        period,
                        missed,
                    } => Some((function.take(), *period, *missed)),
                    Action::Once(_) | Action::Wake(_) => None,
                },
                None => return,
            }
        };
        match every {
            Some((Some(function), period, missed)) => {
                self.fire_again(core, ticket, function, period, missed);
            }
            Some((None, ..)) => {}
            None => {
                let Some(slot) = self.take(ticket) else {
                    return;
                };
                core.leave(slot.member);
                match slot.action {
                    Action::Once(function) => core.call(slot.label, slot.group, function),
                    Action::Wake(waker) => core.wake_now(waker),
                    Action::Every { .. } => {}
                }
            }
        }
    }

    fn fire_again(
        &self,
        core: &Rc<Core<W>>,
        ticket: Ticket,
        mut function: Every<W>,
        period: Duration,
        missed: Missed,
    ) {
        let (label, group, due) = {
            let mut slots = self.slots.borrow_mut();
            match slot_of(&mut slots, ticket) {
                Some(slot) => (slot.label, slot.group, slot.deadline),
                None => return,
            }
        };
        let (next, skipped) = missed::after(due, core.clock.get(), period, missed);
        self.missed.set(self.missed.get().saturating_add(skipped));
        core.call(label, group, |world| function(world, skipped));
        let mut unused = Some(function);
        {
            let mut slots = self.slots.borrow_mut();
            if let Some(slot) = slot_of(&mut slots, ticket) {
                slot.deadline = next;
                slot.serial = self.serial.get();
                self.serial.set(slot.serial + 1);
                if let Action::Every { function, .. } = &mut slot.action {
                    *function = unused.take();
                }
                let serial = slot.serial;
                drop(slots);
                self.place(core, next, serial, ticket);
            }
        }
        // It was cancelled by itself while it ran.
        core.contain(label, group, || drop(unused));
    }
}

fn slot_of<W>(slots: &mut Slab<Slot<W>>, ticket: Ticket) -> Option<&mut Slot<W>> {
    slots
        .get_mut(ticket.slot as usize)
        .filter(|slot| slot.generation == ticket.generation)
}

impl<W> Source<W> for Timers<W> {
    fn name(&self) -> &str {
        "timers"
    }

    fn take_in(&self, now: Instant) -> usize {
        let mut due = self.due.borrow_mut();
        let before = due.len();
        while let Some(deadline) = self.next() {
            if deadline > now {
                break;
            }
            if let Some(Reverse((_, _, slot, generation))) = self.heap.borrow_mut().pop() {
                due.push_back(Ticket { slot, generation });
            }
        }
        due.len() - before
    }

    fn ready(&self) -> usize {
        self.due.borrow().len()
    }

    fn deliver(&self, core: &Rc<Core<W>>) -> bool {
        let Some(ticket) = self.due.borrow_mut().pop_front() else {
            return false;
        };
        if core.recording.get() {
            let known =
                slot_of(&mut self.slots.borrow_mut(), ticket).map(|slot| (slot.serial, slot.label));
            if let Some((serial, label)) = known {
                core.record(Class::Timers, "timers", serial, Some(label), None);
            }
        }
        self.fire(core, ticket);
        true
    }

    fn bring_forward(&self, key: u64, _: Option<&[u8]>) -> bool {
        let mut due = self.due.borrow_mut();
        let mut slots = self.slots.borrow_mut();
        let found = due
            .iter()
            .position(|ticket| slot_of(&mut slots, *ticket).is_some_and(|slot| slot.serial == key));
        let ticket = found.and_then(|at| due.remove(at));
        ticket.map(|ticket| due.push_front(ticket)).is_some()
    }

    fn unfinished(&self) -> usize {
        0
    }

    fn list_unfinished(&self, _: &mut dyn FnMut(&str, Option<Label>, usize)) {}

    fn cancel(&self, ticket: Ticket) {
        let slot = self.take(ticket);
        super::posts::drop_contained(slot);
    }

    fn end(&self) {
        self.heap.borrow_mut().clear();
        self.due.borrow_mut().clear();
        let slots = std::mem::take(&mut *self.slots.borrow_mut());
        super::posts::drop_contained(slots.into_iter().map(|(_, slot)| slot));
    }
}

/// A timer that was set. Dropping it leaves the timer set.
pub struct Timer<W> {
    core: Rc<Core<W>>,
    ticket: Ticket,
}

impl<W> Timer<W> {
    pub(crate) fn new(core: Rc<Core<W>>, ticket: Ticket) -> Self {
        Self { core, ticket }
    }

    /// Ends the timer: it does not fire any more. False where it had fired, or its group has been cancelled.
    pub fn cancel(self) -> bool {
        self.core.timers.leave_and_cancel(&self.core, self.ticket)
    }
}

impl<W> std::fmt::Debug for Timer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Timer").finish_non_exhaustive()
    }
}

/// Waits for a moment of the owner's clock. Dropping it unsets the timer.
pub struct Sleep<W> {
    core: Rc<Core<W>>,
    deadline: Instant,
    label: Label,
    ticket: Option<Ticket>,
}

impl<W> Sleep<W> {
    pub(crate) fn new(core: Rc<Core<W>>, deadline: Instant, label: Label) -> Self {
        Self {
            core,
            deadline,
            label,
            ticket: None,
        }
    }
}

impl<W> std::fmt::Debug for Sleep<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sleep")
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

impl<W> Future for Sleep<W> {
    /// Whether the owner could set the timer: an error where there are too many.
    type Output = Result<(), RejectReason>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.ticket {
            Some(ticket) if self.core.timers.set_waker(ticket, cx.waker()) => Poll::Pending,
            Some(_) => Poll::Ready(Ok(())),
            None => {
                // A moment that has passed waits for the next update all the same, so that a loop around it ends.
                let waker = Action::Wake(cx.waker().clone());
                let set = self
                    .core
                    .timers
                    .set(&self.core, self.deadline, None, self.label, waker);
                match set {
                    Ok(ticket) => {
                        self.ticket = Some(ticket);
                        Poll::Pending
                    }
                    Err(reason) => {
                        self.core.count_rejection();
                        Poll::Ready(Err(reason))
                    }
                }
            }
        }
    }
}

impl<W> Drop for Sleep<W> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.core.timers.leave_and_cancel(&self.core, ticket);
        }
    }
}
