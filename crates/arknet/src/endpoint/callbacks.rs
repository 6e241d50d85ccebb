//! The driver of a session with callbacks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};

use arknet_proto::session::{Event, State};

use super::core::{Core, Read};
use super::error::CloseReason;
use super::handler::Handler;
use super::timers::Action;
use crate::drive::stream::{MESSAGES_PER_TURN, READS_PER_TURN};
use crate::io::now;

/// Rounds of flushing and telling at the end of a turn: an answer to a completion leaves in the same turn, but a handler
/// that always sends on completion does not hold the lane.
const SETTLES_PER_TURN: usize = 4;

/// Drives a session until it has closed, and the handler knows. The task's waker must be the same at every poll.
pub(super) fn poll_session<H: Handler>(
    core: &mut Core,
    handler: &mut H,
    cx: &mut Context<'_>,
) -> Poll<CloseReason> {
    let turn = catch_unwind(AssertUnwindSafe(|| {
        core.begin(cx);
        turn(core, handler, cx)
    }));
    match turn {
        Ok(poll) => {
            core.publish();
            poll
        }
        Err(panic) => {
            core.session.panicked(&*panic);
            closed_by_panic(core, handler)
        }
    }
}

/// The handler panicked: it hears of the end, once, and its reason.
#[cold]
fn closed_by_panic<H: Handler>(core: &mut Core, handler: &mut H) -> Poll<CloseReason> {
    while let Some(event) = core.session.engine_mut().poll_event() {
        let Event::Closed { cause, .. } = event else {
            continue;
        };
        return Poll::Ready(close(core, handler, cause));
    }
    // It panicked while it heard of the end.
    Poll::Ready(core.session.reason(arknet_proto::session::Cause::Fault))
}

fn turn<H: Handler>(core: &mut Core, handler: &mut H, cx: &mut Context<'_>) -> Poll<CloseReason> {
    if let Some(reason) = tell(core, handler) {
        return Poll::Ready(reason);
    }
    let mut budget = MESSAGES_PER_TURN;
    if !core.inbound.is_empty() && !core.session.is_reading_paused() {
        deliver(core, handler, &mut budget);
    }
    core.session.flush(cx);
    for reads in 1.. {
        if budget == 0 || reads > READS_PER_TURN {
            cx.waker().wake_by_ref();
            break;
        }
        if !core.is_reading() {
            break;
        }
        match core.poll_read(cx) {
            Poll::Ready(Read::Some) => deliver(core, handler, &mut budget),
            Poll::Ready(Read::End) => {
                core.check_end();
                if core.state() == State::Open {
                    handler.on_end(&mut core.session);
                }
            }
            Poll::Ready(Read::Fault) | Poll::Pending => break,
        }
        core.session.flush(cx);
    }
    settle(core, handler, cx)
}

/// Gives whole messages to the handler, up to the budget.
#[inline]
fn deliver<H: Handler>(core: &mut Core, handler: &mut H, budget: &mut usize) {
    while *budget > 0 {
        let Some(range) = core.next_message() else {
            break;
        };
        *budget -= 1;
        handler.on_message(&mut core.session, core.inbound.message(range));
        if core.state() != State::Open {
            // Closed from within: what else has arrived is discarded.
            core.inbound.discard();
            return;
        }
        if core.session.is_reading_paused() {
            break;
        }
    }
    core.inbound.settle();
}

/// Flushes, completes, tells and looks at the clock, until nothing is left to do or the bound is reached.
#[inline]
fn settle<H: Handler>(core: &mut Core, handler: &mut H, cx: &mut Context<'_>) -> Poll<CloseReason> {
    for _ in 0..SETTLES_PER_TURN {
        let mut busy = core.session.complete();
        if core.poll_deadline(cx).is_ready() {
            busy = true;
            core.tick();
            run_timers(core, handler);
        }
        if let Some(reason) = tell(core, handler) {
            return Poll::Ready(reason);
        }
        core.session.flush(cx);
        if !busy && !core.session.engine().has_news() {
            return Poll::Pending;
        }
    }
    cx.waker().wake_by_ref();
    Poll::Pending
}

/// Tells the handler what happened. The reason comes back when the session has closed.
#[inline]
fn tell<H: Handler>(core: &mut Core, handler: &mut H) -> Option<CloseReason> {
    while let Some(event) = core.session.engine_mut().poll_event() {
        match event {
            Event::Opened => handler.on_open(&mut core.session),
            Event::Writable => handler.on_writable(&mut core.session),
            Event::Closed { cause, .. } => return Some(close(core, handler, cause)),
        }
    }
    None
}

#[cold]
fn close<H: Handler>(
    core: &mut Core,
    handler: &mut H,
    cause: arknet_proto::session::Cause,
) -> CloseReason {
    core.publish();
    core.inbound.reset();
    let reason = core.session.reason(cause);
    // Completions first: `on_close` is the last thing that a session does.
    core.session.abandon();
    let told = catch_unwind(AssertUnwindSafe(|| {
        handler.on_close(&mut core.session, &reason);
    }));
    if let Err(panic) = told {
        core.session.panicked(&*panic);
    }
    reason
}

fn run_timers<H: Handler>(core: &mut Core, handler: &mut H) {
    let at = now();
    while core.state() != State::Closed {
        let Some((key, action, every)) = core.session.poll_timer(at) else {
            break;
        };
        match action {
            Action::Tell => handler.on_timer(&mut core.session, key),
            Action::Run(mut run) => {
                run(&mut core.session);
                if every.is_some() {
                    core.session.keep_timer(&key, Action::Run(run));
                }
            }
        }
    }
}
