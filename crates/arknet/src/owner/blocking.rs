//! Blocking work, on a few threads of the owner's own, delivered like anything else.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::cx::Cx;
use super::dispatch::{Completion, Dispatch, Job};
use super::error::{Lost, RejectReason, Rejected};
use super::label::Label;
use super::mailbox::Mailbox;
use super::service::{Service, ServiceCore, Then};
use super::source::Ticket;
use crate::lanes::lock;

/// A thread that has had nothing to do for so long ends: it would only hold its stack.
const IDLE: Duration = Duration::from_secs(10);

type Output = Box<dyn Any + Send>;
type Work = Box<dyn FnOnce() -> Output + Send>;
type Result_ = Result<Output, Lost>;

/// The service that blocking work is submitted to.
pub(crate) type Blocking<W> = ServiceCore<W, Work, Result_>;

/// The threads.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    most: usize,
}

struct Shared {
    queue: Mutex<Queue>,
    more: Condvar,
    mailbox: Arc<Mailbox<Completion<Result_>>>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job<Work>>,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl Pool {
    pub(crate) fn new(most: usize, mailbox: Arc<Mailbox<Completion<Result_>>>) -> Self {
        Self {
            shared: Arc::new(Shared {
                queue: Mutex::default(),
                more: Condvar::new(),
                mailbox,
            }),
            most: most.max(1),
        }
    }
}

impl Dispatch<Work> for Pool {
    fn dispatch(&self, job: Job<Work>) -> Result<(), Job<Work>> {
        let mut queue = lock(&self.shared.queue);
        if queue.closed {
            return Err(job);
        }
        let ticket = job.ticket;
        queue.jobs.push_back(job);
        if queue.idle >= queue.jobs.len() || queue.threads >= self.most {
            drop(queue);
            self.shared.more.notify_one();
            return Ok(());
        }
        queue.threads += 1;
        let first = queue.threads == 1;
        drop(queue);
        let shared = self.shared.clone();
        let started = std::thread::Builder::new()
            .name("arknet-blocking".to_owned())
            .spawn(move || shared.work());
        if let Err(error) = started {
            tracing::error!(%error, "cannot start a thread for blocking work");
            let mut queue = lock(&self.shared.queue);
            queue.threads = queue.threads.saturating_sub(1);
            // Without any thread nobody would ever come for it.
            if first && let Some(at) = queue.jobs.iter().position(|job| job.ticket == ticket) {
                return queue.jobs.remove(at).map_or(Ok(()), Err);
            }
        }
        Ok(())
    }

    fn withdraw(&self, _: Option<u64>, ticket: Ticket) {
        let mut queue = lock(&self.shared.queue);
        let at = queue.jobs.iter().position(|job| job.ticket == ticket);
        let job = at.and_then(|at| queue.jobs.remove(at));
        drop(queue);
        if job.is_some() {
            self.shared.complete(ticket, Err(Lost::Withdrawn));
        }
        super::posts::drop_contained(job);
    }

    fn close(&self) {
        lock(&self.shared.queue).closed = true;
        self.shared.more.notify_all();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn work(&self) {
        while let Some(job) = self.next() {
            let Job {
                ticket, operation, ..
            } = job;
            let output = catch_unwind(AssertUnwindSafe(operation)).map_err(|_| {
                tracing::error!("blocking work of an owner panicked");
                Lost::Panicked
            });
            self.complete(ticket, output);
        }
    }

    /// The next job; `None` ends the thread.
    fn next(&self) -> Option<Job<Work>> {
        let mut queue = lock(&self.queue);
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            if queue.closed {
                queue.threads = queue.threads.saturating_sub(1);
                return None;
            }
            queue.idle += 1;
            let (woken, waited) = self
                .more
                .wait_timeout(queue, IDLE)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            queue = woken;
            queue.idle = queue.idle.saturating_sub(1);
            if waited.timed_out() && queue.jobs.is_empty() {
                queue.threads = queue.threads.saturating_sub(1);
                return None;
            }
        }
    }

    fn complete(&self, ticket: Ticket, output: Result_) {
        let mut completions = vec![Completion::new(ticket, output, 0)];
        self.mailbox.post_reserved(&mut completions, 0);
    }
}

fn boxed<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Work {
    Box::new(move || Box::new(work()) as Output)
}

fn opened<T: 'static>(output: Result_) -> Result<T, Lost> {
    match output?.downcast() {
        Ok(output) => Ok(*output),
        Err(_) => Err(Lost::Ended),
    }
}

impl<W: 'static> Cx<W> {
    fn blocking_service(&self) -> Option<Service<W, Work, Result_>> {
        let core = self.core.blocking.borrow().clone()?;
        Some(Service::new(self.clone(), core))
    }

    /// Does blocking work on one of the owner's own few threads, and waits for its result, in a task.
    ///
    /// Dropping this future throws the result away; work that has begun is never cut short.
    ///
    /// # Errors
    ///
    /// [`Lost`] where it panicked, or the owner takes nothing more.
    #[track_caller]
    pub fn blocking<T, F>(&self, work: F) -> impl Future<Output = Result<T, Lost>> + use<W, T, F>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let call = self
            .blocking_service()
            .map(|service| service.call(boxed(work)));
        async move {
            match call {
                Some(call) => opened(call.await),
                None => Err(Lost::Refused),
            }
        }
    }

    /// Does blocking work on one of the owner's own few threads; its result is delivered to `then`, in an update.
    ///
    /// # Errors
    ///
    /// The work comes back where too much of it is under way, the group has been cancelled, or the owner has ended.
    #[track_caller]
    pub fn blocking_then<T, F, C>(&self, work: F, then: C) -> Result<(), Rejected<F>>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
        C: FnOnce(&mut W, Result<T, Lost>) + 'static,
    {
        let label = Label::here();
        let closed = RejectReason::Closed { of: "the owner" };
        let Some(service) = self.blocking_service() else {
            return Err(Rejected::new(work, closed));
        };
        if !service.inner().has_room_for(0) {
            self.core.count_rejection();
            let reason = RejectReason::Operations {
                most: self.core.limits.blocking,
                of: "blocking work",
            };
            return Err(Rejected::new(work, reason));
        }
        // A box of it cannot be opened again, so what may refuse it is asked first.
        if let Err(reason) = self.check_open() {
            self.core.count_rejection();
            return Err(Rejected::new(work, reason));
        }
        let submitted = service.submit(boxed(work), self.group, label, || {
            Then::Call(Box::new(move |world: &mut W, output| {
                then(world, opened(output));
            }))
        });
        if let Err(rejected) = submitted {
            tracing::error!(reason = %rejected.reason, "blocking work was refused after it was accepted");
        }
        Ok(())
    }
}
