//! A lane without a thread: its owner polls it.
//!
//! A runtime that is driven by yielding once delivers what has arrived one call late, because the tasks that the reactor
//! wakes run only at the next call. So the lane's tasks live in an executor that is polled right after the runtime has
//! looked at its reactor, in the same call.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, TryLockError};
use std::task::{Context, Poll};
use std::time::Instant;

use tokio::runtime::{Builder, Handle, Runtime};

use super::LanesError;
use super::executor::{Executor, Remote};

#[derive(Clone)]
pub(super) struct Manual {
    core: Arc<Mutex<Core>>,
    remote: Arc<Remote>,
    handle: Handle,
}

struct Core {
    // Dropped before the runtime that it is registered with.
    executor: Executor,
    alarm: Alarm,
    runtime: Background,
}

/// A runtime that is dropped without waiting for its blocking threads: inside of another runtime, waiting would panic.
struct Background(Option<Runtime>);

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Manual {
    pub(super) fn new() -> Result<Self, LanesError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(LanesError::Start)?;
        let executor = {
            let _inside = runtime.enter();
            Executor::new().map_err(LanesError::Start)?
        };
        let remote = executor.remote().clone();
        let handle = runtime.handle().clone();
        let core = Core {
            executor,
            alarm: Alarm::default(),
            runtime: Background(Some(runtime)),
        };
        Ok(Self {
            core: Arc::new(Mutex::new(core)),
            remote,
            handle,
        })
    }

    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(super) fn remote(&self) -> &Arc<Remote> {
        &self.remote
    }

    pub(super) fn poll(&self) -> Result<(), LanesError> {
        self.drive(async |executor, _| {
            // The runtime looks at its reactor and its timers while this yields.
            tokio::task::yield_now().await;
            poll_fn(|cx| {
                executor.poll(cx);
                Poll::Ready(())
            })
            .await;
        })
    }

    pub(super) fn poll_until(&self, deadline: Instant) -> Result<(), LanesError> {
        self.drive(async |executor, alarm| {
            alarm.set(deadline);
            poll_fn(|cx| {
                executor.poll(cx);
                // Registered after the run, so that the alarm is looked at whatever woke us.
                if alarm.poll(cx).is_ready() || crate::io::now() >= deadline {
                    return Poll::Ready(());
                }
                Poll::Pending
            })
            .await;
        })
    }

    #[cfg(feature = "owner")]
    pub(super) fn wait(
        &self,
        deadline: Option<Instant>,
        mut until: impl FnMut(&mut Context<'_>) -> bool,
    ) -> Result<(), LanesError> {
        self.drive(async |executor, alarm| {
            if let Some(deadline) = deadline {
                alarm.set(deadline);
            }
            poll_fn(|cx| {
                executor.poll(cx);
                // Registered after the run, so that the alarm is looked at whatever woke us.
                let late = deadline.is_some_and(|deadline| {
                    alarm.poll(cx).is_ready() || crate::io::now() >= deadline
                });
                if until(cx) || late {
                    return Poll::Ready(());
                }
                Poll::Pending
            })
            .await;
        })
    }

    /// Drops all tasks: what they hold may hold the lane, which nobody polls any more.
    #[cfg(feature = "owner")]
    pub(super) fn end(&self) {
        let mut core = match self.core.try_lock() {
            Ok(core) => core,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // A task of the lane does this: it ends with whoever polls it.
            Err(TryLockError::WouldBlock) => return,
        };
        core.executor.end();
    }

    pub(super) fn block_on<F: Future>(&self, future: F) -> Result<F::Output, LanesError> {
        self.drive(async |executor, _| {
            let mut future = pin!(future);
            poll_fn(|cx| {
                if let Poll::Ready(output) = future.as_mut().poll(cx) {
                    return Poll::Ready(output);
                }
                executor.poll(cx);
                // The run may have done what the future waits for without waking anybody.
                future.as_mut().poll(cx)
            })
            .await
        })
    }

    fn drive<T>(
        &self,
        turn: impl AsyncFnOnce(&mut Executor, &mut Alarm) -> T,
    ) -> Result<T, LanesError> {
        if Handle::try_current().is_ok() {
            return Err(LanesError::InsideRuntime);
        }
        let mut core = match self.core.try_lock() {
            Ok(core) => core,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(LanesError::Busy),
        };
        let Core {
            executor,
            alarm,
            runtime,
        } = &mut *core;
        let turn = async {
            let output = turn(executor, alarm).await;
            // tokio keeps the wakers of tasks that yielded until its scheduler's next round, and drops them with the end
            // of `block_on`: without one more round those tasks would never run again.
            tokio::task::yield_now().await;
            output
        };
        let Background(Some(runtime)) = runtime else {
            return Err(LanesError::Busy);
        };
        Ok(runtime.block_on(tokio::task::coop::unconstrained(turn)))
    }
}

/// Wakes a sleeping `poll_until` at its deadline, more precisely than the runtime's millisecond timers where there is a
/// better one.
#[derive(Default)]
struct Alarm {
    #[cfg(target_os = "linux")]
    timer: Option<tokio::io::unix::AsyncFd<Arc<std::os::fd::OwnedFd>>>,
    sleep: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl Alarm {
    fn set(&mut self, deadline: Instant) {
        #[cfg(target_os = "linux")]
        if self.set_timer(deadline).is_ok() {
            self.sleep = None;
            return;
        }
        self.sleep = Some(Box::pin(tokio::time::sleep_until(deadline.into())));
    }

    #[cfg(target_os = "linux")]
    fn set_timer(&mut self, deadline: Instant) -> std::io::Result<()> {
        use rustix::time::{
            Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
            timerfd_settime,
        };
        if self.timer.is_none() {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            self.timer = Some(crate::io::tokio::watch(Arc::new(timer))?);
        }
        let Some(timer) = &self.timer else {
            return Ok(());
        };
        // 0 would disarm the timer; a deadline that has passed fires at once.
        let left = deadline
            .saturating_duration_since(crate::io::now())
            .max(std::time::Duration::from_nanos(1));
        let value = Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        let once = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: value,
        };
        timerfd_settime(timer.get_ref(), TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(sleep) = &mut self.sleep {
            return sleep.as_mut().poll(cx);
        }
        #[cfg(target_os = "linux")]
        if let Some(timer) = &self.timer {
            return match timer.poll_read_ready(cx) {
                Poll::Ready(Ok(mut ready)) => {
                    ready.clear_ready();
                    let mut expirations = [0; 8];
                    // Nothing to read means that it was set anew since: the caller looks at the clock.
                    let _ = rustix::io::read(timer.get_ref(), &mut expirations);
                    // Registers again, in case this was an old readiness.
                    match timer.poll_read_ready(cx) {
                        Poll::Ready(_) => {
                            cx.waker().wake_by_ref();
                            Poll::Pending
                        }
                        Poll::Pending => Poll::Pending,
                    }
                }
                Poll::Ready(Err(_)) => Poll::Ready(()),
                Poll::Pending => Poll::Pending,
            };
        }
        Poll::Pending
    }
}
