//! How an owner that runs by itself sleeps.

use std::sync::Arc;
use std::task::Context;
use std::time::{Duration, Instant};

use super::core::Core;
use super::error::OwnerError;
use super::hook::Hook;
use super::turn;
use crate::lanes::Lanes;

/// The last part of a sleep to a moment, which is spun: more than a thread needs to be woken on a quiet machine.
const FINAL_SPIN: Duration = Duration::from_micros(60);

/// What the sleeping owner is woken by, for the time of a run.
pub(crate) struct Bed {
    hook: Hook,
}

impl Bed {
    pub(crate) fn new() -> Self {
        precise_sleeps();
        let thread = std::thread::current();
        Self {
            hook: Hook::Call(Arc::new(move || thread.unpark())),
        }
    }

    /// Sleeps until something is ready, or the moment has come.
    pub(crate) fn park<W>(&self, core: &Core<W>, until: Option<Instant>) -> Result<(), OwnerError> {
        if let Some(lanes) = inline_lanes(core) {
            lanes.wait(until, |cx| is_called(core, cx))?;
            core.signal.disarm();
            return Ok(());
        }
        core.signal.set_hook(self.hook.clone());
        if !turn::is_ready(core) && core.signal.arm() {
            match until.map(|until| until.saturating_duration_since(crate::io::now())) {
                None => std::thread::park(),
                Some(left) if left.is_zero() => {}
                Some(left) => std::thread::park_timeout(left),
            }
        }
        core.signal.disarm();
        Ok(())
    }

    /// Looks for something that is ready, for as long as this.
    pub(crate) fn spin<W>(&self, core: &Core<W>, until: Instant) -> Result<(), OwnerError> {
        let lanes = inline_lanes(core);
        loop {
            if let Some(lanes) = &lanes {
                lanes.poll_owned()?;
            }
            if turn::is_ready(core) || crate::io::now() >= until {
                return Ok(());
            }
            std::hint::spin_loop();
        }
    }

    /// Sleeps to a moment, whatever becomes ready meanwhile, with the last part spun. Sockets of an inline owner are
    /// served in it.
    pub(crate) fn sleep<W>(&self, core: &Core<W>, until: Instant) -> Result<(), OwnerError> {
        let early = until.checked_sub(FINAL_SPIN).unwrap_or(until);
        let lanes = inline_lanes(core);
        let left = early.saturating_duration_since(crate::io::now());
        if !left.is_zero() {
            match &lanes {
                Some(lanes) => lanes.wait(Some(early), |_| false)?,
                None => std::thread::sleep(left),
            }
        }
        while crate::io::now() < until {
            match &lanes {
                Some(lanes) => lanes.poll_owned()?,
                None => std::hint::spin_loop(),
            }
        }
        Ok(())
    }
}

fn inline_lanes<W>(core: &Core<W>) -> Option<Lanes> {
    if core.inline {
        core.lanes.borrow().clone()
    } else {
        None
    }
}

/// Whether there is something; otherwise whoever has it next wakes `cx`.
fn is_called<W>(core: &Core<W>, cx: &Context<'_>) -> bool {
    if turn::is_ready(core) {
        return true;
    }
    core.signal.set_hook(Hook::Wake(cx.waker().clone()));
    !core.signal.arm()
}

/// Asks for sleeps of this thread to end when they should, and not up to 50 µs later. Refused, they are a little late.
fn precise_sleeps() {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    }
}
