//! The two ends of a connection: what is done with bytes that came, and which bytes go.
//!
//! Both styles run these; the state machines for readiness are here too, over any non-blocking
//! socket, so that mio, epoll with one-shot registrations and any other poller share them.

mod batch;
mod server;
mod windowed;

use std::io::{self, Read, Write};
use std::sync::Arc;

pub use self::batch::BatchEnd;
pub use self::server::ServerEnd;
pub use self::windowed::WindowedEnd;
use super::buffer::Flat;
use crate::measure::config::{Traffic, TransportConfig};
use crate::measure::run::Run;

/// More room than any expected read fills: a read that comes back short has emptied the socket.
const SPARE: usize = 4096;

/// The least and the most room that windowed traffic offers a read: below, the memory is not worth
/// saving; above, more bytes a call gain nothing and leave the second-level cache.
const ROOM: std::ops::RangeInclusive<usize> = 64 * 1024..=1024 * 1024;

/// What is known of a socket's readiness: set by the poller, cleared by short reads and writes.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// A read may find bytes.
    pub read: bool,
    /// A write may find room.
    pub write: bool,
    /// The peer has ended its side: a short read proves nothing, the end is still to be read.
    pub closed: bool,
}

impl Ready {
    /// A socket that was just connected: it has room and nothing to read.
    pub fn fresh() -> Self {
        Ready {
            read: false,
            write: true,
            closed: false,
        }
    }
}

/// One end of a connection as a state machine over readiness.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "there are at most 128, and each is used all the time"
)]
pub enum End {
    /// A client that keeps its window full.
    Windowed(WindowedEnd),
    /// A client that sends batches.
    Batch(BatchEnd),
    /// A server.
    Server(ServerEnd),
}

impl End {
    /// Client number `id`, for the run's traffic.
    pub fn client(run: &Arc<Run>, config: &TransportConfig, id: u32) -> Self {
        match config.traffic {
            Traffic::Windowed => End::Windowed(WindowedEnd::new(run, id)),
            Traffic::Batch => End::Batch(BatchEnd::new(run, id)),
        }
    }

    /// A server, for the run's traffic.
    pub fn server(run: &Arc<Run>, config: &TransportConfig) -> Self {
        End::Server(ServerEnd::new(run, config.traffic))
    }

    /// Enters a phase that was opened; says whether there is something to send now.
    pub fn begin(&mut self) -> bool {
        match self {
            End::Windowed(end) => end.begin(),
            End::Batch(end) => end.begin(),
            End::Server(_) => false,
        }
    }

    /// Reads and writes until the socket is no longer ready for what this end wants.
    ///
    /// # Errors
    /// Ends the connection when the peer did, or the socket failed; what it means is counted.
    pub fn on_ready<S: Read + Write>(&mut self, io: &mut S, ready: &mut Ready) -> io::Result<()> {
        let done = match self {
            End::Windowed(end) => end.on_ready(io, ready),
            End::Batch(end) => end.on_ready(io, ready),
            End::Server(end) => end.on_ready(io, ready),
        };
        done.inspect_err(|error| self.on_disconnect(error))
    }

    /// Whether bytes wait for room in the socket.
    pub fn wants_write(&self) -> bool {
        match self {
            End::Windowed(end) => !end.out.is_empty(),
            End::Batch(end) => end.unsent < end.batch.len(),
            End::Server(end) => end.answer > 0,
        }
    }

    /// Whether bytes that come are read now: a server whose answer is stuck does not read on.
    pub fn wants_read(&self) -> bool {
        match self {
            End::Server(end) => end.answer == 0,
            End::Windowed(_) | End::Batch(_) => true,
        }
    }

    #[cold]
    fn on_disconnect(&mut self, error: &io::Error) {
        match self {
            End::Windowed(end) => end.traffic.on_disconnect(error),
            End::Batch(end) => end.traffic.on_disconnect(error),
            End::Server(end) => end.on_disconnect(error),
        }
    }
}

/// Room for a whole window, within reason, and always for a message beside the rest of another.
fn windowed_room(run: &Run) -> usize {
    let window = run.window() * run.payload() + SPARE;
    window
        .clamp(*ROOM.start(), *ROOM.end())
        .max(2 * run.payload() + SPARE)
}

