//! Where the tasks of a run are: a tokio runtime, or lanes of ours.

use std::future::Future;

use arknet::Lanes;
use tokio::runtime::{Builder, Runtime};

use crate::failure::Failure;

/// An executor with threads of a known number.
#[derive(Debug)]
pub(crate) enum Place {
    /// What every peer is made for.
    Tokio(Runtime),
    /// Threads of ours.
    Lanes(Lanes),
}

impl Place {
    /// A tokio runtime: current-thread for one thread, multi-thread otherwise.
    ///
    /// # Errors
    ///
    /// When the system refuses it.
    pub(crate) fn tokio(threads: usize) -> Result<Self, Failure> {
        let mut builder = match threads {
            1 => Builder::new_current_thread(),
            _ => Builder::new_multi_thread(),
        };
        let runtime = builder.worker_threads(threads).enable_all().build();
        runtime
            .map(Self::Tokio)
            .map_err(Failure::io("starting a runtime"))
    }

    /// Lanes of ours, one scheduler on so many threads.
    ///
    /// # Errors
    ///
    /// When the system refuses them.
    pub(crate) fn lanes(threads: usize) -> Result<Self, Failure> {
        let lanes = Lanes::shared(threads);
        lanes
            .map(Self::Lanes)
            .map_err(Failure::library("starting lanes"))
    }

    /// Runs a future to its end on the calling thread; tasks run meanwhile.
    ///
    /// # Errors
    ///
    /// With the future's own.
    pub(crate) fn block_on<T>(
        &self,
        future: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        match self {
            Self::Tokio(runtime) => runtime.block_on(future),
            Self::Lanes(lanes) => lanes
                .block_on(future)
                .map_err(Failure::library("waiting for lanes"))?,
        }
    }

    /// Starts a task.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        match self {
            Self::Tokio(runtime) => drop(runtime.spawn(future)),
            Self::Lanes(lanes) => lanes.spawn(future),
        }
    }
}
