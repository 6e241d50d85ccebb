//! What wakes a host that sleeps: a closure, a waker, or a descriptor that becomes readable.

use std::sync::Arc;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

#[derive(Clone, Default)]
pub(crate) enum Hook {
    #[default]
    None,
    Call(Arc<dyn Fn() + Send + Sync>),
    Wake(Waker),
    #[cfg(target_os = "linux")]
    Descriptor(Arc<Event>),
}

impl Hook {
    /// Wakes the host. A closure that panics is reported and does no harm to the thread that had news.
    pub(crate) fn fire(self) {
        match self {
            Self::None => {}
            Self::Call(call) => {
                if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| call())).is_err() {
                    tracing::error!("the wake hook of an owner panicked");
                }
            }
            Self::Wake(waker) => waker.wake(),
            #[cfg(target_os = "linux")]
            Self::Descriptor(event) => event.set(),
        }
    }

    /// The host is awake: a descriptor that was set is read.
    pub(crate) fn settle(&self) {
        #[cfg(target_os = "linux")]
        if let Self::Descriptor(event) = self {
            event.clear();
        }
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn descriptor(&self) -> Option<Arc<std::os::fd::OwnedFd>> {
        match self {
            Self::Descriptor(event) => Some(event.descriptor.clone()),
            _ => None,
        }
    }
}

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Call(_) => "Call",
            Self::Wake(_) => "Wake",
            #[cfg(target_os = "linux")]
            Self::Descriptor(_) => "Descriptor",
        })
    }
}

/// An eventfd, and whether it was written to, so that reading costs nothing while it was not.
#[cfg(target_os = "linux")]
pub(crate) struct Event {
    descriptor: Arc<std::os::fd::OwnedFd>,
    set: AtomicBool,
}

#[cfg(target_os = "linux")]
impl Event {
    pub(crate) fn new() -> std::io::Result<Self> {
        use rustix::event::{EventfdFlags, eventfd};
        let descriptor = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self {
            descriptor: Arc::new(descriptor),
            set: AtomicBool::new(false),
        })
    }

    fn set(&self) {
        self.set.store(true, Ordering::Release);
        // It fails only where the counter is full, and then it is readable.
        let _ = rustix::io::write(&self.descriptor, &1_u64.to_ne_bytes());
    }

    fn clear(&self) {
        if self.set.load(Ordering::Acquire) {
            self.set.store(false, Ordering::Release);
            // Nothing to read: a write is still on its way, and the next update reads it.
            let mut count = [0; 8];
            if rustix::io::read(&self.descriptor, &mut count).is_err() {
                self.set.store(true, Ordering::Release);
            }
        }
    }
}
