//! Does the operations of a service on a lane: as one task, that runs many at once, and those of one key one by one.
//!
//! It is an executor in small because the storage of an operation's future is used again for the next one: nothing is
//! allocated per operation.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;

use super::desk::Desk;
use super::dispatch::{Completion, Job};
use super::error::{FromLost, Lost};
use super::mailbox::Mailbox;
use super::source::Ticket;
use crate::lanes::{drop_contained, lock};

/// Rounds of starting and polling before others on the lane have their turn.
const ROUNDS: usize = 16;

/// The part of the bound of bytes that finished results may make up before the owner gets them: what it has not got does
/// not hold anything back.
const FLUSH_SHARE: usize = 4;

/// Queues of keys that are empty, kept for the next keys.
const SPARE_QUEUES: usize = 64;

pub(crate) struct Agent<Op, Out, F, Fut> {
    desk: Arc<Desk<Op>>,
    mailbox: Arc<Mailbox<Completion<Out>>>,
    run: Arc<F>,
    weigh: fn(&Out) -> usize,
    concurrency: usize,
    /// What may begin.
    backlog: VecDeque<Job<Op>>,
    /// For each key of which something is under way or may begin: what comes after it.
    keys: HashMap<u64, VecDeque<Job<Op>>>,
    spare_queues: Vec<VecDeque<Job<Op>>>,
    seats: Vec<Seat<Fut>>,
    free: Vec<usize>,
    woken: Arc<Woken>,
    batch: Vec<usize>,
    incoming: VecDeque<Job<Op>>,
    withdrawn: Vec<(Option<u64>, Ticket)>,
    finished: Vec<Completion<Out>>,
    finished_bytes: usize,
}

struct Seat<Fut> {
    future: Pin<Box<Option<Fut>>>,
    state: Arc<SeatWaker>,
    waker: Waker,
    ticket: Ticket,
    key: Option<u64>,
}

/// The seats that are to be polled, and the agent's own waker.
#[derive(Default)]
struct Woken {
    seats: Mutex<Vec<usize>>,
    agent: AtomicWaker,
}

struct SeatWaker {
    index: usize,
    scheduled: AtomicBool,
    woken: Arc<Woken>,
}

impl Wake for SeatWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.scheduled.swap(true, Ordering::AcqRel) {
            lock(&self.woken.seats).push(self.index);
            self.woken.agent.wake();
        }
    }
}

