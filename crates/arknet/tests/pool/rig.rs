//! Lanes of every model, whatever drives them, and waiting with a limit.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arknet::Lanes;
use arknet::pool::{Backoff, Pool, PoolConfig};

use crate::server::Server;

/// How long a case waits for what has to happen. Nothing here takes a second on an idle machine; a busy one has thirty.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// How long a poller sleeps at most before it looks whether it is still wanted.
const POLL: Duration = Duration::from_millis(20);

/// Where the pool's background work runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Model {
    Shared1,
    Shared4,
    Sharded2,
    Manual,
    Current,
}

/// A test of each named case on each lane model, as `case::model`.
macro_rules! on_all_lanes {
    ($($case:ident),* $(,)?) => {$(
        mod $case {
            on_all_lanes!(@test $case, shared_1, Shared1);
            on_all_lanes!(@test $case, shared_4, Shared4);
            on_all_lanes!(@test $case, sharded_2, Sharded2);
            on_all_lanes!(@test $case, manual, Manual);
            on_all_lanes!(@test $case, current, Current);
        }
    )*};
    (@test $case:ident, $name:ident, $model:ident) => {
        #[test]
        fn $name() {
            super::$case($crate::rig::Rig::new($crate::rig::Model::$model));
        }
    };
}

/// Lanes, and a server to connect to.
pub(crate) struct Rig {
    pub(crate) lanes: Lanes,
    pub(crate) server: Server,
    driver: Driver,
}

enum Driver {
    /// The lanes have threads.
    Lanes,
    /// The application's own runtime.
    Runtime(Option<tokio::runtime::Runtime>),
    /// Manual lanes, polled by a thread.
    Poller(#[expect(dead_code, reason = "stops the thread when dropped")] Poller),
}

impl Rig {
    pub(crate) fn new(model: Model) -> Self {
        let (lanes, driver) = start(model);
        Self {
            lanes,
            server: Server::default(),
            driver,
        }
    }

    /// A pool of connections to the server. Its pauses are short, and nothing grows old in it.
    pub(crate) fn pool(&self, config: PoolConfig) -> Pool<Server> {
        let backoff = Backoff {
            first: Duration::from_millis(2),
            max: Duration::from_millis(20),
            ..Backoff::default()
        };
        let config = config.backoff(backoff).acquire_timeout(LIMIT);
        Pool::new(self.server.clone(), config, &self.lanes).unwrap()
    }

    /// The pool gives everything back, and the lanes end in good order.
    pub(crate) fn finish(self, pool: Pool<Server>) {
        let report = wait("the pool closes", pool.close(LIMIT));
        assert!(report.finished, "{report:?}");
        let stats = pool.stats();
        assert_eq!(
            (stats.connecting, stats.idle, stats.leased, stats.ending),
            (0, 0, 0, 0)
        );
        assert_eq!(self.server.live(), 0);
        drop(pool);
        let report = wait("the lanes end", self.lanes.shutdown(LIMIT));
        assert!(report.finished, "{report:?}");
    }
}

/// Waits for a future on the calling thread, which is no lane, in no runtime of the lanes.
pub(crate) fn wait<F: Future>(what: &str, future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        tokio::time::timeout(LIMIT, future)
            .await
            .unwrap_or_else(|_| panic!("{what}: not within {LIMIT:?}"))
    })
}

/// Waits for a state that nobody announces.
pub(crate) fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is() {
        assert!(Instant::now() < deadline, "{what}: not within {LIMIT:?}");
        std::thread::yield_now();
    }
}

fn start(model: Model) -> (Lanes, Driver) {
    match model {
        Model::Shared1 => (Lanes::shared(1).unwrap(), Driver::Lanes),
        Model::Shared4 => (Lanes::shared(4).unwrap(), Driver::Lanes),
        Model::Sharded2 => (Lanes::sharded(2).unwrap(), Driver::Lanes),
        Model::Manual => {
            let lanes = Lanes::manual().unwrap();
            let poller = Poller::start(lanes.clone());
            (lanes, Driver::Poller(poller))
        }
        Model::Current => {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            let lanes = {
                let _inside = runtime.enter();
                Lanes::current().unwrap()
            };
            (lanes, Driver::Runtime(Some(runtime)))
        }
    }
}

struct Poller {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Poller {
    fn start(lanes: Lanes) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                lanes.poll_until(Instant::now() + POLL).unwrap();
            }
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take()
            && let Err(panic) = thread.join()
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        if let Driver::Runtime(runtime) = &mut self.driver
            && let Some(runtime) = runtime.take()
        {
            runtime.shutdown_background();
        }
    }
}
