//! What a lane keeps at hand on the thread that runs it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

#[cfg(target_os = "linux")]
use super::Reactor;

/// A task of a lane: its place, and which of the tasks that have been there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct TaskRef {
    pub(crate) key: usize,
    pub(crate) generation: u64,
}

/// A lane's reactor and ready queue. They are in the thread's slot while the lane runs.
#[derive(Debug)]
pub(crate) struct Local {
    /// The identity of the lane, by address of what only it has.
    pub(crate) lane: usize,
    #[cfg(target_os = "linux")]
    pub(crate) reactor: Reactor,
    pub(crate) ready: RefCell<VecDeque<TaskRef>>,
    /// The task that is being polled.
    pub(crate) current: Cell<Option<TaskRef>>,
}

thread_local! {
    static LOCAL: RefCell<Option<Box<Local>>> = const { RefCell::new(None) };
}

impl Local {
    pub(crate) fn new(lane: usize, #[cfg(target_os = "linux")] reactor: Reactor) -> Box<Self> {
        Box::new(Self {
            lane,
            #[cfg(target_os = "linux")]
            reactor,
            ready: RefCell::default(),
            current: Cell::new(None),
        })
    }

    /// Runs `function` with this lane in the thread's slot.
    pub(crate) fn enter<T>(slot: &mut Option<Box<Self>>, function: impl FnOnce() -> T) -> T {
        let entered = Entered {
            outer: LOCAL.replace(slot.take()),
            slot,
        };
        let result = function();
        drop(entered);
        result
    }

    /// Looks at the lane that this thread is running, if it is running one.
    #[inline]
    pub(crate) fn with<T>(function: impl FnOnce(&Self) -> T) -> Option<T> {
        LOCAL
            .try_with(|local| local.try_borrow().ok()?.as_deref().map(function))
            .ok()
            .flatten()
    }
}

/// Puts the lane back where it came from, whatever happens meanwhile.
struct Entered<'a> {
    outer: Option<Box<Local>>,
    slot: &'a mut Option<Box<Local>>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        *self.slot = LOCAL.replace(self.outer.take());
    }
}
