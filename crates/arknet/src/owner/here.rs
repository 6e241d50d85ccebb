//! What the thread knows about the update that runs on it.

use std::cell::{Cell, RefCell};

use super::tasks::TaskRef;

thread_local! {
    static HERE: Here = const { Here { owner: Cell::new(0), woken: RefCell::new(Vec::new()) } };
}

struct Here {
    /// The owner whose update runs on this thread, 0 for none.
    owner: Cell<u64>,
    /// Its tasks that were woken here and are in no queue yet: no lock, no signal.
    woken: RefCell<Vec<TaskRef>>,
}

/// The thread runs this owner's update, until it is dropped.
pub(crate) struct Inside {
    _marked: crate::lanes::Marked,
}

impl Inside {
    /// `None` where an update runs on this thread already.
    pub(crate) fn enter(owner: u64) -> Option<Self> {
        HERE.with(|here| {
            if here.owner.get() != 0 {
                return None;
            }
            here.owner.set(owner);
            Some(Self {
                _marked: crate::lanes::Marked::enter(),
            })
        })
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // What was woken since the queue took it in has been taken by the end of the update.
        let _ = HERE.try_with(|here| here.owner.set(0));
    }
}

/// Notes that a task was woken, if its owner's update runs here.
#[inline]
pub(crate) fn woken(owner: u64, task: TaskRef) -> bool {
    HERE.try_with(|here| {
        let ours = here.owner.get() == owner;
        if ours {
            here.woken.borrow_mut().push(task);
        }
        ours
    })
    .unwrap_or(false)
}

/// How many tasks were woken here.
pub(crate) fn woken_count() -> usize {
    HERE.with(|here| here.woken.borrow().len())
}

/// The last one that was woken, if there are more than `floor`.
pub(crate) fn take_woken_above(floor: usize) -> Option<TaskRef> {
    HERE.with(|here| {
        let mut woken = here.woken.borrow_mut();
        // In the order in which they were woken.
        (woken.len() > floor).then(|| woken.remove(floor))
    })
}

/// Moves all that were woken behind `queue`.
pub(crate) fn take_woken(queue: &mut std::collections::VecDeque<TaskRef>) {
    HERE.with(|here| queue.extend(here.woken.borrow_mut().drain(..)));
}
