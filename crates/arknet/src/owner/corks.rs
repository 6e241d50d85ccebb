//! What the owner's thread has sent and not handed to the lanes: it is held back during an update, and leaves at its end.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Has something to hand over.
pub(crate) trait Cork {
    fn hand_over(&self);
}

#[derive(Default)]
pub(crate) struct Corks {
    /// Updates and the like that hold it back: one inside of the other at most.
    held: Cell<u32>,
    dirty: RefCell<Vec<Rc<dyn Cork>>>,
    handed: Cell<bool>,
}

impl Corks {
    /// Holds back what is sent until the guard is dropped.
    pub(crate) fn hold(self: &Rc<Self>) -> Held {
        self.held.set(self.held.get() + 1);
        Held(self.clone())
    }

    /// Hands over now where nothing holds it back, otherwise later. It is to be asked once until then.
    pub(crate) fn add(&self, cork: Rc<dyn Cork>) {
        if self.held.get() > 0 {
            self.dirty.borrow_mut().push(cork);
            return;
        }
        cork.hand_over();
        self.handed.set(true);
    }

    /// Whether anything was handed over since the last call.
    pub(crate) fn take_handed(&self) -> bool {
        self.handed.replace(false)
    }

    fn release(&self) {
        let held = self.held.get().saturating_sub(1);
        self.held.set(held);
        if held > 0 || self.dirty.borrow().is_empty() {
            return;
        }
        self.handed.set(true);
        let mut dirty = std::mem::take(&mut *self.dirty.borrow_mut());
        for cork in dirty.drain(..) {
            cork.hand_over();
        }
        // Its storage is used again.
        let mut since = self.dirty.borrow_mut();
        dirty.append(&mut since);
        *since = dirty;
    }
}

/// Holds back what is sent.
pub(crate) struct Held(Rc<Corks>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.release();
    }
}
