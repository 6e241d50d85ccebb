//! Two pumps and the bytes between them.

use bytes::BytesMut;

use crate::tls::{ClientConfig, Error, Info, Pump, Received, ServerConfig};

/// One end of a connection with its buffers.
pub(super) struct End {
    pub(super) pump: Pump,
    pub(super) incoming: BytesMut,
    pub(super) plain: BytesMut,
    pub(super) outgoing: BytesMut,
    /// The first error.
    pub(super) error: Option<Error>,
}

impl End {
    fn new(pump: Pump) -> Self {
        Self {
            pump,
            incoming: BytesMut::new(),
            plain: BytesMut::new(),
            outgoing: BytesMut::new(),
            error: None,
        }
    }

    pub(super) fn receive(&mut self) -> Result<Received, Error> {
        self.receive_up_to(usize::MAX)
    }

    pub(super) fn receive_up_to(&mut self, room: usize) -> Result<Received, Error> {
        let Self {
            pump,
            incoming,
            plain,
            outgoing,
            error,
        } = self;
        pump.receive(incoming, plain, room, outgoing)
            .inspect_err(|first| _ = error.get_or_insert_with(|| first.clone()))
    }

    pub(super) fn seal(&mut self, text: &[u8]) {
        self.pump.seal(text, &mut self.outgoing).unwrap();
    }

    pub(super) fn close(&mut self) {
        self.pump.close_notify(&mut self.outgoing);
    }

    pub(super) fn info(&self) -> &Info {
        self.pump.info().unwrap()
    }

    pub(super) fn error(&self) -> &Error {
        self.error.as_ref().unwrap()
    }
}

pub(super) struct Pair {
    pub(super) client: End,
    pub(super) server: End,
}

impl Pair {
    pub(super) fn new(client: &ClientConfig, host: &str, server: &ServerConfig) -> Self {
        Self {
            client: End::new(Pump::client(client, host).unwrap()),
            server: End::new(Pump::server(server).unwrap()),
        }
    }

    /// Handshake done, nothing on its way.
    pub(super) fn connected(client: &ClientConfig, host: &str, server: &ServerConfig) -> Self {
        let mut pair = Self::new(client, host, server);
        pair.run();
        assert_eq!(
            (
                pair.client.error.as_ref().err_text(),
                pair.server.error.as_ref().err_text()
            ),
            (None, None)
        );
        assert!(!pair.client.pump.is_handshaking() && !pair.server.pump.is_handshaking());
        pair
    }

    /// Delivers until nothing moves. Errors are kept in the ends; what an end said before
    /// or about its error still arrives.
    pub(super) fn run(&mut self) {
        self.run_in_pieces(usize::MAX);
    }

    /// The same, in pieces of at most `size` bytes.
    pub(super) fn run_in_pieces(&mut self, size: usize) {
        // The client speaks first.
        let _ = self.client.receive();
        loop {
            let moved = deliver(&mut self.client, &mut self.server, size)
                | deliver(&mut self.server, &mut self.client, size);
            if !moved {
                return;
            }
        }
    }
}

fn deliver(from: &mut End, to: &mut End, size: usize) -> bool {
    let mut moved = false;
    while !from.outgoing.is_empty() {
        let piece = from.outgoing.split_to(size.min(from.outgoing.len()));
        to.incoming.extend_from_slice(&piece);
        let _ = to.receive();
        moved = true;
    }
    moved
}

trait ErrText {
    fn err_text(self) -> Option<String>;
}

impl ErrText for Option<&Error> {
    fn err_text(self) -> Option<String> {
        self.map(ToString::to_string)
    }
}
