//! Real Redis and Valkey servers, started for a test.
//!
//! One server listens on TCP, on TLS and on a Unix socket at once, so that one process serves a whole
//! matrix. `redis-server` knows one TLS port, which either demands a client's certificate or does not:
//! [`Options::demand_client_certificates`] chooses.
//!
//! ```
//! use arknet_testkit::need;
//! use arknet_testkit::servers::redis::{Options, RedisServer, Transport};
//!
//! # fn story() {
//! let server = need!(RedisServer::start(Options::default().user("app", "s3cret")));
//! let url = server.url_as(Transport::Tcp, "app", "s3cret");
//! // a client connects to `url` ...
//! assert!(server.client_list().iter().all(|client| client.user() != "app"));
//! # drop(url);
//! # }
//! # story();
//! ```
//!
//! What a test sees of the server besides comes through [`cli`](RedisServer::cli), a blocking client of
//! a few lines that shares no code with arknet.

mod answer;
mod cli;
mod client_info;
mod config;
mod product;
mod server;
mod shared;

pub use answer::Answer;
pub use client_info::ClientInfo;
pub use config::Options;
pub use product::Product;
pub use server::{RedisServer, Transport};
