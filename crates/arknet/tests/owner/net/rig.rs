//! What the tests of the network have in common: placements, lines for messages, and peers that are plain sockets.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use arknet::owner::net::Server;
use arknet::owner::{Io, Owner};
use arknet::tcp::{Framing, ServerConfig};
use arknet::{Lanes, PeerAddress};

use crate::support::{PATIENCE, Stage};

/// What the thread keeps for inline IO: receive and send buffers, 16 of each, and the storage of messages.
const KEPT: u64 = 4 << 20;

/// Every placement of IO.
pub(crate) fn placements() -> Vec<(&'static str, Io)> {
    let lanes = Lanes::sharded(1).unwrap();
    vec![
        ("threads", Io::threads(2)),
        ("lanes", Io::lanes(&lanes)),
        ("inline", Io::inline()),
    ]
}

/// Runs a test on each placement.
pub(crate) fn everywhere<W: Default + 'static>(test: impl Fn(&mut Stage<W>)) {
    // What a process makes once.
    drop(placements());
    for (name, io) in placements() {
        eprintln!("with IO on {name}");
        let mut stage = Stage::<W>::new(io);
        test(&mut stage);
        finish(stage);
    }
}

/// Drains and looks whether anything is left.
pub(crate) fn finish<W: 'static>(mut stage: Stage<W>) -> W {
    let deadline = arknet::owner::Deadline::in_(PATIENCE);
    let owner: &mut Owner<W> = stage.owner.as_mut().unwrap();
    owner.drain(&mut stage.world, deadline).unwrap();
    stage.end_with_slack(KEPT)
}

/// A message is a line.
pub(crate) fn lines() -> ServerConfig {
    ServerConfig::new().framing(Framing::delimited("\n").unwrap())
}

pub(crate) fn text(message: &[u8]) -> String {
    String::from_utf8(message.to_vec())
        .unwrap()
        .trim_end()
        .to_owned()
}

/// A client that knows nothing of arknet.
pub(crate) struct Peer {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Peer {
    pub(crate) fn connect<W>(server: &Server<W>) -> Self {
        Self::connect_to(server.local_addr())
    }

    pub(crate) fn connect_to(address: &PeerAddress) -> Self {
        let stream = TcpStream::connect(address.ip().unwrap()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        Self { stream, reader }
    }

    /// Says a line; false where the other side has gone.
    pub(crate) fn say(&mut self, line: &str) -> bool {
        self.stream
            .write_all(format!("{line}\n").as_bytes())
            .is_ok()
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Hears a line; none at the end, also where that is a reset.
    pub(crate) fn hear(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(line.trim_end().to_owned()),
            Err(error) if is_late(error.kind()) => panic!("nothing was said in {PATIENCE:?}"),
            Err(_) => None,
        }
    }

    /// Hears everything up to the end.
    pub(crate) fn hear_all(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.hear()).collect()
    }

    /// How many bytes come up to the end.
    pub(crate) fn count_all(&mut self) -> usize {
        let mut bytes = vec![0; 64 << 10];
        let mut count = 0;
        loop {
            match self.reader.read(&mut bytes) {
                Ok(0) => return count,
                Ok(read) => count += read,
                Err(error) if is_late(error.kind()) => panic!("nothing came in {PATIENCE:?}"),
                Err(_) => return count,
            }
        }
    }

    /// Says no more.
    pub(crate) fn end(&self) {
        // The other side may have gone.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Writes what the other side takes at once; returns how many bytes.
    pub(crate) fn flood_once(&mut self, bytes: &[u8]) -> usize {
        self.stream.set_nonblocking(true).unwrap();
        let written = self.stream.write(bytes).unwrap_or_default();
        self.stream.set_nonblocking(false).unwrap();
        written
    }

    /// Writes as much as the other side takes for now; returns how many bytes.
    pub(crate) fn flood(&mut self, bytes: &[u8]) -> usize {
        self.stream.set_nonblocking(true).unwrap();
        let (mut written, mut refused) = (0, 0);
        while written < bytes.len() && refused < 20 {
            match self.stream.write(&bytes[written..]) {
                Ok(count) => {
                    written += count;
                    refused = 0;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    refused += 1;
                    // How hard it is tried, not whether it is right, depends on this.
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(_) => break,
            }
        }
        self.stream.set_nonblocking(false).unwrap();
        written
    }
}

fn is_late(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
