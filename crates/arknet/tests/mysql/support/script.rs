//! A server that does, in turn, what a story says.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

use arknet_proto::mysql::auth::{Plugin, Secret};
use arknet_proto::mysql::handshake::Greeting;
use arknet_proto::mysql::packet::PacketReader;
use arknet_proto::mysql::server::{Account, Config, Handshake, Responder, Step};
use arknet_proto::mysql::value::ValueRef;
use arknet_proto::mysql::{Capabilities, ColumnSpec, ColumnType, Limits, ServerError};

use super::PATIENCE;

type Session = Box<dyn FnOnce(Peer) + Send>;

/// What this server can do.
pub(crate) const ABILITIES: Capabilities = Capabilities::MYSQL
    .with(Capabilities::PROTOCOL_41)
    .with(Capabilities::SECURE_CONNECTION)
    .with(Capabilities::PLUGIN_AUTH)
    .with(Capabilities::CONNECT_WITH_DB)
    .with(Capabilities::CONNECT_ATTRS)
    .with(Capabilities::TRANSACTIONS)
    .with(Capabilities::MULTI_RESULTS)
    .with(Capabilities::PS_MULTI_RESULTS)
    .with(Capabilities::DEPRECATE_EOF);

/// Serves one connection after the other, each with its own session, then no more. A session that panics fails the test.
pub(crate) struct Script {
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

/// A session of a [`Script`].
pub(crate) fn session(session: impl FnOnce(Peer) + Send + 'static) -> Session {
    Box::new(session)
}

impl Script {
    pub(crate) fn start(sessions: impl IntoIterator<Item = Session>) -> Self {
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
                    reader: PacketReader::new(&Limits::default()),
                    received: Vec::new(),
                    agreed: Capabilities::default(),
                });
            }
        });
        Self {
            address,
            thread: Some(thread),
        }
    }

    pub(crate) fn config(&self) -> arknet::mysql::Config {
        arknet::mysql::Config::new(self.address)
            .unwrap()
            .request_timeout(Some(PATIENCE))
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let told = self.thread.take().unwrap().join();
        assert!(told.is_ok() || thread::panicking(), "the script failed");
    }
}

/// The client, as the server sees it.
pub(crate) struct Peer {
    stream: TcpStream,
    reader: PacketReader,
    received: Vec<u8>,
    agreed: Capabilities,
}

pub(crate) fn greeting(abilities: Capabilities) -> Greeting {
    Greeting::new(
        "9.9.9",
        7,
        abilities,
        Plugin::NativePassword,
        *b"abcdefghijklmnopqrst",
    )
}

impl Peer {
    /// Lets everybody in whose password is empty.
    pub(crate) fn log_in(self) -> Self {
        self.log_in_as(greeting(ABILITIES))
    }

    pub(crate) fn log_in_as(mut self, greeting: Greeting) -> Self {
        let mut handshake = Handshake::new(Config::new(greeting, *b"tsrqponmlkjihgfedcba"));
        let (mut wire, mut received) = (Vec::new(), Vec::new());
        loop {
            match handshake.poll_step(&mut wire) {
                Step::Read => {
                    let mut piece = [0; 4096];
                    let count = self.stream.read(&mut piece).unwrap();
                    assert!(count > 0, "the client has gone");
                    received.extend_from_slice(&piece[..count]);
                    let consumed = handshake.handle_input(&received);
                    received.drain(..consumed);
                }
                Step::Write => {
                    self.stream.write_all(&wire).unwrap();
                    wire.clear();
                }
                Step::FindAccount(_) => {
                    let account = Account::new(Plugin::NativePassword, Secret::default());
                    handshake.handle_account(Some(account));
                }
                Step::Done(accepted) => {
                    self.agreed = accepted.capabilities;
                    return self;
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Writes bytes as they are.
    pub(crate) fn say(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// All that the client says until it ends its stream.
    pub(crate) fn listen(mut self) -> Vec<u8> {
        let mut heard = Vec::new();
        // A client that cuts the connection has said all it had to say.
        let _ = self.stream.read_to_end(&mut heard);
        heard
    }

    /// The next command, from its first byte on; `None` at the end of the stream.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        self.reader.expect(0);
        loop {
            let mut at = 0;
            if let Some(packet) = self.reader.next(&self.received, &mut at).unwrap() {
                let packet = packet.to_vec();
                self.received.drain(..at);
                return Some(packet);
            }
            self.received.drain(..at);
            let mut piece = [0; 16 * 1024];
            match self.stream.read(&mut piece) {
                Ok(count @ 1..) => self.received.extend_from_slice(&piece[..count]),
                Ok(0) => return None,
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// The next command, which is this query.
    pub(crate) fn hear(&mut self, sql: &str) {
        let packet = self.next().expect("the client has gone");
        assert_eq!((packet[0], &packet[1..]), (3, sql.as_bytes()), "{packet:?}");
    }

    /// Answers what was heard last.
    pub(crate) fn answer(&mut self, answer: impl FnOnce(&mut Responder<'_>)) {
        let mut wire = Vec::new();
        answer(&mut Responder::new(&mut wire, self.agreed, 1));
        self.say(&wire);
    }

    /// Answers with one text.
    pub(crate) fn answer_text(&mut self, text: &str) {
        self.answer(|to| put_text(to, text));
    }

    pub(crate) fn answer_ok(&mut self) {
        self.answer(|to| to.ok(0, 0));
    }

    pub(crate) fn answer_error(&mut self, code: u16) {
        self.answer(|to| to.error(&ServerError::new(code, *b"HY000", "no")));
    }
}

/// One row of one text, as a query is answered.
pub(crate) fn put_text(to: &mut Responder<'_>, text: &str) {
    to.columns(&[column()]);
    to.text_row(&[ValueRef::Text(text)]);
    to.end(false);
}

pub(crate) fn column() -> ColumnSpec<'static> {
    ColumnSpec::new("text", ColumnType::VarString)
}
