//! A client and a server that have exchanged a message, through a proxy that has done nothing yet.

use arknet::SessionHandle;
use arknet::tcp::{Client, ClientConfig, Server, ServerConfig};
use arknet_testkit::FaultProxy;
use arknet_testkit::proxy::{Direction, Plan};

use super::cell::Cell;
use super::echo::Serve;
use super::log::{At, Log};
use super::rig::{Rig, proxy_before};

/// Both directions of a connection, with the end that receives in it.
pub(crate) const BOTH: [(Direction, At); 2] = [
    (Direction::ToServer, At::Server),
    (Direction::ToClient, At::Client),
];

/// What the client says first.
const HELLO: &[u8] = b"hello";

/// Bytes that TLS 1.3 adds to a record: header, content type and tag.
const RECORD_OVERHEAD: usize = 5 + 1 + 16;

pub(crate) struct Talking {
    pub(crate) rig: Rig,
    pub(crate) server: Server,
    pub(crate) proxy: FaultProxy,
    pub(crate) client: Client,
}

impl Talking {
    pub(crate) fn begin(cell: Cell) -> Self {
        Self::begin_with(cell, |server| server, |client| client)
    }

    /// Begins with other settings than the plain ones.
    pub(crate) fn begin_with(
        cell: Cell,
        server: impl FnOnce(ServerConfig) -> ServerConfig,
        client: impl FnOnce(ClientConfig) -> ClientConfig,
    ) -> Self {
        let rig = Rig::new(cell);
        let server = rig.serve(server(rig.server_config()), Serve::Echo);
        let proxy = proxy_before(&server);
        let client = rig.connect(proxy.addr(), client(rig.client_config()), &[HELLO]);
        // The echo has come: everything before it, such as the tickets of TLS, has passed the proxy.
        rig.wait_messages(At::Client, &[HELLO]);
        rig.log.clear();
        Self {
            rig,
            server,
            proxy,
            client,
        }
    }

    pub(crate) fn log(&self) -> &Log {
        &self.rig.log
    }

    /// Puts a plan into force for what is sent from now on.
    pub(crate) fn plan(&self, direction: Direction, plan: Plan) {
        self.proxy.set(direction, plan);
    }

    /// How many bytes a payload of 254 to 16,000 bytes has on the wire.
    pub(crate) fn wire(&self, payload: usize) -> u64 {
        let record = if self.rig.cell.is_secure() {
            RECORD_OVERHEAD
        } else {
            0
        };
        (3 + payload + record) as u64
    }

    /// Sends from the end that does not receive in `direction`.
    pub(crate) fn send(&self, direction: Direction, payload: &[u8]) {
        send_from(&self.server, &self.client, direction, payload);
    }

    /// The server's side of the connection.
    pub(crate) fn session(&self) -> SessionHandle {
        session(&self.server)
    }

    /// Ends everything in good order, and looks for what stays behind.
    pub(crate) fn finish(self) {
        let Self {
            rig,
            server,
            proxy,
            client,
        } = self;
        // The proxy too: a close through one that stalls would take its time.
        rig.finish((server, client, proxy));
    }
}

pub(crate) fn send_from(server: &Server, client: &Client, direction: Direction, payload: &[u8]) {
    match direction {
        Direction::ToServer => client.send(payload).unwrap(),
        Direction::ToClient => session(server).send(payload).unwrap(),
    }
}

/// The only session of a server.
pub(crate) fn session(server: &Server) -> SessionHandle {
    let mut sessions = server.sessions();
    assert_eq!(sessions.len(), 1);
    sessions.remove(0)
}
