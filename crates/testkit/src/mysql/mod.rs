//! An embedded server that speaks MySQL, and does wrong what a test wants.
//!
//! It is there where no MySQL is installed, it starts in a millisecond, and it breaks every promise on
//! demand: a real server never speaks before it is asked, counts its packets wrong or announces a million
//! columns. It stores nothing: it computes what stands in the statement.
//!
//! ```
//! use std::io::Read;
//! use arknet_testkit::mysql::{EmbeddedServer, Options, Rule};
//!
//! # fn main() -> std::io::Result<()> {
//! let server = EmbeddedServer::start(Options::default())?;
//! // The first client is told what an overloaded server says instead of its greeting.
//! server.add(Rule::on("GREETING").times(1).error(1040, "08004", "Too many connections"));
//!
//! let mut received = Vec::new();
//! std::net::TcpStream::connect(server.addr())?.read_to_end(&mut received)?;
//! assert!(received.ends_with(b"\xff\x10\x04Too many connections"));
//! # Ok(())
//! # }
//! ```
//!
//! | it knows | |
//! |---|---|
//! | login | `mysql_native_password`, `caching_sha2_password` with a cold cache and a warm one; TLS; change of user. It has no RSA key: a cold login in clear is denied |
//! | commands | query, prepare, execute, long data, close, reset, ping, init db, kill, quit; several statements in one query |
//! | expressions | literals, `?`, `@variables`, `CONNECTION_ID()`, `DATABASE()`, `USER()`, `VERSION()`, `REPEAT(text, n)`, `SLEEP(seconds)`, `LAST_INSERT_ID()` |
//! | statements | `SELECT` of expressions, `FROM seq_1_to_N` for N rows with the column `seq`; SET, DO, USE, KILL; transactions, whose state it reports. What changes or defines data is answered as if it had changed one row |
//!
//! | it does wrong | |
//! |---|---|
//! | to one command, the n-th, on the n-th connection | [`Rule`]: delay, swallow, cut, an error or any bytes instead of the answer, bytes around it, a wrong number of a packet, close |
//! | to connections | [`close_all`](EmbeddedServer::close_all); rules on `GREETING`, `TLS` and `LOGIN` |
//!
//! Each client has a thread of its own. Their number is bounded, as is what one of them may ask for.

mod channel;
mod client;
mod control;
mod doors;
mod evaluate;
mod hub;
mod options;
mod parse;
mod rule;
mod server;
mod session;
mod statement;
mod stats;

pub use options::Options;
pub use rule::Rule;
pub use server::EmbeddedServer;
pub use stats::Stats;
