//! One update: take in what has come, deliver it in turn, stop at the budget.

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::budget::{Budget, EndedBy, OPERATIONS_PER_LOOK, Reentry, UpdateReport};
use super::core::{Core, DEFERRED, Node, TASKS, TIMERS};
use super::error::OwnerError;
use super::here::Inside;
use super::replay;
use super::signal::SourceId;
use super::source::CLASSES;

/// Operations of one connection, service or other queue before the next of its kind has its turn.
const FLOW_QUANTUM: u32 = 16;

/// Operations of one kind of source before the next kind has its turn: four queues' worth, so that moving on costs little.
const CLASS_QUANTUM: u32 = 64;

/// How many queues of each kind are asked for their oldest operation when a budget has ended an update. Those that have
/// waited the longest for their turn come first.
const ASKED_FOR_OLDEST: usize = 64;

/// Whether an update at this time would do nothing.
#[inline]
pub(crate) fn is_idle<W>(core: &Core<W>, now: Instant) -> bool {
    core.waiting.get() == 0
        && !core.fresh.get()
        && !core.signal.has_news()
        && core.next_timer.get().is_none_or(|next| next > now)
}

/// Whether something is ready, on this thread or from another.
pub(crate) fn is_ready<W>(core: &Core<W>) -> bool {
    core.waiting.get() > 0 || core.fresh.get() || core.signal.has_news()
}

/// Takes in and delivers, as far as the budget goes.
pub(crate) fn take<W>(
    core: &Rc<Core<W>>,
    world: &mut W,
    now: Instant,
    budget: Budget,
    scratch: &mut Vec<SourceId>,
) -> Result<UpdateReport, OwnerError> {
    let inside = Inside::enter(core.id).ok_or(OwnerError::Nested)?;
    let span = tracing::trace_span!("update", tick = core.tick.get());
    let entered = span.enter();
    let began = crate::io::now();
    core.stop.set(false);
    let mut turn = Turn {
        core,
        scratch,
        now,
        budget,
        until: budget.time.map(|time| super::missed::add(began, time)),
        ran: 0,
        of_class: [0; CLASSES],
    };
    let ended_by = core.loan.lend(world, || turn.run());
    let ran = turn.ran;
    core.tasks.keep_woken(core);
    drop(entered);
    drop(inside);
    let ended_by = ended_by?;
    let took = crate::io::now().saturating_duration_since(began);
    core.counters.busy.set(core.counters.busy.get() + 1);
    core.counters.update_time.add(took, 1);
    count_end(core, ended_by);
    let report = UpdateReport {
        tick: core.tick.get(),
        ran,
        left: core.waiting.get() + core.tasks.woken() + core.deferred.waiting(),
        oldest_wait: oldest_wait(core, now),
        ended_by,
        missed_ticks: 0,
        panics: std::mem::take(&mut *core.panics.borrow_mut()),
    };
    let unwound = core.unwound.borrow_mut().take();
    if let Some(payload) = unwound {
        std::panic::resume_unwind(payload);
    }
    Ok(report)
}

fn count_end<W>(core: &Core<W>, ended_by: EndedBy) {
    let counter = match ended_by {
        EndedBy::Operations => &core.counters.hit_operations,
        EndedBy::Time => &core.counters.hit_time,
        EndedBy::PerSource => &core.counters.hit_per_source,
        EndedBy::Empty | EndedBy::Panic => return,
    };
    counter.set(counter.get() + 1);
}

fn oldest_wait<W>(core: &Core<W>, now: Instant) -> Duration {
    if core.waiting.get() == 0 {
        return Duration::ZERO;
    }
    let mut oldest = now;
    for ring in &core.rings {
        for place in ring.borrow().iter().take(ASKED_FOR_OLDEST) {
            if let Some(node) = core.node(*place)
                && let Some((_, since)) = node.batches.borrow().front()
            {
                oldest = oldest.min(*since);
            }
        }
    }
    now.saturating_duration_since(oldest)
}

struct Turn<'a, W> {
    core: &'a Rc<Core<W>>,
    scratch: &'a mut Vec<SourceId>,
    now: Instant,
    budget: Budget,
    until: Option<Instant>,
    ran: u32,
    of_class: [u32; CLASSES],
}

