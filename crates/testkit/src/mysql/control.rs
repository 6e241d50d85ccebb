//! How a client's thread is interrupted: by KILL, and by the end of the server.

use std::net::{Shutdown, TcpStream};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A second handle of a client's socket, which ends what its thread waits for.
#[derive(Debug)]
pub(super) enum Line {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Line {
    fn cut(&self) {
        // One that is closed already needs no cutting.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            #[cfg(unix)]
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

/// What others may do to a client's thread.
#[derive(Debug)]
pub(super) struct Control {
    line: Line,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The statement that runs is to end.
    query_killed: bool,
    closed: bool,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    Out,
    Killed,
    Closed,
}

impl Control {
    pub(super) fn new(line: Line) -> Self {
        Self {
            line,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Ends the connection, and whatever its thread waits for.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
        self.line.cut();
    }

    /// Ends the statement that runs, or else the next that waits.
    pub(super) fn kill_query(&self) {
        self.lock().query_killed = true;
        self.changed.notify_all();
    }

    /// Waits for so long, or until it is interrupted.
    pub(super) fn wait(&self, time: Duration) -> Waited {
        let end = Instant::now() + time;
        let mut state = self.lock();
        loop {
            if state.closed {
                return Waited::Closed;
            }
            if std::mem::take(&mut state.query_killed) {
                return Waited::Killed;
            }
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                return Waited::Out;
            };
            state = self
                .changed
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
