//! A server that does, in turn, what a story says.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use arknet_proto::redis::server::{RequestDecoder, RequestLimits};

use super::PATIENCE;

type Session = Box<dyn FnOnce(Peer) + Send>;

/// Serves one connection after the other, each with its own session, then no more. A session that panics fails the test.
pub(super) struct Scripted {
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl Scripted {
    pub(super) fn start(sessions: impl IntoIterator<Item = Session>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let sessions: Vec<Session> = sessions.into_iter().collect();
        let thread = thread::spawn(move || {
            for session in sessions {
                let (stream, _) = listener.accept().unwrap();
                stream.set_nodelay(true).unwrap();
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                session(Peer {
                    stream,
                    decoder: RequestDecoder::new(RequestLimits::default()),
                    received: Vec::new(),
                });
            }
        });
        Self {
            address,
            thread: Some(thread),
        }
    }

    pub(super) fn url(&self) -> String {
        format!("redis://{}", self.address)
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        let told = self.thread.take().unwrap().join();
        assert!(told.is_ok() || thread::panicking(), "the script failed");
    }
}

/// The client, as the server sees it.
pub(super) struct Peer {
    stream: TcpStream,
    decoder: RequestDecoder,
    received: Vec<u8>,
}

impl Peer {
    /// The next request, its words joined by spaces; `None` at the end of the stream.
    pub(super) fn request(&mut self) -> Option<String> {
        let mut piece = [0; 16 * 1024];
        loop {
            if let Some(request) = self.decoder.decode(&self.received).unwrap() {
                let words: Vec<_> = request
                    .arguments()
                    .map(|word| String::from_utf8_lossy(word).into_owned())
                    .collect();
                let consumed = request.consumed();
                self.received.drain(..consumed);
                return Some(words.join(" "));
            }
            match self.stream.read(&mut piece) {
                Ok(0) => return None,
                Ok(count) => self.received.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("read a request: {error}"),
            }
        }
    }

    pub(super) fn reply(&mut self, bytes: &str) {
        // A client that has gone does not read.
        let _ = self.stream.write_all(bytes.as_bytes());
    }

    /// Expects these requests, each with its answer.
    pub(super) fn expect(&mut self, exchanges: &[(&str, &str)]) {
        for (expected, answer) in exchanges {
            assert_eq!(self.request().as_deref(), Some(*expected));
            self.reply(answer);
        }
    }

    /// Lets a session begin.
    pub(super) fn login(&mut self) {
        self.expect(&[("RESET", "+RESET\r\n"), ("HELLO 3", HELLO)]);
        for _ in 0..2 {
            assert!(self.request().unwrap().starts_with("CLIENT SETINFO"));
            self.reply("+OK\r\n");
        }
    }

    /// Some bytes, as they come.
    pub(super) fn raw(&mut self) -> Vec<u8> {
        let mut piece = vec![0; 16 * 1024];
        let count = self.stream.read(&mut piece).unwrap();
        piece.truncate(count);
        piece
    }

    /// Reads whatever comes until the client has gone.
    pub(super) fn gone(&mut self) {
        let mut piece = [0; 1024];
        while matches!(self.stream.read(&mut piece), Ok(1..)) {}
    }

    /// Waits until the client has gone.
    pub(super) fn end(&mut self) {
        while self.request().is_some() {}
    }

    /// Closes the connection so that the client learns of it at once.
    pub(super) fn cut(self) {
        socket2::SockRef::from(&self.stream)
            .set_linger(Some(Duration::ZERO))
            .unwrap();
    }
}

/// What `HELLO 3` is answered with, in short.
pub(super) const HELLO: &str = "%1\r\n$5\r\nproto\r\n:3\r\n";

/// A session, with its type.
pub(super) fn session(story: impl FnOnce(Peer) + Send + 'static) -> Session {
    Box::new(story)
}
