//! An epoll instance whose events name tasks.

use std::cell::RefCell;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::event::epoll;
use slab::Slab;

use super::TaskRef;

/// Events that are taken at once.
const EVENTS: usize = 256;

/// A read may find bytes.
pub(super) const READABLE: u8 = 1;
/// A write may find room.
pub(super) const WRITABLE: u8 = 2;
/// The peer has ended its stream, or the socket has failed: a short read proves nothing any more.
pub(super) const ENDED: u8 = 4;

/// What is known of a socket. Only the thread that runs the lane looks at it or changes it, by plain loads and stores;
/// it is atomic because a task may be moved to that thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Readiness(Arc<AtomicU8>);

impl Readiness {
    #[inline]
    pub(super) fn get(&self) -> u8 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn set(&self, bits: u8) {
        self.0.store(bits, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct Slot {
    readiness: Readiness,
    task: TaskRef,
}

/// The sockets of a lane.
#[derive(Debug)]
pub(crate) struct Reactor {
    epoll: Arc<OwnedFd>,
    slots: RefCell<Slab<Slot>>,
}

impl Reactor {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC)?);
        Ok(Self {
            epoll,
            slots: RefCell::default(),
        })
    }

    /// The descriptor that becomes readable when there are events.
    pub(crate) fn descriptor(&self) -> &Arc<OwnedFd> {
        &self.epoll
    }

    /// Watches a socket for a task. Both directions count as ready until a call says otherwise.
    pub(super) fn register(
        &self,
        socket: impl AsFd,
        task: TaskRef,
    ) -> io::Result<(usize, Readiness)> {
        let readiness = Readiness::default();
        readiness.set(READABLE | WRITABLE);
        let token = self.slots.borrow_mut().insert(Slot {
            readiness: readiness.clone(),
            task,
        });
        let flags = epoll::EventFlags::IN
            | epoll::EventFlags::OUT
            | epoll::EventFlags::RDHUP
            | epoll::EventFlags::ET;
        let data = epoll::EventData::new_u64(token as u64);
        if let Err(error) = epoll::add(&*self.epoll, socket, data, flags) {
            self.slots.borrow_mut().remove(token);
            return Err(error.into());
        }
        Ok((token, readiness))
    }

    /// Forgets a socket, which is closed right afterwards: that takes it out of the epoll instance.
    pub(super) fn deregister(&self, token: usize) {
        self.slots.borrow_mut().try_remove(token);
    }

    /// Takes the events that there are, without waiting, and names their tasks. Returns how many there were.
    ///
    /// A lane whose sockets are all with its runtime, such as the leases of a pool, asks the system nothing.
    #[inline]
    pub(crate) fn poll(&self, mut wake: impl FnMut(TaskRef)) -> io::Result<usize> {
        if self.slots.borrow().is_empty() {
            return Ok(0);
        }
        let mut room = [const { MaybeUninit::<epoll::Event>::uninit() }; EVENTS];
        let now = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let events = match epoll::wait(&*self.epoll, &mut room, Some(&now)) {
            Ok((events, _)) => events,
            Err(rustix::io::Errno::INTR) => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        let slots = self.slots.borrow();
        for event in events.iter() {
            // An event of a socket that is gone meanwhile.
            let Some(slot) = slots.get(event.data.u64() as usize) else {
                continue;
            };
            slot.readiness.set(slot.readiness.get() | bits(event.flags));
            wake(slot.task);
        }
        Ok(events.len())
    }
}

#[inline]
fn bits(flags: epoll::EventFlags) -> u8 {
    let mut bits = 0;
    if flags.intersects(epoll::EventFlags::IN) {
        bits |= READABLE;
    }
    if flags.intersects(epoll::EventFlags::OUT) {
        bits |= WRITABLE;
    }
    let ended = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
    if flags.intersects(ended) {
        bits |= READABLE | WRITABLE | ENDED;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_sockets_the_system_is_not_asked() {
        // What is no epoll instance answers any question with an error.
        let nobody = std::fs::File::open("/dev/null").unwrap();
        let reactor = Reactor {
            epoll: Arc::new(nobody.into()),
            slots: RefCell::default(),
        };
        assert_eq!(reactor.poll(|_| ()).unwrap(), 0);
    }
}
