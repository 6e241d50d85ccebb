//! Functions for the next update, from the owner's own thread.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Instant;

use super::core::Core;
use super::error::RejectReason;
use super::groups::GroupRef;
use super::label::Label;
use super::source::{Class, Source, Ticket};

type Function<W> = Box<dyn FnOnce(&mut W)>;

struct Entry<W> {
    serial: u64,
    group: Option<GroupRef>,
    label: Label,
    function: Function<W>,
}

pub(crate) struct Deferred<W> {
    most: usize,
    ready: RefCell<VecDeque<Entry<W>>>,
    next: RefCell<VecDeque<Entry<W>>>,
    serial: Cell<u64>,
}

impl<W> Deferred<W> {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            ready: RefCell::default(),
            next: RefCell::default(),
            serial: Cell::new(0),
        }
    }

    /// How many are ready for the next update.
    pub(crate) fn waiting(&self) -> usize {
        self.next.borrow().len()
    }

    /// Whether there is room for one more.
    pub(crate) fn check(&self) -> Result<(), RejectReason> {
        let queued = self.next.borrow().len() + self.ready.borrow().len();
        if queued >= self.most {
            return Err(RejectReason::Operations {
                most: self.most,
                of: "deferred functions",
            });
        }
        Ok(())
    }

    pub(crate) fn push(
        &self,
        core: &Core<W>,
        group: Option<GroupRef>,
        label: Label,
        function: Function<W>,
    ) {
        let serial = self.serial.get();
        self.serial.set(serial + 1);
        self.next.borrow_mut().push_back(Entry {
            serial,
            group,
            label,
            function,
        });
        core.fresh.set(true);
    }
}

impl<W> Source<W> for Deferred<W> {
    fn name(&self) -> &str {
        "deferred"
    }

    fn take_in(&self, _: Instant) -> usize {
        let mut next = self.next.borrow_mut();
        let count = next.len();
        self.ready.borrow_mut().append(&mut next);
        count
    }

    fn ready(&self) -> usize {
        self.ready.borrow().len()
    }

    fn deliver(&self, core: &Rc<Core<W>>) -> bool {
        let Some(entry) = self.ready.borrow_mut().pop_front() else {
            return false;
        };
        let Entry {
            serial,
            group,
            label,
            function,
        } = entry;
        if core.recording.get() {
            core.record(Class::Posts, "deferred", serial, Some(label), None);
        }
        if group.is_none_or(|group| core.groups.borrow().is_alive(group)) {
            core.call(label, group, function);
        } else {
            core.contain(label, None, || drop(function));
        }
        true
    }

    fn bring_forward(&self, key: u64, _: Option<&[u8]>) -> bool {
        let mut ready = self.ready.borrow_mut();
        let found = ready.iter().position(|entry| entry.serial == key);
        let entry = found.and_then(|at| ready.remove(at));
        entry.map(|entry| ready.push_front(entry)).is_some()
    }

    fn unfinished(&self) -> usize {
        self.ready.borrow().len() + self.next.borrow().len()
    }

    fn list_unfinished(&self, abandoned: &mut dyn FnMut(&str, Option<Label>, usize)) {
        for entry in self.ready.borrow().iter().chain(self.next.borrow().iter()) {
            abandoned("deferred", Some(entry.label), 1);
        }
    }

    fn cancel(&self, _: Ticket) {}

    fn end(&self) {
        let ready = std::mem::take(&mut *self.ready.borrow_mut());
        let next = std::mem::take(&mut *self.next.borrow_mut());
        super::posts::drop_contained(ready);
        super::posts::drop_contained(next);
    }
}
