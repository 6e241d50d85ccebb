//! The embedded server, as a client of our own engines sees it: what it knows, and what it does wrong.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

#[path = "../mysql_wire/driver.rs"]
#[allow(dead_code, reason = "the tests with real servers use more of it")]
mod driver;
#[path = "../mysql_wire/stream.rs"]
#[allow(dead_code, reason = "the tests with real servers use more of it")]
mod stream;

mod faults;
mod life;
mod login;
mod talk;

use arknet_proto::mysql::auth::Secret;
use arknet_proto::mysql::handshake::Config;
use arknet_testkit::mysql::{EmbeddedServer, Options};

use driver::Driver;
use stream::Stream;

fn start() -> EmbeddedServer {
    EmbeddedServer::start(Options::default()).unwrap()
}

/// A client of `root`, who has no password.
fn connect(server: &EmbeddedServer) -> Driver {
    Driver::connect(Stream::tcp(server.addr()), account("root", "")).unwrap()
}

fn account(user: &str, password: &str) -> Config {
    let mut config = Config::new(user, [7; 32]);
    config.passwords = vec![Secret::new(password)];
    config
}
