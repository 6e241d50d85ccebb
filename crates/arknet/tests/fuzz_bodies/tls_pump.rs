//! Two record pumps and somebody between them who may do anything: neither panics nor hoards, what comes
//! out is what the other end sealed and nothing else, and an error is final.
//!
//! Input is a byte for the newest version, then operations: a byte for the operation and what it takes.
//! Keys and random numbers are new in every run, so an input says what is done and not which bytes flow;
//! none of the rules depends on them.

use std::sync::OnceLock;

use arknet::tls::{Authorities, ClientConfig, Error, Identity, Pump, ServerConfig, Version};
use arknet_testkit::certs::{Authority, Usage};
use bytes::BytesMut;

use super::Input;

/// Operations that are read from one input; a handshake alone takes a millisecond.
const MOST_OPERATIONS: usize = 200;
/// What a reader must be able to hold of an unfinished record, as the pump promises.
const MOST_UNFINISHED: usize = 18_437;
/// By how much the last record may exceed the room.
const MOST_OVER_ROOM: usize = 16_383;
/// What one call answers at most: a flight with its certificates, or tickets, and an alert.
const MOST_ANSWERED: usize = 16 * 1024;

/// Runs one input.
pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    let mut pair = Pair::new(usize::from(input.byte() % 2));
    pair.client.receive();
    for _ in 0..MOST_OPERATIONS {
        if input.is_empty() {
            break;
        }
        pair.apply(&mut input);
    }
    for end in [&mut pair.client, &mut pair.server] {
        end.room = usize::MAX;
        end.receive();
    }
    pair.compare();
}

struct Pair {
    client: End,
    server: End,
}

/// One end, with its buffers.
struct End {
    pump: Pump,
    incoming: BytesMut,
    plain: BytesMut,
    outgoing: BytesMut,
    room: usize,
    /// All that it sealed.
    sealed: Vec<u8>,
    closed: bool,
    completed: bool,
    error: Option<Error>,
}

fn configurations() -> &'static [(ClientConfig, ServerConfig); 2] {
    static CONFIGURATIONS: OnceLock<[(ClientConfig, ServerConfig); 2]> = OnceLock::new();
    CONFIGURATIONS.get_or_init(|| {
        let authority = Authority::new("fuzz").unwrap();
        let issued = authority.issue(&["localhost"], Usage::Server).unwrap();
        let identity = Identity::from_pem(issued.cert_pem(), issued.key_pem()).unwrap();
        [Version::Tls12, Version::Tls13].map(|version| {
            let client = ClientConfig::builder()
                .roots(Authorities::from_pem(authority.cert_pem()).unwrap())
                .maximum_version(version)
                .build();
            let server = ServerConfig::builder().identity(identity.clone()).build();
            (client.unwrap(), server.unwrap())
        })
    })
}

impl Pair {
    fn new(version: usize) -> Self {
        let (client, server) = configurations().get(version).unwrap();
        Self {
            client: End::new(Pump::client(client, "localhost").unwrap()),
            server: End::new(Pump::server(server).unwrap()),
        }
    }