/// Reads once; says whether bytes came.
#[inline]
fn receive(io: &mut impl Read, buffer: &mut Flat, ready: &mut Ready) -> io::Result<bool> {
    let room = buffer.room();
    let offered = room.len();
    match io.read(room) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(n) => {
            ready.read = n == offered || ready.closed;
            buffer.fill(n);
            Ok(true)
        }
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
            ready.read = false;
            Ok(false)
        }
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(e) => Err(e),
    }
}

/// Writes once; returns how many bytes went.
#[inline]
fn transmit(io: &mut impl Write, bytes: &[u8], ready: &mut Ready) -> io::Result<usize> {
    match io.write(bytes) {
        Ok(0) => Err(io::ErrorKind::WriteZero.into()),
        Ok(n) => {
            ready.write = n == bytes.len();
            Ok(n)
        }
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
            ready.write = false;
            Ok(0)
        }
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(0),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::time::Duration;

    use super::*;
    use crate::measure::counters::Fault;
    use crate::measure::run::Phase;

    /// A socket whose calls move a few bytes each, between two queues that hold little.
    struct Meagre<'a> {
        from: &'a mut VecDeque<u8>,
        to: &'a mut VecDeque<u8>,
    }

    const STEP: usize = 7;
    const HOLDS: usize = 50;

    impl Read for Meagre<'_> {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let n = self.from.len().min(STEP).min(room.len());
            if n == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            for (slot, byte) in room.iter_mut().zip(self.from.drain(..n)) {
                *slot = byte;
            }
            Ok(n)
        }
    }

    impl Write for Meagre<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let n = (HOLDS - self.to.len()).min(STEP).min(bytes.len());
            if n == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.to.extend(bytes.iter().take(n));
            Ok(n)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn ready() -> Ready {
        Ready {
            read: true,
            write: true,
            closed: false,
        }
    }

    /// One client and one server over meagre sockets, for the one window of a phase of no length.
    fn exchange(traffic: Traffic) -> Arc<Run> {
        let config = TransportConfig {
            clients: 1,
            window: 5,
            payload: 33,
            traffic,
            seconds: Duration::ZERO,
            ..Default::default()
        };
        let run = Run::new(&config);
        let (mut up, mut down) = (VecDeque::new(), VecDeque::new());
        let mut client = End::client(&run, &config, 0);
        let mut server = End::server(&run, &config);
        run.open(Phase::Measured, Duration::ZERO);
        assert!(client.begin() && !server.begin());
        assert!(client.wants_write() && server.wants_read());
        // Each round moves a byte at least; twice both ways is all there is.
        for _ in 0..4 * 5 * 33 {
            let mut io = Meagre {
                from: &mut down,
                to: &mut up,
            };
            client
                .on_ready(&mut io, &mut ready())
                .expect("nothing ends");
            let mut io = Meagre {
                from: &mut up,
                to: &mut down,
            };
            server
                .on_ready(&mut io, &mut ready())
                .expect("nothing ends");
        }
        run
    }

    #[test]
    fn messages_survive_short_reads_and_short_writes() {
        for traffic in [Traffic::Windowed, Traffic::Batch] {
            let run = exchange(traffic);
            assert!(run.wait_finished(Duration::ZERO), "{traffic:?}");
            assert_eq!(run.total(Phase::Measured).messages, 5);
            assert_eq!(run.counters(Phase::Measured).total(), 0);
        }
    }

    #[test]
    fn the_end_of_the_stream_is_normal_for_a_server_and_a_fault_for_a_client() {
        let config = TransportConfig {
            clients: 1,
            ..Default::default()
        };
        let run = Run::new(&config);
        run.open(Phase::Measured, Duration::ZERO);
        let (mut client, mut server) = (End::client(&run, &config, 0), End::server(&run, &config));
        client.begin();
        for end in [&mut server, &mut client] {
            assert!(end.on_ready(&mut Ended, &mut ready()).is_err());
        }
        assert_eq!(
            run.counters(Phase::Measured).get(Fault::DisconnectErrors),
            1
        );
        assert_eq!(
            run.counters(Phase::Measured).get(Fault::UnfinishedMessages),
            1
        );
    }

    /// Reads the end, and takes all that is written.
    struct Ended;

    impl Read for Ended {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Ok(0)
        }
    }

    impl Write for Ended {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