impl<W> Turn<'_, W> {
    fn run(&mut self) -> Result<EndedBy, OwnerError> {
        take_in(self.core, self.scratch, self.now);
        if self.core.recorder.borrow().is_replaying() {
            self.ran = replay::take(self.core, self.scratch, self.now)?;
            return Ok(EndedBy::Empty);
        }
        self.core.recorder.borrow_mut().nanos = nanos_of(self.core, self.now);
        let mut rounds = match self.budget.reentry {
            Reentry::Next => 0,
            Reentry::Same(rounds) => rounds,
        };
        loop {
            let ended_by = self.deliver();
            if ended_by != EndedBy::Empty || rounds == 0 {
                return Ok(ended_by);
            }
            rounds -= 1;
            self.core.tasks.keep_woken(self.core);
            take_in(self.core, self.scratch, self.now);
            if self.core.waiting.get() == 0 {
                return Ok(EndedBy::Empty);
            }
        }
    }

    /// Goes round the kinds of sources until nothing is left or the budget is used up.
    fn deliver(&mut self) -> EndedBy {
        loop {
            let first = self.core.first.get();
            let before = self.ran;
            let mut capped = false;
            for step in 0..CLASSES {
                let class = (first + step) % CLASSES;
                let (Some(ring), Some(ran)) =
                    (self.core.rings.get(class), self.of_class.get(class))
                else {
                    continue;
                };
                if ring.borrow().is_empty() {
                    continue;
                }
                let quota = CLASS_QUANTUM.min(self.budget.per_source.saturating_sub(*ran));
                if quota == 0 {
                    capped = true;
                    continue;
                }
                if let Some(ended_by) = self.visit_class(class, quota) {
                    self.core.first.set((class + 1) % CLASSES);
                    return ended_by;
                }
            }
            if self.ran == before {
                self.core.first.set((first + 1) % CLASSES);
                return if capped {
                    EndedBy::PerSource
                } else {
                    EndedBy::Empty
                };
            }
        }
    }

    fn visit_class(&mut self, class: usize, quota: u32) -> Option<EndedBy> {
        let ring = self.core.rings.get(class)?;
        let mut left = quota;
        while left > 0 {
            let place = ring.borrow_mut().pop_front()?;
            let Some(node) = self.core.node(place) else {
                continue;
            };
            let (ran, ended_by) = self.visit(&node, FLOW_QUANTUM.min(left));
            node.source.settle();
            left -= ran;
            self.account(class, &node, ran);
            withdraw(self.core, &node);
            // To the end of the ring, also where the budget has ended the visit: others were waiting.
            if node.source.ready() > 0 {
                ring.borrow_mut().push_back(place);
            } else {
                node.listed.set(false);
                if node.source.is_over() {
                    node.source.over(self.core);
                    self.core.remove(place);
                }
            }
            if ended_by.is_some() {
                return ended_by;
            }
        }
        None
    }

    #[inline]
    fn visit(&mut self, node: &Node<W>, quantum: u32) -> (u32, Option<EndedBy>) {
        let mut ran = 0;
        while ran < quantum {
            self.core.operation.set(self.core.operation.get() + 1);
            if !node.source.deliver(self.core) {
                break;
            }
            ran += 1;
            self.ran += 1;
            if self.core.stop.get() {
                return (ran, Some(EndedBy::Panic));
            }
            if self.ran >= self.budget.operations {
                return (ran, Some(EndedBy::Operations));
            }
            if self.ran.is_multiple_of(OPERATIONS_PER_LOOK)
                && let Some(until) = self.until
                && crate::io::now() >= until
            {
                return (ran, Some(EndedBy::Time));
            }
        }
        (ran, None)
    }

    fn account(&mut self, class: usize, node: &Node<W>, ran: u32) {
        if let Some(of_class) = self.of_class.get_mut(class) {
            *of_class += ran;
        }
        account(self.core, class, node, ran as usize, self.now);
    }
}

/// Notes that so many operations of a source were delivered.
pub(crate) fn account<W>(core: &Core<W>, class: usize, node: &Node<W>, ran: usize, now: Instant) {
    core.waiting.set(core.waiting.get().saturating_sub(ran));
    if let Some(counter) = core.counters.ran.get(class) {
        counter.set(counter.get().saturating_add(ran as u64));
    }
    let mut batches = node.batches.borrow_mut();
    let mut left = ran;
    while left > 0 {
        let Some((count, since)) = batches.front_mut() else {
            return;
        };
        let part = left.min(*count);
        core.counters
            .wait
            .add(now.saturating_duration_since(*since), part as u64);
        *count -= part;
        left -= part;
        if *count == 0 {
            batches.pop_front();
        }
    }
}

/// What nobody wants any more waits no longer; the newest are the first to go.
fn withdraw<W>(core: &Core<W>, node: &Node<W>) {
    let mut left = node.source.withdraw();
    if left == 0 {
        return;
    }
    core.waiting.set(core.waiting.get().saturating_sub(left));
    let mut batches = node.batches.borrow_mut();
    while left > 0
        && let Some((count, _)) = batches.back_mut()
    {
        let part = left.min(*count);
        *count -= part;
        left -= part;
        if *count == 0 {
            batches.pop_back();
        }
    }
}

pub(crate) fn nanos_of<W>(core: &Core<W>, now: Instant) -> u64 {
    let since = now.saturating_duration_since(core.began);
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Takes in what has become ready since the last time.
pub(crate) fn take_in<W>(core: &Rc<Core<W>>, scratch: &mut Vec<SourceId>, now: Instant) {
    if core.signal.has_news() {
        scratch.clear();
        core.signal.take(scratch);
        for place in scratch.drain(..) {
            list(core, place, now);
        }
    }
    if core.fresh.take() {
        list(core, TASKS, now);
        list(core, DEFERRED, now);
        let mut resumed = std::mem::take(&mut *core.network.resumed.borrow_mut());
        for place in resumed.drain(..) {
            list(core, place, now);
        }
        // Nothing of the application ran meanwhile but drops, whose sources came behind.
        let mut since = core.network.resumed.borrow_mut();
        resumed.append(&mut since);
        *since = resumed;
    }
    if core.next_timer.get().is_some_and(|next| next <= now) {
        list(core, TIMERS, now);
        core.next_timer.set(core.timers.next());
    }
}

/// Has a source take in, and puts it into the ring of its class if it has something now.
fn list<W>(core: &Core<W>, place: SourceId, now: Instant) {
    let Some(node) = core.node(place) else { return };
    let count = node.source.take_in(now);
    if count > 0 {
        core.waiting.set(core.waiting.get() + count);
        node.batches.borrow_mut().push_back((count, now));
    }
    if node.source.ready() > 0 {
        if !node.listed.replace(true)
            && let Some(ring) = core.rings.get(node.class.index())
        {
            ring.borrow_mut().push_back(place);
        }
    } else if !node.listed.get() && node.source.is_over() {
        node.source.over(core);
        core.remove(place);
    }
}
