//! A server in memory, which counts its connections and does what a case wants of it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arknet::pool::{Manager, Reset};

/// Refused, with a number that grows.
#[derive(Clone, Debug, thiserror::Error, Eq, PartialEq)]
#[error("refusal {0}")]
pub(crate) struct Refused(pub(crate) usize);

/// What the server does with the next things that are asked of it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Mood {
    #[default]
    Good,
    /// No connection is made.
    Refuses,
    /// No connect ever ends.
    Hangs,
    ConnectPanics,
    ResetPanics,
    CheckPanics,
    DropPanics,
    FarewellPanics,
    FarewellHangs,
}

#[derive(Clone, Default)]
pub(crate) struct Server(Arc<State>);

#[derive(Default)]
struct State {
    mood: Mutex<Mood>,
    live: AtomicUsize,
    most: AtomicUsize,
    connects: AtomicUsize,
    resets: AtomicUsize,
    farewells: AtomicUsize,
    /// Connections with a number below this are dead.
    dead_below: AtomicUsize,
    /// What a reset says.
    discards: AtomicBool,
    /// Connects refused before the first that is not.
    refusals: AtomicUsize,
}

/// A connection that notices when two use it.
pub(crate) struct Connection {
    pub(crate) number: usize,
    pub(crate) idle: Option<Duration>,
    in_use: AtomicBool,
    server: Server,
}

impl Server {
    pub(crate) fn set(&self, mood: Mood) {
        *self.0.mood.lock().unwrap() = mood;
    }

    fn is(&self, mood: Mood) -> bool {
        *self.0.mood.lock().unwrap() == mood
    }

    /// Refuses so many connects.
    pub(crate) fn refuse(&self, connects: usize) {
        self.0.refusals.store(connects, Ordering::Relaxed);
    }

    /// All connections are dead from now on.
    pub(crate) fn kill_all(&self) {
        let connects = self.0.connects.load(Ordering::Relaxed);
        self.0.dead_below.store(connects, Ordering::Relaxed);
    }

    pub(crate) fn set_discards(&self, discards: bool) {
        self.0.discards.store(discards, Ordering::Relaxed);
    }

    /// Connections that there are.
    pub(crate) fn live(&self) -> usize {
        self.0.live.load(Ordering::Relaxed)
    }

    /// The most that there were.
    pub(crate) fn most(&self) -> usize {
        self.0.most.load(Ordering::Relaxed)
    }

    pub(crate) fn connects(&self) -> usize {
        self.0.connects.load(Ordering::Relaxed)
    }

    pub(crate) fn resets(&self) -> usize {
        self.0.resets.load(Ordering::Relaxed)
    }

    pub(crate) fn farewells(&self) -> usize {
        self.0.farewells.load(Ordering::Relaxed)
    }
}

impl Connection {
    /// Begins to use it: nobody else does.
    pub(crate) fn begin(&self) {
        assert!(
            !self.in_use.swap(true, Ordering::AcqRel),
            "two have one connection"
        );
    }

    pub(crate) fn end(&self) {
        assert!(self.in_use.swap(false, Ordering::AcqRel));
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.server.0.live.fetch_sub(1, Ordering::Relaxed);
        if self.server.is(Mood::DropPanics) {
            panic!("a drop that panics, on purpose");
        }
    }
}

impl Manager for Server {
    type Connection = Connection;
    type Error = Refused;

    async fn connect(&self, deadline: Instant) -> Result<Connection, Refused> {
        assert!(deadline > Instant::now());
        let number = self.0.connects.fetch_add(1, Ordering::Relaxed);
        // As a connection over a network, it is not there at once.
        tokio::task::yield_now().await;
        let refuse = |left: usize| left.checked_sub(1);
        let refusals = &self.0.refusals;
        let refused = refusals.fetch_update(Ordering::Relaxed, Ordering::Relaxed, refuse);
        if refused.is_ok() || self.is(Mood::Refuses) {
            return Err(Refused(number));
        }
        if self.is(Mood::Hangs) {
            std::future::pending::<()>().await;
        }
        if self.is(Mood::ConnectPanics) {
            panic!("a connect that panics, on purpose");
        }
        let live = self.0.live.fetch_add(1, Ordering::Relaxed) + 1;
        self.0.most.fetch_max(live, Ordering::Relaxed);
        Ok(Connection {
            number,
            idle: None,
            in_use: AtomicBool::new(false),
            server: self.clone(),
        })
    }

    fn reset(&self, connection: &mut Connection) -> Reset {
        self.0.resets.fetch_add(1, Ordering::Relaxed);
        connection.in_use.store(false, Ordering::Release);
        if self.is(Mood::ResetPanics) {
            panic!("a reset that panics, on purpose");
        }
        match self.0.discards.load(Ordering::Relaxed) {
            true => Reset::Discard,
            false => Reset::Clean,
        }
    }

    fn is_reusable(&self, connection: &mut Connection, idle: Duration) -> bool {
        if self.is(Mood::CheckPanics) {
            panic!("a check that panics, on purpose");
        }
        connection.idle = Some(idle);
        connection.number >= self.0.dead_below.load(Ordering::Relaxed)
    }

    async fn farewell(&self, connection: Connection) {
        self.0.farewells.fetch_add(1, Ordering::Relaxed);
        if self.is(Mood::FarewellPanics) {
            panic!("a farewell that panics, on purpose");
        }
        if self.is(Mood::FarewellHangs) {
            std::future::pending::<()>().await;
        }
        tokio::task::yield_now().await;
        drop(connection);
    }
}
