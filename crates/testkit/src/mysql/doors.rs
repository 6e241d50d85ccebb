//! Where clients come in: TCP, and a Unix socket.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
#[cfg(unix)]
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::channel::Socket;
use super::client::serve;
use super::hub::Hub;

/// A listener, and the thread that lets its clients in.
#[derive(Debug)]
pub(super) struct Door {
    thread: Option<JoinHandle<()>>,
}

enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(UnixListener),
}

impl Listener {
    fn accept(&self) -> io::Result<Socket> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                Ok(Socket::Tcp(stream))
            }
            #[cfg(unix)]
            Self::Unix(listener) => Ok(Socket::Unix(listener.accept()?.0)),
        }
    }
}

impl Door {
    pub(super) fn tcp(hub: &Arc<Hub>) -> io::Result<(Self, SocketAddr)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let addr = listener.local_addr()?;
        Ok((Self::open(Listener::Tcp(listener), Arc::clone(hub))?, addr))
    }

    #[cfg(unix)]
    pub(super) fn unix(hub: &Arc<Hub>, path: &Path) -> io::Result<Self> {
        let listener = UnixListener::bind(path)?;
        Self::open(Listener::Unix(listener), Arc::clone(hub))
    }

    fn open(listener: Listener, hub: Arc<Hub>) -> io::Result<Self> {
        let thread = thread::Builder::new()
            .name("embedded-mysql-door".to_owned())
            .spawn(move || let_in(&listener, &hub))?;
        Ok(Self {
            thread: Some(thread),
        })
    }

    /// Waits for the thread, which a last guest has told to look whether the server ends.
    pub(super) fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            // Its panic has been printed.
            let _ = thread.join();
        }
    }
}

/// Comes in for a moment, so that a thread that waits for clients looks around.
pub(super) fn knock(addr: SocketAddr, path: &Path) {
    // Where nobody listens, nobody waits.
    let _ = TcpStream::connect(addr);
    #[cfg(unix)]
    let _ = UnixStream::connect(path);
    #[cfg(not(unix))]
    let _ = path;
}

fn let_in(listener: &Listener, hub: &Arc<Hub>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    while let Some(socket) = next(listener) {
        if hub.is_ending() {
            break;
        }
        let hub = Arc::clone(hub);
        let spawned = thread::Builder::new()
            .name("embedded-mysql".to_owned())
            .spawn(move || serve(&hub, socket));
        // Where there is no thread left, the client sees its connection end.
        if let Ok(thread) = spawned {
            threads.retain(|thread| !thread.is_finished());
            threads.push(thread);
        }
    }
    for thread in threads {
        let _ = thread.join();
    }
}

/// The next client. None where the system gives no more.
fn next(listener: &Listener) -> Option<Socket> {
    loop {
        match listener.accept() {
            Ok(socket) => return Some(socket),
            // It went before it was let in.
            Err(error) if is_passing(&error) => {}
            Err(_) => return None,
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Interrupted
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::NotConnected
    )
}