    fn apply(&mut self, input: &mut Input<'_>) {
        let (operation, to_server) = {
            let byte = input.byte();
            (byte / 2 % 8, byte.is_multiple_of(2))
        };
        let (from, to) = if to_server {
            (&mut self.client, &mut self.server)
        } else {
            (&mut self.server, &mut self.client)
        };
        match operation {
            0 => {
                let count = input.number().min(from.outgoing.len());
                to.incoming.unsplit(from.outgoing.split_to(count));
                to.receive();
            }
            1 => {
                let count = usize::from(input.byte());
                to.incoming.extend_from_slice(input.take(count));
                to.receive();
            }
            2 => {
                // Looks like a record.
                let (kind, length) = (20 + input.byte() % 5, input.number());
                let [high, low] = (length as u16).to_be_bytes();
                to.incoming.extend_from_slice(&[kind, 3, 3, high, low]);
                let filled = to.incoming.len() + length;
                to.incoming.resize(filled, input.byte());
                to.receive();
            }
            3 => {
                let (at, with) = (input.number(), input.byte());
                if let Some(byte) = from.outgoing.get_mut(at) {
                    *byte ^= with;
                }
            }
            4 => {
                let (at, count) = (input.number(), usize::from(input.byte()));
                let mut tail = from.outgoing.split_off(at.min(from.outgoing.len()));
                let _ = tail.split_to(count.min(tail.len()));
                from.outgoing.unsplit(tail);
            }
            5 => from.seal(input.number() % 40_000, input.byte()),
            6 if input.byte().is_multiple_of(2) => from.close(),
            6 => from.room = input.number(),
            _ => self.deliver_all(),
        }
        self.compare();
    }

    /// Nobody is between them.
    fn deliver_all(&mut self) {
        // A handshake takes three flights a side; tickets and alerts one more.
        for _ in 0..8 {
            self.server.incoming.unsplit(self.client.outgoing.split());
            self.server.receive();
            self.client.incoming.unsplit(self.server.outgoing.split());
            self.client.receive();
        }
    }

    fn compare(&self) {
        self.client.compare(&self.server);
        self.server.compare(&self.client);
    }
}

impl End {
    fn new(pump: Pump) -> Self {
        Self {
            pump,
            incoming: BytesMut::new(),
            plain: BytesMut::new(),
            outgoing: BytesMut::new(),
            room: usize::MAX,
            sealed: Vec::new(),
            closed: false,
            completed: false,
            error: None,
        }
    }

    fn receive(&mut self) {
        let (before, answered) = (self.plain.len(), self.outgoing.len());
        let received = self.pump.receive(
            &mut self.incoming,
            &mut self.plain,
            self.room,
            &mut self.outgoing,
        );
        let appended = self.plain.len() - before;
        assert!(appended <= self.room.saturating_add(MOST_OVER_ROOM));
        assert!(self.outgoing.len() - answered <= MOST_ANSWERED);
        match received {
            Ok(received) => {
                assert!(self.error.is_none(), "an error is final");
                assert_eq!(received.plain, appended);
                assert!(received.more || self.incoming.len() <= MOST_UNFINISHED);
                if received.handshake_completed {
                    assert!(!self.completed);
                    self.completed = true;
                }
                assert_eq!(self.completed, !self.pump.is_handshaking());
                assert_eq!(self.completed, self.pump.info().is_some());
            }
            Err(error) => {
                let first = self.error.get_or_insert_with(|| error.clone());
                assert_eq!(error.to_string(), first.to_string());
            }
        }
    }

    fn seal(&mut self, length: usize, with: u8) {
        let text: Vec<u8> = (0..length)
            .map(|at| with.wrapping_add((at % 251) as u8))
            .collect();
        let before = self.outgoing.len();
        match self.pump.seal(&text, &mut self.outgoing) {
            Ok(()) => {
                assert!(self.completed && !self.closed && self.error.is_none());
                self.sealed.extend_from_slice(&text);
            }
            Err(_) => {
                assert!(!self.completed || self.closed || self.error.is_some());
                assert_eq!(self.outgoing.len(), before);
            }
        }
    }

    fn close(&mut self) {
        let before = self.outgoing.len();
        self.pump.close_notify(&mut self.outgoing);
        if self.outgoing.len() > before {
            assert!(self.completed && !self.closed && self.error.is_none());
            self.closed = true;
        }
    }

    /// Only what the peer sealed comes out, from its beginning, and only its word ends the stream.
    fn compare(&self, peer: &Self) {
        assert!(peer.sealed.starts_with(&self.plain));
        if self.pump.end_of_stream().is_ok() {
            assert!(peer.closed && self.plain == peer.sealed && self.error.is_none());
        }
    }
}
