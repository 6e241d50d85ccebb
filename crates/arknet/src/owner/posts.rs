//! Functions that other threads hand to the owner.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Instant;

use super::core::Core;
use super::error::{RejectReason, Rejected};
use super::groups::GroupRef;
use super::label::Label;
use super::mailbox::{Mailbox, Refusal};
use super::source::{Class, Source, Ticket};

/// Bits of a post's key that count the posts of one poster; the rest number the poster.
const COUNT_BITS: u32 = 40;

type Function<W> = Box<dyn FnOnce(&mut W) + Send>;

pub(crate) struct Post<W> {
    key: u64,
    bytes: usize,
    group: Option<GroupRef>,
    label: Label,
    function: Function<W>,
}

/// Hands functions to an owner from any thread. Clones are cheap; they outlive the owner, and then refuse.
///
/// Functions of one poster run in the order in which they were posted. In the [journal](super::Journal) a post is known
/// by its poster and its number, so that a program that is to be replayed has a poster of its own for each thread.
pub struct Poster<W> {
    mailbox: Arc<Mailbox<Post<W>>>,
    group: Option<GroupRef>,
    number: u64,
    count: Arc<AtomicU64>,
}

impl<W> Clone for Poster<W> {
    fn clone(&self) -> Self {
        Self {
            mailbox: self.mailbox.clone(),
            group: self.group,
            number: self.number,
            count: self.count.clone(),
        }
    }
}

impl<W> std::fmt::Debug for Poster<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poster").finish_non_exhaustive()
    }
}

impl<W> Poster<W> {
    /// Has the owner run a function in one of its next updates. It counts with its own size against the bound of bytes.
    ///
    /// # Errors
    ///
    /// The function comes back where the owner is that far behind, drains, or has ended.
    #[track_caller]
    pub fn post<F>(&self, function: F) -> Result<(), Rejected<F>>
    where
        F: FnOnce(&mut W) + Send + 'static,
    {
        self.post_sized(size_of::<F>(), function)
    }

    /// As [`post`](Self::post), for a function that holds `bytes` bytes elsewhere too.
    ///
    /// # Errors
    ///
    /// As [`post`](Self::post).
    #[track_caller]
    pub fn post_sized<F>(&self, bytes: usize, function: F) -> Result<(), Rejected<F>>
    where
        F: FnOnce(&mut W) + Send + 'static,
    {
        let label = Label::here();
        // Asked for before the function is boxed, since a box of it cannot be opened again.
        match self.mailbox.post_with(bytes, function, |function| {
            let count = self.count.fetch_add(1, Ordering::Relaxed);
            Post {
                key: (self.number << COUNT_BITS) | (count & ((1 << COUNT_BITS) - 1)),
                bytes,
                group: self.group,
                label,
                function: Box::new(function),
            }
        }) {
            Ok(()) => Ok(()),
            Err((refusal, function)) => Err(Rejected::new(function, self.reason(refusal))),
        }
    }

    /// As [`post`](Self::post), and waits for room where there is none.
    ///
    /// Dropping this future before it is done leaves the function unposted.
    ///
    /// # Errors
    ///
    /// The function comes back where the owner drains or has ended, or 1,024 others wait already.
    pub async fn send<F>(&self, function: F) -> Result<(), Rejected<F>>
    where
        F: FnOnce(&mut W) + Send + 'static,
    {
        let mut function = function;
        loop {
            match self.post(function) {
                Ok(()) => return Ok(()),
                Err(rejected) if rejected.is_full() => function = rejected.operation,
                Err(rejected) => return Err(rejected),
            }
            let room = poll_fn(|cx| match self.mailbox.poll_room(size_of::<F>(), cx) {
                Poll::Ready(Err(Refusal::Closed) | Ok(())) => Poll::Ready(Ok(())),
                Poll::Ready(Err(refusal)) => Poll::Ready(Err(refusal)),
                Poll::Pending => Poll::Pending,
            });
            if let Err(refusal) = room.await {
                return Err(Rejected::new(function, self.reason(refusal)));
            }
        }
    }

