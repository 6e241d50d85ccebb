//! The primitives that threads meet at: the standard library's, or loom's under `--cfg arknet_loom`, which tries every
//! order that the memory model allows. Only what is checked so goes through here.

#[cfg(not(arknet_loom))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU8, Ordering},
};

#[cfg(arknet_loom)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU8, Ordering},
};

/// Locks a mutex whose data stay whole whatever happens while it is held.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
