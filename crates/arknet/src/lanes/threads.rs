//! Lanes with threads of their own, on tokio runtimes.

use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;

use super::{LanesError, lock};

/// One runtime with several threads, or several with one each.
pub(super) struct Threads {
    handles: Vec<Handle>,
    engine: Engine,
}

enum Engine {
    /// tokio's multi-thread scheduler. It is taken when it ends.
    Pool(Mutex<Option<Runtime>>),
    /// A current-thread runtime per thread; each ends when the sender says so or is gone.
    Single {
        stop: watch::Sender<bool>,
        shared: bool,
    },
}

impl Threads {
    /// One scheduler. With one thread it is a current-thread runtime, which is cheaper than a pool of one.
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
        let handles = vec![runtime.handle().clone()];
        Ok(Self {
            handles,
            engine: Engine::Pool(Mutex::new(Some(runtime))),
        })
    }

    /// A scheduler for each thread.
    pub(super) fn sharded(threads: usize) -> Result<Self, LanesError> {
        Self::single(threads, false)
    }

    fn single(threads: usize, shared: bool) -> Result<Self, LanesError> {
        let (stop, stopped) = watch::channel(false);
        let mut handles = Vec::with_capacity(threads);
        for index in 0..threads {
            handles.push(start(index, stopped.clone()).map_err(LanesError::Start)?);
        }
        Ok(Self {
            handles,
            engine: Engine::Single { stop, shared },
        })
    }

    pub(super) fn name(&self) -> &'static str {
        match self.engine {
            Engine::Pool(_) | Engine::Single { shared: true, .. } => "shared",
            Engine::Single { shared: false, .. } => "sharded",
        }
    }

    pub(super) fn schedulers(&self) -> usize {
        self.handles.len()
    }

    pub(super) fn handles(&self) -> &[Handle] {
        &self.handles
    }

    pub(super) fn handle(&self, index: usize) -> Handle {
        self.handles[index % self.handles.len()].clone()
    }

    pub(super) fn can_spin(&self) -> bool {
        matches!(self.engine, Engine::Single { .. })
    }

    /// Waits for a future on the calling thread, with the first lane's timers and sockets at hand.
    pub(super) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.handles[0].block_on(future)
    }

    /// Ends the threads in the background. Tasks that are left are dropped there.
    pub(super) fn stop(&self) {
        match &self.engine {
            Engine::Pool(runtime) => {
                if let Some(runtime) = lock(runtime).take() {
                    runtime.shutdown_background();
                }
            }
            Engine::Single { stop, .. } => drop(stop.send_replace(true)),
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop();
    }
}

fn start(index: usize, mut stopped: watch::Receiver<bool>) -> io::Result<Handle> {
    let runtime = Arc::new(Builder::new_current_thread().enable_all().build()?);
    let handle = runtime.handle().clone();
    std::thread::Builder::new()
        .name(format!("arknet-lane-{index}"))
        .spawn(move || {
            // An error means that the sender is gone, which ends the lane as well.
            runtime.block_on(async { drop(stopped.wait_for(|stop| *stop).await) });
            if let Ok(runtime) = Arc::try_unwrap(runtime) {
                runtime.shutdown_background();
            }
        })?;
    Ok(handle)
}