impl<Op, Out, F, Fut> Agent<Op, Out, F, Fut>
where
    F: Fn(Op) -> Fut,
    Fut: Future<Output = Out>,
    Out: FromLost,
{
    pub(crate) fn new(
        desk: Arc<Desk<Op>>,
        mailbox: Arc<Mailbox<Completion<Out>>>,
        run: Arc<F>,
        weigh: fn(&Out) -> usize,
        concurrency: usize,
    ) -> Self {
        Self {
            desk,
            mailbox,
            run,
            weigh,
            concurrency: concurrency.max(1),
            backlog: VecDeque::new(),
            keys: HashMap::new(),
            spare_queues: Vec::new(),
            seats: Vec::new(),
            free: Vec::new(),
            woken: Arc::default(),
            batch: Vec::new(),
            incoming: VecDeque::new(),
            withdrawn: Vec::new(),
            finished: Vec::new(),
            finished_bytes: 0,
        }
    }

    fn running(&self) -> usize {
        self.seats.len().saturating_sub(self.free.len())
    }

    fn take_in(&mut self, agent: &Waker) -> bool {
        let closed = self
            .desk
            .take(agent, &mut self.incoming, &mut self.withdrawn);
        while let Some(job) = self.incoming.pop_front() {
            match job.key {
                Some(key) => match self.keys.get_mut(&key) {
                    Some(queue) => queue.push_back(job),
                    None => {
                        let queue = self.spare_queues.pop().unwrap_or_default();
                        self.keys.insert(key, queue);
                        self.backlog.push_back(job);
                    }
                },
                None => self.backlog.push_back(job),
            }
        }
        while let Some((key, ticket)) = self.withdrawn.pop() {
            self.withdraw(key, ticket);
        }
        closed
    }

    /// Ends a job that has not begun.
    fn withdraw(&mut self, key: Option<u64>, ticket: Ticket) {
        if let Some(at) = self.backlog.iter().position(|job| job.ticket == ticket) {
            let job = self.backlog.remove(at);
            self.completed(ticket, key, Out::from_lost(Lost::Withdrawn));
            drop_quietly(job);
        } else if let Some(queue) = key.and_then(|key| self.keys.get_mut(&key))
            && let Some(at) = queue.iter().position(|job| job.ticket == ticket)
        {
            let job = queue.remove(at);
            self.finish(ticket, Out::from_lost(Lost::Withdrawn));
            drop_quietly(job);
        }
    }

    fn finish(&mut self, ticket: Ticket, output: Out) {
        let bytes = (self.weigh)(&output);
        self.finished_bytes = self.finished_bytes.saturating_add(bytes);
        self.finished.push(Completion::new(ticket, output, bytes));
    }

    /// The job at the head of its key has ended: the next one may begin.
    fn completed(&mut self, ticket: Ticket, key: Option<u64>, output: Out) {
        self.finish(ticket, output);
        let Some(key) = key else { return };
        let Some(queue) = self.keys.get_mut(&key) else {
            return;
        };
        if let Some(next) = queue.pop_front() {
            self.backlog.push_back(next);
        } else if let Some(queue) = self.keys.remove(&key)
            && self.spare_queues.len() < SPARE_QUEUES
        {
            self.spare_queues.push(queue);
        }
    }

    /// Seats what may begin, as far as there are seats and the owner keeps up with the results.
    fn start(&mut self, cx: &Context<'_>) -> bool {
        let mut started = false;
        while self.running() < self.concurrency && !self.backlog.is_empty() {
            if self.finished_bytes > self.mailbox.limits().1 / FLUSH_SHARE {
                self.deliver();
            }
            // A result of unknown size: whoever begins with room left may go over the bound by one.
            if self.mailbox.poll_room(1, cx).is_pending() {
                break;
            }
            // What was withdrawn since this turn began has not begun.
            if self.desk.has_news() {
                self.take_in(cx.waker());
            }
            let Some(job) = self.backlog.pop_front() else {
                break;
            };
            self.seat(job);
            started = true;
        }
        started
    }

    fn seat(&mut self, job: Job<Op>) {
        let Job {
            ticket,
            key,
            operation,
        } = job;
        let run = &self.run;
        let Ok(future) = catch_unwind(AssertUnwindSafe(|| run(operation))) else {
            tracing::error!("an operation of a service panicked when it began");
            self.completed(ticket, key, Out::from_lost(Lost::Panicked));
            return;
        };
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                let index = self.seats.len();
                let state = Arc::new(SeatWaker {
                    index,
                    scheduled: AtomicBool::new(false),
                    woken: self.woken.clone(),
                });
                self.seats.push(Seat {
                    future: Box::pin(None),
                    waker: Waker::from(state.clone()),
                    state,
                    ticket,
                    key,
                });
                index
            }
        };
        if let Some(seat) = self.seats.get_mut(index) {
            seat.future.set(Some(future));
            seat.ticket = ticket;
            seat.key = key;
            if !seat.state.scheduled.swap(true, Ordering::AcqRel) {
                lock(&self.woken.seats).push(index);
            }
        }
    }

    fn poll_seat(&mut self, index: usize) {
        let Some(seat) = self.seats.get_mut(index) else {
            return;
        };
        seat.state.scheduled.swap(false, Ordering::AcqRel);
        let Some(future) = seat.future.as_mut().as_pin_mut() else {
            return;
        };
        let mut cx = Context::from_waker(&seat.waker);
        let output = match catch_unwind(AssertUnwindSafe(|| future.poll(&mut cx))) {
            Ok(Poll::Pending) => return,
            Ok(Poll::Ready(output)) => output,
            Err(_) => {
                tracing::error!("an operation of a service panicked");
                Out::from_lost(Lost::Panicked)
            }
        };
        let (ticket, key) = (seat.ticket, seat.key);
        let emptied = catch_unwind(AssertUnwindSafe(|| seat.future.set(None)));
        if emptied.is_err() {
            tracing::error!("an operation of a service panicked when it was dropped");
        }
        self.free.push(index);
        self.completed(ticket, key, output);
    }

    fn deliver(&mut self) {
        let bytes = std::mem::take(&mut self.finished_bytes);
        self.mailbox.post_reserved(&mut self.finished, bytes);
    }

    /// What has been waiting is given up: the lane has ended.
    fn give_up(&mut self) {
        let mut tickets: Vec<Ticket> = self
            .seats
            .iter()
            .filter(|seat| seat.future.as_ref().as_pin_ref().is_some())
            .map(|seat| seat.ticket)
            .collect();
        let jobs = self.desk.leave();
        tickets.extend(self.backlog.iter().map(|job| job.ticket));
        // In the order of the keys, since nothing that is delivered may come from the order of a hash map.
        let mut keys: Vec<_> = self.keys.drain().collect();
        keys.sort_unstable_by_key(|(key, _)| *key);
        for (_, queue) in &keys {
            tickets.extend(queue.iter().map(|job| job.ticket));
        }
        tickets.extend(jobs.iter().chain(&self.incoming).map(|job| job.ticket));
        for ticket in tickets {
            self.finish(ticket, Out::from_lost(Lost::Ended));
        }
        self.deliver();
    }
}

/// An operation is code of the application, and what its drop does is no reason to end the lane's agent.
fn drop_quietly<T>(value: T) {
    drop_contained(
        value,
        "an operation of a service panicked when it was dropped",
    );
}

// Futures are pinned in boxes of their own.
impl<Op, Out, F, Fut> Unpin for Agent<Op, Out, F, Fut> {}

/// The agent with a drop that accounts for everything.
pub(crate) struct Working<Op, Out, F, Fut>(pub(crate) Agent<Op, Out, F, Fut>)
where
    F: Fn(Op) -> Fut,
    Fut: Future<Output = Out>,
    Out: FromLost;

impl<Op, Out, F, Fut> Future for Working<Op, Out, F, Fut>
where
    F: Fn(Op) -> Fut,
    Fut: Future<Output = Out>,
    Out: FromLost,
{
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let agent = &mut self.0;
        agent.woken.agent.register(cx.waker());
        let closed = agent.take_in(cx.waker());
        let mut more = true;
        for _ in 0..ROUNDS {
            let started = agent.start(cx);
            let mut batch = std::mem::take(&mut agent.batch);
            std::mem::swap(&mut *lock(&agent.woken.seats), &mut batch);
            more = started || !batch.is_empty();
            for index in batch.drain(..) {
                agent.poll_seat(index);
            }
            agent.batch = batch;
            if !more {
                break;
            }
        }
        agent.deliver();
        if more {
            cx.waker().wake_by_ref();
        } else if closed && agent.running() == 0 && agent.backlog.is_empty() {
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

impl<Op, Out, F, Fut> Drop for Working<Op, Out, F, Fut>
where
    F: Fn(Op) -> Fut,
    Fut: Future<Output = Out>,
    Out: FromLost,
{
    fn drop(&mut self) {
        self.0.give_up();
    }
}
