//! A thread that a server's process belongs to.
//!
//! A child dies with the *thread* that spawned it. A server that several tests of one process share
//! must outlive the test that was first, so a thread of its own spawns it and waits.

use std::io;
use std::process::Command;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use crate::process::Peer;

/// A running server process, killed and waited for when dropped.
#[derive(Debug)]
pub(super) struct Keeper {
    peer: Peer,
    /// Nothing is ever sent: dropping it lets the thread end.
    release: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    pub(super) fn spawn(command: Command) -> io::Result<Self> {
        let (release, released) = mpsc::channel::<()>();
        let (hand_over, spawned) = mpsc::sync_channel(1);
        let thread = thread::Builder::new()
            .name("server-keeper".to_owned())
            .spawn(move || {
                // Whoever waits for it is still there, or wants it no more.
                let _ = hand_over.send(Peer::spawn(command));
                let _ = released.recv();
            })?;
        let peer = spawned
            .recv()
            .unwrap_or_else(|_| Err(io::Error::other("start server: its thread ended")))?;
        Ok(Self {
            peer,
            release: Some(release),
            thread: Some(thread),
        })
    }

    pub(super) fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Sends a signal to the server's process alone.
    #[cfg(unix)]
    pub(super) fn signal(&self, signal: libc::c_int) -> io::Result<()> {
        let id = libc::pid_t::try_from(self.peer.id()).unwrap_or_default();
        if id <= 0 {
            return Err(io::Error::other("it has no id"));
        }
        // SAFETY: `kill` touches no memory; the child has not been waited for, so that the id is its own.
        match unsafe { libc::kill(id, signal) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.peer.kill();
        self.release = None;
        if let Some(thread) = self.thread.take() {
            // It cannot have panicked: it only waits.
            let _ = thread.join();
        }
    }
}