    fn reason(&self, refusal: Refusal) -> RejectReason {
        reason_of(refusal, self.mailbox.limits(), "posts")
    }
}

/// The same refusal in words.
pub(crate) fn reason_of(
    refusal: Refusal,
    (items, bytes): (usize, usize),
    of: &'static str,
) -> RejectReason {
    match refusal {
        Refusal::Items => RejectReason::Operations { most: items, of },
        Refusal::Bytes => RejectReason::Bytes { most: bytes, of },
        Refusal::Closed => RejectReason::Closed { of: "the owner" },
    }
}

pub(crate) struct Posts<W> {
    mailbox: Arc<Mailbox<Post<W>>>,
    ready: RefCell<VecDeque<Post<W>>>,
    posters: Cell<u64>,
    delivered: Cell<(usize, usize)>,
}

impl<W> Posts<W> {
    pub(crate) fn new(mailbox: Arc<Mailbox<Post<W>>>) -> Self {
        Self {
            mailbox,
            ready: RefCell::default(),
            posters: Cell::new(0),
            delivered: Cell::new((0, 0)),
        }
    }

    pub(crate) fn refused(&self) -> u64 {
        self.mailbox.refused()
    }

    pub(crate) fn poster(&self, group: Option<GroupRef>) -> Poster<W> {
        let number = self.posters.get();
        self.posters.set(number + 1);
        Poster {
            mailbox: self.mailbox.clone(),
            group,
            number,
            count: Arc::new(AtomicU64::new(0)),
        }
    }
}

impl<W> Source<W> for Posts<W> {
    fn name(&self) -> &str {
        "posts"
    }

    fn take_in(&self, _: Instant) -> usize {
        self.mailbox.take(&mut self.ready.borrow_mut())
    }

    fn ready(&self) -> usize {
        self.ready.borrow().len()
    }

    fn deliver(&self, core: &Rc<Core<W>>) -> bool {
        let Some(post) = self.ready.borrow_mut().pop_front() else {
            return false;
        };
        let Post {
            key,
            bytes,
            group,
            label,
            function,
        } = post;
        let (count, total) = self.delivered.get();
        self.delivered.set((count + 1, total.saturating_add(bytes)));
        if core.recording.get() {
            core.record(Class::Posts, "posts", key, Some(label), None);
        }
        if group.is_none_or(|group| core.groups.borrow().is_alive(group)) {
            core.call(label, group, function);
        } else {
            core.contain(label, None, || drop(function));
        }
        true
    }

    fn settle(&self) {
        let (count, bytes) = self.delivered.take();
        self.mailbox.release(count, bytes);
    }

    fn bring_forward(&self, key: u64, _: Option<&[u8]>) -> bool {
        let mut ready = self.ready.borrow_mut();
        let found = ready.iter().position(|post| post.key == key);
        let post = found.and_then(|at| ready.remove(at));
        post.map(|post| ready.push_front(post)).is_some()
    }

    fn refuse(&self) {
        self.mailbox.close();
    }

    fn unfinished(&self) -> usize {
        self.mailbox.count().saturating_sub(self.delivered.get().0)
    }

    fn list_unfinished(&self, abandoned: &mut dyn FnMut(&str, Option<Label>, usize)) {
        self.mailbox.take(&mut self.ready.borrow_mut());
        for post in self.ready.borrow().iter() {
            abandoned("posts", Some(post.label), 1);
        }
    }

    fn cancel(&self, _: Ticket) {}

    fn end(&self) {
        self.mailbox.close();
        let mut ready = std::mem::take(&mut *self.ready.borrow_mut());
        self.mailbox.take(&mut ready);
        drop_contained(ready);
    }
}

/// Drops things of the application, on the owner, one by one, whatever they do.
pub(crate) fn drop_contained<T>(items: impl IntoIterator<Item = T>) {
    for item in items {
        crate::lanes::drop_contained(item, "something panicked when its owner ended");
    }
}
