//! How other threads tell the owner that there is something: one state, one list of sources with news, one hook.
//!
//! The owner looks at one atomic per update. Only an owner that has said that it is about to sleep ([`Signal::arm`]) is
//! woken, once; while it polls without pause nobody makes a system call for it.

use super::hook::Hook;
use crate::sync::{AtomicU8, Mutex, Ordering, lock};

/// Nothing since the owner last looked.
const QUIET: u8 = 0;
/// Nothing, and the owner is to be woken by the first news.
const ARMED: u8 = 1;
/// Something is in a mailbox.
const NEWS: u8 = 2;

/// A source of an owner, by its place in the owner's list.
pub(crate) type SourceId = u32;

#[derive(Debug)]
pub(crate) struct Signal {
    state: AtomicU8,
    /// The sources whose mailbox went from empty to not empty.
    sources: Mutex<Vec<SourceId>>,
    hook: Mutex<Hook>,
    wakes: std::sync::atomic::AtomicU64,
}

impl Signal {
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicU8::new(QUIET),
            sources: Mutex::new(Vec::new()),
            hook: Mutex::new(Hook::None),
            wakes: std::sync::atomic::AtomicU64::new(0),
        }
    }

    /// A mailbox is no longer empty. Called without its lock, after the item is in it.
    pub(crate) fn notify(&self, source: SourceId) {
        lock(&self.sources).push(source);
        self.nudge();
    }

    /// Has the owner look, without anything in a mailbox.
    pub(crate) fn nudge(&self) {
        // The exchange orders the item before the state, and of all that come while it is armed one alone finds it so.
        if self.state.swap(NEWS, Ordering::AcqRel) == ARMED {
            // Out of the lock: a hook is code of the application, and may arm or be replaced.
            self.wakes.fetch_add(1, Ordering::Relaxed);
            let hook = lock(&self.hook).clone();
            hook.fire();
        }
    }

    /// Whether there is something; one load.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.state.load(Ordering::Relaxed) == NEWS
    }

    /// Exchanges the list of sources with news for an empty one. What comes later sets the state again.
    pub(crate) fn take(&self, sources: &mut Vec<SourceId>) {
        // Before the list is taken, so that what is pushed after it is seen next time.
        self.state.swap(QUIET, Ordering::AcqRel);
        let mut listed = lock(&self.sources);
        std::mem::swap(&mut *listed, sources);
        drop(listed);
        lock(&self.hook).settle();
    }

    /// Asks to be woken by the next news; false where there is some already, and then nobody is woken.
    pub(crate) fn arm(&self) -> bool {
        match self
            .state
            .compare_exchange(QUIET, ARMED, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => true,
            Err(state) => state == ARMED,
        }
    }

    /// No longer wants to be woken.
    pub(crate) fn disarm(&self) {
        let _ = self
            .state
            .compare_exchange(ARMED, QUIET, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// How often the host was woken.
    pub(crate) fn wakes(&self) -> u64 {
        self.wakes.load(Ordering::Relaxed)
    }

    pub(crate) fn set_hook(&self, hook: Hook) {
        let old = std::mem::replace(&mut *lock(&self.hook), hook);
        drop(old);
    }

    /// The descriptor of the hook, if it has one.
    #[cfg(all(target_os = "linux", not(arknet_loom)))]
    pub(crate) fn descriptor(&self) -> Option<std::sync::Arc<std::os::fd::OwnedFd>> {
        lock(&self.hook).descriptor()
    }
}
