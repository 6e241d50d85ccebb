//! Logging in to the servers of the launchers.

use std::sync::atomic::{AtomicU32, Ordering};

use arknet_proto::mysql::auth::Secret;
use arknet_proto::mysql::handshake::Config;
use arknet_testkit::servers::mysql::MySqlServer;

use super::driver::Driver;
use super::stream::Stream;

/// An administrator's client, in the schema for tests.
pub(crate) fn connect(server: &MySqlServer) -> Driver {
    connect_as(server, root())
}

pub(crate) fn connect_as(server: &MySqlServer, config: Config) -> Driver {
    Driver::connect(Stream::tcp(server.addr()), config).unwrap()
}

/// An administrator, who needs no password, in a schema for tests.
pub(crate) fn root() -> Config {
    let mut config = Config::new("root", random());
    config.database = Some("test".into());
    config
}

pub(crate) fn account(user: &str, password: &str) -> Config {
    let mut config = Config::new(user, random());
    config.passwords = vec![Secret::new(password)];
    config
}

/// Different every time, which is all that these tests need of it.
fn random() -> [u8; 32] {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let mut bytes = [7; 32];
    bytes[..4].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    bytes
}
