//! A lane without a thread: its owner polls it.
//!
//! A runtime that is driven by yielding once delivers what has arrived one call late, because the tasks that the reactor
//! wakes run only at the next call. So the lane's tasks live in a set of their own that is polled right after the
//! reactor, in the same call.

use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, TryLockError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::runtime::{Builder, Runtime};

use super::{LanesError, lock};

/// The most task turns of one poll. What is left runs in the next one, so that a task that wakes itself for ever cannot
/// hold the owner.
const TURNS_PER_POLL: usize = 1024;

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

#[derive(Clone)]
pub(crate) struct Manual {
    shared: Arc<Shared>,
}

struct Shared {
    core: Mutex<Core>,
    inbox: Mutex<Inbox>,
}

/// What has been spawned and not been taken in, and whom to wake for it.
#[derive(Default)]
struct Inbox {
    tasks: Vec<Task>,
    driver: Option<Waker>,
}

struct Core {
    runtime: Runtime,
    set: Set,
}

struct Set {
    tasks: FuturesUnordered<Task>,
    alarm: Alarm,
}

impl std::fmt::Debug for Manual {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Manual")
    }
}

impl Manual {
    pub(super) fn new() -> Result<Self, LanesError> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(LanesError::Start)?;
        let set = Set {
            tasks: FuturesUnordered::new(),
            alarm: Alarm::default(),
        };
        let core = Mutex::new(Core { runtime, set });
        Ok(Self {
            shared: Arc::new(Shared {
                core,
                inbox: Mutex::default(),
            }),
        })
    }

    pub(super) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        // A task that panics is its own business, as it is on a lane with a thread: the owner's loop goes on.
        let contained = AssertUnwindSafe(future).catch_unwind().map(|ended| {
            if ended.is_err() {
                tracing::error!("a task of a manual lane panicked");
            }
        });
        let driver = {
            let mut inbox = lock(&self.shared.inbox);
            inbox.tasks.push(Box::pin(contained));
            inbox.driver.take()
        };
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    pub(super) fn poll(&self) -> Result<(), LanesError> {
        self.drive(async |set, inbox| {
            // The reactor looks at its sockets while the first poll yields.
            tokio::task::yield_now().await;
            poll_fn(|cx| {
                set.run(cx, inbox);
                Poll::Ready(())
            })
            .await;
        })
    }

    pub(super) fn poll_until(&self, deadline: Instant) -> Result<(), LanesError> {
        self.drive(async |set, inbox| {
            set.alarm.set(deadline);
            poll_fn(|cx| {
                set.run(cx, inbox);
                // Registered after the run, so that the alarm is looked at whatever woke us.
                if set.alarm.poll(cx).is_ready() || crate::io::now() >= deadline {
                    return Poll::Ready(());
                }
                Poll::Pending
            })
            .await;
        })
    }

    pub(super) fn block_on<F: Future>(&self, future: F) -> Result<F::Output, LanesError> {
        self.drive(async |set, inbox| {
            let mut future = pin!(future);
            poll_fn(|cx| {
                if let Poll::Ready(output) = future.as_mut().poll(cx) {
                    return Poll::Ready(output);
                }
                set.run(cx, inbox);
                // The run may have done what the future waits for without waking anybody.
                future.as_mut().poll(cx)
            })
            .await
        })
    }

    fn drive<T>(
        &self,
        turn: impl AsyncFnOnce(&mut Set, &Mutex<Inbox>) -> T,
    ) -> Result<T, LanesError> {
        if tokio::runtime::Handle::try_current().is_ok() {
            return Err(LanesError::InsideRuntime);
        }
        let mut core = match self.shared.core.try_lock() {
            Ok(core) => core,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(LanesError::Busy),
        };
        let Core { runtime, set } = &mut *core;
        Ok(runtime.block_on(turn(set, &self.shared.inbox)))
    }
}

impl Set {
    /// Takes in what was spawned and polls what is ready, up to the bound.
    fn run(&mut self, cx: &mut Context<'_>, inbox: &Mutex<Inbox>) {
        for _ in 0..TURNS_PER_POLL {
            self.take_in(cx, inbox);
            match self.tasks.poll_next_unpin(cx) {
                Poll::Ready(Some(())) => {}
                // The set yields by itself after a round of its tasks, and then wakes us.
                Poll::Ready(None) | Poll::Pending => return,
            }
        }
        cx.waker().wake_by_ref();
    }

    fn take_in(&mut self, cx: &Context<'_>, inbox: &Mutex<Inbox>) {
        let mut inbox = lock(inbox);
        self.tasks.extend(inbox.tasks.drain(..));
        inbox.driver = Some(cx.waker().clone());
    }
}

/// Wakes a sleeping `poll_until` at its deadline, more precisely than the runtime's millisecond timers where there is a
/// better one.
#[derive(Default)]
struct Alarm {
    #[cfg(target_os = "linux")]
    timer: Option<tokio::io::unix::AsyncFd<std::os::fd::OwnedFd>>,
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
            // SAFETY: the descriptor is owned by the `AsyncFd`, which nobody takes it from, so it stays open and the
            // same until it is deregistered.
            let timer = unsafe { tokio::io::unix::AsyncFd::register(timer) };
            self.timer = Some(timer.map_err(std::io::Error::from)?);
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
