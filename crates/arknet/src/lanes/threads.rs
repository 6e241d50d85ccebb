//! Lanes with threads of their own, in tokio runtimes.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;
use tokio::task::coop::unconstrained;

use super::executor::{Executor, Remote};
use super::{LanesError, Place, lock, spin};

/// One runtime with several threads, or lanes with one each.
pub(super) enum Threads {
    /// tokio's multi-thread scheduler. It is taken when it ends.
    Pool {
        handle: Handle,
        runtime: Mutex<Option<Runtime>>,
    },
    /// A thread with a runtime and an executor for each lane; each ends when the sender says so or is gone.
    Single {
        lanes: Vec<Thread>,
        stop: watch::Sender<bool>,
        shared: bool,
    },
}

pub(super) struct Thread {
    handle: Handle,
    remote: Arc<Remote>,
}

impl Threads {
    /// One scheduler. With one thread it is a lane, which is cheaper than a pool of one.
    pub(super) fn shared(threads: usize) -> Result<Self, LanesError> {
        if threads == 1 {
            return Self::single(1, true);
        }
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("arknet-lane")
            .enable_all()
            .build()
            .map_err(LanesError::Start)?;
        Ok(Self::Pool {
            handle: runtime.handle().clone(),
            runtime: Mutex::new(Some(runtime)),
        })
    }

    /// A lane for each thread.
    pub(super) fn sharded(threads: usize) -> Result<Self, LanesError> {
        Self::single(threads, false)
    }

    fn single(threads: usize, shared: bool) -> Result<Self, LanesError> {
        let (stop, stopped) = watch::channel(false);
        let lanes = (0..threads)
            .map(|index| start(index, stopped.clone()))
            .collect::<io::Result<_>>()
            .map_err(LanesError::Start)?;
        Ok(Self::Single {
            lanes,
            stop,
            shared,
        })
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Pool { .. } | Self::Single { shared: true, .. } => "shared",
            Self::Single { shared: false, .. } => "sharded",
        }
    }

    pub(super) fn schedulers(&self) -> usize {
        match self {
            Self::Pool { .. } => 1,
            Self::Single { lanes, .. } => lanes.len(),
        }
    }

    pub(super) fn place(&self, index: usize) -> Place {
        match self {
            Self::Pool { handle, .. } => Place::Runtime(handle.clone()),
            Self::Single { lanes, .. } => {
                Place::Executor(lanes[index % lanes.len()].remote.clone())
            }
        }
    }

    pub(super) fn can_spin(&self) -> bool {
        matches!(self, Self::Single { .. })
    }

    /// Keeps each lane awake for a while after its last work.
    pub(super) fn spin(&self, duration: Duration) {
        if let Self::Single { lanes, .. } = self {
            for lane in lanes {
                lane.handle.spawn(spin::spin(duration));
            }
        }
    }

    /// The first lane's runtime.
    pub(super) fn handle(&self) -> &Handle {
        match self {
            Self::Pool { handle, .. } => handle,
            Self::Single { lanes, .. } => &lanes[0].handle,
        }
    }

    /// Waits for a future on the calling thread, with the first lane's timers and sockets at hand.
    pub(super) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.handle().block_on(future)
    }

    /// Ends the threads in the background. Tasks that are left are dropped there.
    pub(super) fn stop(&self) {
        match self {
            Self::Pool { runtime, .. } => {
                if let Some(runtime) = lock(runtime).take() {
                    runtime.shutdown_background();
                }
            }
            Self::Single { stop, .. } => drop(stop.send_replace(true)),
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop();
    }
}

fn start(index: usize, stopped: watch::Receiver<bool>) -> io::Result<Thread> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let executor = {
        let _inside = runtime.enter();
        Executor::new()?
    };
    let remote = executor.remote().clone();
    std::thread::Builder::new()
        .name(format!("arknet-lane-{index}"))
        .spawn(move || {
            runtime.block_on(unconstrained(run(executor, stopped)));
            runtime.shutdown_background();
        })?;
    Ok(Thread { handle, remote })
}

/// Runs a lane until it is to stop; an error means that the sender is gone, which stops it as well.
async fn run(mut executor: Executor, mut stopped: watch::Receiver<bool>) {
    let mut stopped = pin!(stopped.wait_for(|stop| *stop));
    poll_fn(|cx| {
        if stopped.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        executor.poll(cx);
        Poll::Pending
    })
    .await;
}
