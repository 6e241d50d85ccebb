//! The owner itself: updates, waiting, and its end.

use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::budget::{Budget, UpdateReport};
use super::builder::Builder;
use super::cadence::{Cadence, Kind, Next, Pacer, RunReport, Spin, Tick};
use super::core::{Core, State};
use super::cx::Cx;
use super::drain::{self, Deadline, DrainReport};
use super::error::OwnerError;
use super::hook::Hook;
use super::journal::Journal;
use super::park::Bed;
use super::signal::SourceId;
use super::{replay, turn};

/// How long the lanes of an owner are waited for beyond the deadline of its drain, to drop what they have.
const LANES_GRACE: Duration = Duration::from_millis(100);

/// How long a drain sleeps at most before it looks again: for what no queue of the owner tells of.
const DRAIN_LOOK: Duration = Duration::from_millis(10);

/// Owns the turns of a world of type `W`: see the [module](crate::owner).
///
/// It belongs to the thread that made it. What can be asked for from callbacks and tasks, too, is on [`Cx`], which it
/// dereferences to.
///
/// Dropping it ends everything at once: futures and callbacks are dropped, on this thread; operations that were submitted
/// may or may not be done. It neither waits nor panics. [`drain`](Self::drain) ends it in good order.
pub struct Owner<W: 'static> {
    cx: Cx<W>,
    /// The lanes end with it.
    own_lanes: bool,
    scratch: Vec<SourceId>,
    drained: Option<DrainReport>,
}

impl<W> std::fmt::Debug for Owner<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Owner")
            .field("cx", &self.cx)
            .finish_non_exhaustive()
    }
}

impl<W> Deref for Owner<W> {
    type Target = Cx<W>;

    fn deref(&self) -> &Cx<W> {
        &self.cx
    }
}

