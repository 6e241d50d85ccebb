//! Ending an endpoint in good order.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared as SharedFuture};

use crate::lanes::{Lanes, LanesError, lock};

/// What a shutdown found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Sessions that had handed over all they had accepted, and ended with both sides' agreement.
    pub closed: usize,
    /// Sessions that were cut at the deadline, or had failed by then.
    pub forced: usize,
    /// Payload bytes that sessions had accepted and could not hand over, over the endpoint's whole life.
    pub dropped_bytes: u64,
    /// Messages that sessions had accepted and could not hand over, over the endpoint's whole life.
    pub dropped_messages: u64,
    /// Sessions whose handler or task did not end after it had been cut, because it blocks its lane.
    pub stuck: usize,
}

/// A shutdown that is under way. It goes on whether this is awaited or dropped.
///
/// ```
/// use std::time::Duration;
/// use arknet::tcp::{Server, ServerConfig};
/// use arknet::{Lanes, Session};
///
/// let lanes = Lanes::sharded(1)?;
/// let quiet = |_: &Session| |_: &mut Session, _: &[u8]| {};
/// let server = Server::start(&lanes, "127.0.0.1:0", ServerConfig::new(), quiet)?;
///
/// // On a thread of your own: wait. In async code: await.
/// let report = server.shutdown(Duration::from_secs(5)).wait()?;
/// assert_eq!((report.forced, report.dropped_messages), (0, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use = "the shutdown goes on by itself; await it for its report"]
pub struct Shutdown {
    done: SharedFuture<BoxFuture<'static, Arc<ShutdownReport>>>,
    lanes: Lanes,
}

impl Shutdown {
    /// Waits for the report on the calling thread; manual lanes are polled meanwhile.
    ///
    /// # Errors
    ///
    /// [`LanesError::InsideRuntime`] in a callback or task, where waiting would block the lane. The shutdown goes on.
    pub fn wait(self) -> Result<ShutdownReport, LanesError> {
        let lanes = self.lanes.clone();
        lanes.block_on(self)
    }
}

impl Future for Shutdown {
    type Output = ShutdownReport;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<ShutdownReport> {
        self.done.poll_unpin(cx).map(|report| (*report).clone())
    }
}

impl std::fmt::Debug for Shutdown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shutdown")
    }
}

/// Makes the first shutdown the only one: later calls wait for the same report.
#[derive(Debug, Default)]
pub(super) struct Once(Mutex<Option<Shutdown>>);

impl Once {
    /// The shutdown that is under way, or the one that `start` makes and that runs on `lanes`.
    pub(super) fn begin<F>(&self, lanes: &Lanes, start: impl FnOnce() -> F) -> Shutdown
    where
        F: Future<Output = ShutdownReport> + Send + 'static,
    {
        lock(&self.0)
            .get_or_insert_with(|| {
                let (report, reported) = tokio::sync::oneshot::channel();
                let work = start();
                lanes.spawn(async move {
                    // Nobody may be waiting.
                    let _ = report.send(work.await);
                });
                // Lanes that end first take the report with them.
                let done = reported
                    .map(|report| Arc::new(report.unwrap_or_default()))
                    .boxed();
                Shutdown {
                    done: done.shared(),
                    lanes: lanes.clone(),
                }
            })
            .clone()
    }
}
