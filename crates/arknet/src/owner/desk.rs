//! Where operations of a service wait for their lane.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;

use futures_util::task::AtomicWaker;

use super::dispatch::{Dispatch, Job};
use super::source::Ticket;
use crate::lanes::lock;

/// The desk of one lane: the owner puts jobs on it, the lane's agent takes all of them at once.
pub(crate) struct Desk<Op> {
    papers: Mutex<Papers<Op>>,
    /// There are papers that the agent has been told of and has not taken: nobody else tells it.
    news: AtomicBool,
    agent: AtomicWaker,
}

pub(crate) struct Papers<Op> {
    pub(crate) jobs: VecDeque<Job<Op>>,
    pub(crate) withdrawn: Vec<(Option<u64>, Ticket)>,
    pub(crate) closed: bool,
    /// The agent is gone.
    left: bool,
}

impl<Op> Desk<Op> {
    pub(crate) fn new() -> Self {
        Self {
            papers: Mutex::new(Papers {
                jobs: VecDeque::new(),
                withdrawn: Vec::new(),
                closed: false,
                left: false,
            }),
            news: AtomicBool::new(false),
            agent: AtomicWaker::new(),
        }
    }

    fn put(&self, put: impl FnOnce(&mut Papers<Op>)) {
        put(&mut lock(&self.papers));
        // While the agent has not looked, it needs no second word: a busy lane costs no system call.
        if !self.news.swap(true, Ordering::AcqRel) {
            self.agent.wake();
        }
    }

    /// Whether there is something that the agent has not taken.
    pub(crate) fn has_news(&self) -> bool {
        self.news.load(Ordering::Acquire)
    }

    /// Registers the agent and gives it what there is: all jobs, in exchange for an empty queue.
    pub(crate) fn take(
        &self,
        agent: &Waker,
        jobs: &mut VecDeque<Job<Op>>,
        withdrawn: &mut Vec<(Option<u64>, Ticket)>,
    ) -> bool {
        self.agent.register(agent);
        // Before the papers, so that what comes after them is told of again.
        self.news.swap(false, Ordering::AcqRel);
        let mut papers = lock(&self.papers);
        std::mem::swap(&mut papers.jobs, jobs);
        std::mem::swap(&mut papers.withdrawn, withdrawn);
        papers.closed
    }

    /// The agent goes; what comes later is given back.
    pub(crate) fn leave(&self) -> VecDeque<Job<Op>> {
        let mut papers = lock(&self.papers);
        papers.left = true;
        std::mem::take(&mut papers.jobs)
    }
}

/// The desks of all lanes of a service. A key always goes to the same one.
pub(crate) struct Desks<Op> {
    desks: Vec<Arc<Desk<Op>>>,
    next: std::cell::Cell<usize>,
}

impl<Op> Desks<Op> {
    pub(crate) fn new(desks: Vec<Arc<Desk<Op>>>) -> Self {
        Self {
            desks,
            next: std::cell::Cell::new(0),
        }
    }

    fn desk(&self, key: Option<u64>) -> Option<&Arc<Desk<Op>>> {
        let lanes = self.desks.len().max(1);
        let index = match key {
            // Neighbouring numbers are common; the remainder spreads them.
            Some(key) => usize::try_from(key % lanes as u64).unwrap_or_default(),
            None => {
                let next = self.next.get();
                self.next.set(next.wrapping_add(1));
                next % lanes
            }
        };
        self.desks.get(index)
    }
}

impl<Op> Dispatch<Op> for Desks<Op> {
    fn dispatch(&self, job: Job<Op>) -> Result<(), Job<Op>> {
        let Some(desk) = self.desk(job.key) else {
            return Err(job);
        };
        let mut job = Some(job);
        desk.put(|papers| {
            if !papers.left
                && let Some(job) = job.take()
            {
                papers.jobs.push_back(job);
            }
        });
        job.map_or(Ok(()), Err)
    }

    fn withdraw(&self, key: Option<u64>, ticket: Ticket) {
        let mine = key.and_then(|_| self.desk(key)).map(Arc::as_ptr);
        for desk in &self.desks {
            // Without a key it may be on any of them.
            if mine.is_none_or(|mine| std::ptr::eq(mine, Arc::as_ptr(desk))) {
                desk.put(|papers| papers.withdrawn.push((key, ticket)));
            }
        }
    }

    fn close(&self) {
        for desk in &self.desks {
            desk.put(|papers| papers.closed = true);
        }
    }
}