impl<W: 'static> Owner<W> {
    /// Settings, to begin with.
    pub fn builder() -> Builder<W> {
        Builder::new()
    }

    pub(crate) fn of(core: Rc<Core<W>>, own_lanes: bool) -> Self {
        Self {
            cx: Cx { core, group: None },
            own_lanes,
            scratch: Vec::new(),
            drained: None,
        }
    }

    /// A handle for the owner's thread, to be kept in the world and in callbacks.
    pub fn cx(&self) -> Cx<W> {
        self.cx.clone()
    }

    /// Delivers what is ready, within the budget. The owner's clock moves on to now.
    ///
    /// # Errors
    ///
    /// [`OwnerError::Lanes`] where an inline owner is updated inside of another runtime, [`OwnerError::Nested`] inside of an
    /// update, [`OwnerError::Drained`] after a drain.
    ///
    /// # Panics
    ///
    /// With [`PanicPolicy::Propagate`](super::PanicPolicy::Propagate), where a callback or a task did.
    #[inline]
    pub fn update(&mut self, world: &mut W, budget: Budget) -> Result<UpdateReport, OwnerError> {
        let now = crate::io::now();
        self.update_at(now, world, budget)
    }

    /// As [`update`](Self::update), with the clock moved on to `now`, whatever the system's says. The clock never goes
    /// back.
    ///
    /// # Errors
    ///
    /// As [`update`](Self::update).
    #[inline]
    pub fn update_at(
        &mut self,
        now: Instant,
        world: &mut W,
        budget: Budget,
    ) -> Result<UpdateReport, OwnerError> {
        let core = &*self.cx.core;
        if core.inline {
            self.poll_lanes()?;
        }
        let tick = core.tick.get() + 1;
        core.tick.set(tick);
        if now > core.clock.get() {
            core.clock.set(now);
        }
        // Whatever makes the next update differ from an idle one sets one of the cells that this reads.
        if turn::is_idle(core, now) {
            return Ok(UpdateReport {
                tick,
                ..UpdateReport::default()
            });
        }
        self.update_busy(world, budget)
    }

    #[inline(never)]
    fn update_busy(&mut self, world: &mut W, budget: Budget) -> Result<UpdateReport, OwnerError> {
        let core = &self.cx.core;
        if core.state.get() == State::Ended {
            return Err(OwnerError::Drained);
        }
        if core.recorder.borrow().is_replaying()
            && let Some(clock) = replay::clock(core, core.tick.get())
        {
            core.clock.set(clock);
        }
        let now = core.clock.get();
        let held = core.network.corks.hold();
        let report = turn::take(core, world, now, budget, &mut self.scratch)?;
        drop(held);
        let handed = core.network.corks.take_handed();
        if core.inline && (core.submitted.replace(false) | handed) {
            // What was submitted just now goes out at once, and not in the next update.
            self.poll_lanes()?;
        }
        if core.recorder.borrow().is_replaying() {
            core.fresh.set(true);
        }
        Ok(report)
    }

    fn poll_lanes(&self) -> Result<(), OwnerError> {
        let lanes = self.cx.core.lanes.borrow();
        match &*lanes {
            Some(lanes) => Ok(lanes.poll_owned()?),
            None => Err(OwnerError::Drained),
        }
    }

    /// Updates at a cadence until `each`, which is called after every update, says that it is enough. With
    /// [`Cadence::at_once`] it is called at ticks only.
    ///
    /// While it runs, the hooks of [`on_ready`](Self::on_ready) and its like are the run's own; they are none afterwards.
    ///
    /// # Errors
    ///
    /// As [`update`](Self::update).
    ///
    /// # Panics
    ///
    /// As [`update`](Self::update), and where `each` does.
    pub fn run(
        &mut self,
        world: &mut W,
        cadence: Cadence,
        mut each: impl FnMut(&mut W, &Tick) -> Next,
    ) -> Result<RunReport, OwnerError> {
        let bed = Bed::new();
        let mut report = RunReport::default();
        let mut spin = Spin::new(cadence.spin);
        let mut pacer = match cadence.kind {
            Kind::Every(period) => Some(Pacer::new(crate::io::now(), period, cadence.missed)),
            Kind::Continuous | Kind::Parked => None,
        };
        loop {
            let (missed, late) = match &mut pacer {
                Some(pacer) => {
                    if cadence.at_once {
                        self.deliver_until(world, &bed, pacer.due(), cadence.budget, &mut report)?;
                    }
                    bed.sleep(&self.cx.core, pacer.due())?;
                    let (missed, late) = pacer.begin(crate::io::now());
                    let counters = &self.cx.core.counters;
                    counters
                        .missed
                        .set(counters.missed.get().saturating_add(missed));
                    counters.lateness.add(late, 1);
                    (missed, late)
                }
                None => (0, Duration::ZERO),
            };
            let mut update = self.update(world, cadence.budget)?;
            update.missed_ticks = missed;
            let rest = update.left == 0;
            report.ran = report.ran.saturating_add(u64::from(update.ran));
            report.missed = report.missed.saturating_add(missed);
            let tick = Tick {
                number: report.ticks,
                now: self.now(),
                missed,
                late,
                update,
            };
            report.ticks += 1;
            // What it sends leaves together, too.
            let held = self.cx.core.network.corks.hold();
            let next = each(world, &tick);
            drop(held);
            if next == Next::Stop {
                self.cx.core.signal.set_hook(Hook::None);
                return Ok(report);
            }
            if matches!(cadence.kind, Kind::Parked) && rest {
                self.wait(&bed, &mut spin)?;
            }
        }
    }

    /// Delivers what becomes ready until a moment is near.
    fn deliver_until(
        &mut self,
        world: &mut W,
        bed: &Bed,
        until: Instant,
        budget: Budget,
        report: &mut RunReport,
    ) -> Result<(), OwnerError> {
        loop {
            bed.park(
                &self.cx.core,
                Some(self.next_deadline().map_or(until, |next| next.min(until))),
            )?;
            if crate::io::now() >= until {
                return Ok(());
            }
            let update = self.update(world, budget)?;
            report.ran = report.ran.saturating_add(u64::from(update.ran));
        }
    }

    /// Spins, then sleeps, until something is ready or a timer is due.
    fn wait(&mut self, bed: &Bed, spin: &mut Spin) -> Result<(), OwnerError> {
        let core = &self.cx.core;
        if turn::is_ready(core) {
            return Ok(());
        }
        let began = crate::io::now();
        let next = self.next_deadline();
        if !spin.length().is_zero() {
            let until = super::missed::add(began, spin.length());
            let until = next.map_or(until, |next| next.min(until));
            bed.spin(core, until)?;
        }
        if !turn::is_ready(core) && next.is_none_or(|next| next > crate::io::now()) {
            bed.park(core, next)?;
        }
        spin.waited(crate::io::now().saturating_duration_since(began));
        Ok(())
    }

    /// When the next timer of the owner is due: the latest moment at which a host that sleeps should update.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.cx.core.timers.next()
    }

    /// Has `hook` called, on the thread that has something for the owner, when something becomes ready for an owner that
    /// is [armed](Self::arm). It replaces any other hook.
    pub fn on_ready(&mut self, hook: impl Fn() + Send + Sync + 'static) {
        self.cx.core.signal.set_hook(Hook::Call(Arc::new(hook)));
    }

    /// Has `waker` woken when something becomes ready for an owner that is [armed](Self::arm). It replaces any other hook.
    pub fn wake_by(&mut self, waker: Waker) {
        self.cx.core.signal.set_hook(Hook::Wake(waker));
    }

    /// A descriptor that is readable from when something becomes ready for an owner that is [armed](Self::arm) to its next
    /// update: for the host's own epoll. It replaces any other hook. With IO on threads; an inline owner's sockets wait
    /// for its updates.
    ///
    /// # Errors
    ///
    /// [`OwnerError::Descriptor`] where the system refuses one.
    #[cfg(target_os = "linux")]
    pub fn descriptor(&mut self) -> Result<Arc<std::os::fd::OwnedFd>, OwnerError> {
        let signal = &self.cx.core.signal;
        if let Some(descriptor) = signal.descriptor() {
            return Ok(descriptor);
        }
        let event = super::hook::Event::new().map_err(OwnerError::Descriptor)?;
        signal.set_hook(Hook::Descriptor(Arc::new(event)));
        signal
            .descriptor()
            .ok_or_else(|| OwnerError::Descriptor(std::io::ErrorKind::NotFound.into()))
    }

    /// Asks for one call of the hook, at the next thing that becomes ready. False where something is ready already: then
    /// the host should update and not sleep, and nothing will be called. Timers call nobody: see
    /// [`next_deadline`](Self::next_deadline).
    pub fn arm(&mut self) -> bool {
        !turn::is_ready(&self.cx.core) && self.cx.core.signal.arm()
    }

    /// Waits, in any runtime, until something is ready for an update or a timer's moment, given by the runtime's own sleep,
    /// should be looked at by the caller: see [`next_deadline`](Self::next_deadline). It replaces any other hook.
    ///
    /// Dropping this future disarms the owner.
    pub fn ready(&mut self) -> Ready<'_, W> {
        Ready { owner: self }
    }

    /// What was delivered since the last call, if the owner was built to [record](Builder::record) it.
    pub fn journal(&mut self) -> Option<Journal> {
        self.cx.core.recorder.borrow_mut().take()
    }

    /// Whether a journal that is [replayed](Builder::replay) has not come to its end.
    pub fn is_replaying(&self) -> bool {
        self.cx.core.recorder.borrow_mut().peek().is_some()
    }

    /// Ends the owner in good order: refuses new work from outside, lets everything that was accepted be done, delivers
    /// it, runs the [finalisers](Cx::on_drain), and ends its own lanes; until the deadline, at which it gives up what is
    /// left and lists it. Tasks and callbacks may submit what they need to finish. Background tasks and callback timers are
    /// cancelled when it begins.
    ///
    /// A second call returns the same report. Nothing is drained where the owner is only dropped.
    ///
    /// # Errors
    ///
    /// As [`update`](Self::update); it can be called again then.
    ///
    /// # Panics
    ///
    /// As [`update`](Self::update).
    pub fn drain(&mut self, world: &mut W, deadline: Deadline) -> Result<DrainReport, OwnerError> {
        if let Some(report) = &self.drained {
            return Ok(report.clone());
        }
        let Deadline(until) = deadline;
        let began = crate::io::now();
        let core = self.cx.core.clone();
        let done_before = core.counters.ran_in_all();
        core.network.drains_until.set(Some(until));
        let mut report = DrainReport {
            cancelled: drain::begin(&core),
            ..DrainReport::default()
        };
        let bed = Bed::new();
        loop {
            let update = self.update(world, Budget::default())?;
            if update.left > 0 {
                if crate::io::now() >= until {
                    break;
                }
                continue;
            }
            if drain::unfinished(&core) == 0 {
                let next = core.finalisers.borrow_mut().pop_front();
                let closer = || core.closers.borrow_mut().pop_front();
                match next {
                    Some(finaliser) => {
                        if finaliser.start(&core) {
                            report.finalised += 1;
                        }
                        continue;
                    }
                    // Nobody uses them any more.
                    None if closer().is_some_and(|closer| closer.start(&core)) => continue,
                    None => {
                        report.finished = true;
                        break;
                    }
                }
            }
            let now = crate::io::now();
            if now >= until {
                break;
            }
            let look = super::missed::add(now, DRAIN_LOOK).min(until);
            let next = self.next_deadline().map_or(look, |next| next.min(look));
            bed.park(&core, Some(next))?;
        }
        for (_, node) in core.sources() {
            node.source
                .list_unfinished(&mut |source, label, count| report.abandon(source, label, count));
        }
        for finaliser in core.finalisers.borrow().iter() {
            report.abandon("finalisers", Some(finaliser.label), 1);
        }
        report.pools = core.closed_pools.take();
        core.counters.abandoned.set(report.abandoned_count as u64);
        report.sessions = core.network.report();
        report.done = core.counters.ran_in_all().saturating_sub(done_before);
        let lanes = core.lanes.borrow().clone();
        core.end();
        if let Some(lanes) = lanes
            && self.own_lanes
        {
            let left = until.saturating_duration_since(crate::io::now());
            let ended = lanes.block_on(lanes.shutdown(left.max(LANES_GRACE)))?;
            report.forced = ended.tasks_left;
            if core.inline {
                lanes.end_owned();
            }
        }
        report.took = crate::io::now().saturating_duration_since(began);
        self.drained = Some(report.clone());
        Ok(report)
    }
}

impl<W> Drop for Owner<W> {
    fn drop(&mut self) {
        if self.cx.core.state.get() != State::Ended {
            let core = &self.cx.core;
            let inline = core.lanes.borrow().clone().filter(|_| core.inline);
            core.end();
            // Nobody polls them any more. Tasks of sockets hold the lanes, so that both would stay.
            if let Some(lanes) = inline {
                lanes.end_owned();
            }
        }
    }
}

/// Waits until something is ready: see [`Owner::ready`].
#[derive(Debug)]
pub struct Ready<'a, W: 'static> {
    owner: &'a mut Owner<W>,
}

impl<W> Future for Ready<'_, W> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let core = &self.owner.cx.core;
        if turn::is_ready(core) {
            return Poll::Ready(());
        }
        core.signal.set_hook(Hook::Wake(cx.waker().clone()));
        if core.signal.arm() {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }
}

impl<W> Drop for Ready<'_, W> {
    fn drop(&mut self) {
        self.owner.cx.core.signal.disarm();
    }
}
