//! An embedded server that speaks Redis, and does wrong what a test wants.
//!
//! It is there where no Redis is installed, it starts in a millisecond, and it breaks every promise on
//! demand: a real server never swallows a command, tears a reply or forgets a person's `RESET`. What it
//! knows, it does as Redis does: a test runs the same conversations against both and compares.
//!
//! ```
//! use std::io::{Read, Write};
//! use arknet_testkit::redis::{EmbeddedServer, Options, Rule};
//!
//! # fn main() -> std::io::Result<()> {
//! let server = EmbeddedServer::start(Options::default())?;
//! // The second GET is executed, and its reply lost.
//! server.add(Rule::on("GET").skip(1).times(1).swallow_reply().close());
//!
//! let mut client = std::net::TcpStream::connect(server.addr())?;
//! client.write_all(b"SET k v\r\nGET k\r\nGET k\r\n")?;
//! let mut received = String::new();
//! client.read_to_string(&mut received)?;
//! assert_eq!(received, "+OK\r\n$1\r\nv\r\n");
//! assert_eq!(server.stats().count("get"), 2);
//! # Ok(())
//! # }
//! ```
//!
//! | it knows | |
//! |---|---|
//! | connection | PING ECHO HELLO AUTH SELECT RESET QUIT CLIENT (ID INFO LIST SETNAME GETNAME SETINFO REPLY KILL UNBLOCK TRACKING) ACL WHOAMI |
//! | data | strings, counters, hashes, lists with BLPOP and BRPOP, sets; keys with their expiry, SCAN |
//! | transactions | MULTI EXEC DISCARD WATCH UNWATCH |
//! | messages | SUBSCRIBE PSUBSCRIBE SSUBSCRIBE and their ends, PUBLISH SPUBLISH PUBSUB |
//! | server | INFO TIME ROLE DBSIZE FLUSHDB FLUSHALL; stubs of COMMAND and CONFIG |
//!
//! | it does wrong | |
//! |---|---|
//! | to one command, the n-th, on the n-th connection | [`Rule`]: delay, swallow, tear, answer anything, put pushes around, close |
//! | to connections | [`refuse`](EmbeddedServer::refuse), [`pause`](EmbeddedServer::pause), [`close_idle`](EmbeddedServer::close_idle), [`reset_all`](EmbeddedServer::reset_all), [`push`](EmbeddedServer::push), [`greet`](EmbeddedServer::greet) |
//! | to all | [`refuse_command`](EmbeddedServer::refuse_command) as a managed server does, [`set_loading`](EmbeddedServer::set_loading), [`set_read_only`](EmbeddedServer::set_read_only) |
//!
//! One thread serves all clients over TCP, TLS and a Unix socket. Its keys are kept within a bound of
//! bytes, its clients within a bound of number, what a client does not read within a bound too.

mod args;
mod call;
mod commands;
mod connection;
mod doors;
mod hub;
mod machine;
mod options;
mod refusal;
mod rule;
mod server;
mod session;
mod stats;
mod store;
mod table;
mod wire;

pub use options::Options;
pub use rule::Rule;
pub use server::EmbeddedServer;
pub use stats::Stats;
