//! Whether an owner's update runs on this thread, where nothing of ours may wait.

use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    static UPDATES: Cell<usize> = const { Cell::new(0) };
}

/// Marks the thread until it is dropped.
#[derive(Debug)]
pub(crate) struct Marked(PhantomData<*const ()>);

impl Marked {
    pub(crate) fn enter() -> Self {
        UPDATES.set(UPDATES.get() + 1);
        Self(PhantomData)
    }
}

impl Drop for Marked {
    fn drop(&mut self) {
        let _ = UPDATES.try_with(|updates| updates.set(updates.get().saturating_sub(1)));
    }
}

pub(super) fn is_set() -> bool {
    UPDATES
        .try_with(|updates| updates.get() > 0)
        .unwrap_or(false)
}
