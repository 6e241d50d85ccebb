//! Real MySQL and MariaDB servers, started for a test.
//!
//! One server listens on TCP, with TLS for whoever asks for it, and on a Unix socket, so that one process
//! serves a whole matrix. It has one [`Account`] for each plugin that it knows, and one with a password
//! that is empty.
//!
//! | server | knows |
//! |---|---|
//! | [`Product::MariaDb`]: `mariadbd` in `PATH` | `mysql_native_password`, `ed25519` |
//! | [`Product::MariaDb11`]: what `scripts/servers mariadb` has unpacked | these and `parsec` |
//! | [`Product::MySql`]: what `scripts/servers mysql` has unpacked | `caching_sha2_password`, `sha256_password` |
//!
//! ```
//! use arknet_testkit::need;
//! use arknet_testkit::servers::mysql::{MySqlServer, Options, Product};
//!
//! # fn story() {
//! let server = need!(MySqlServer::start(Options::new(Product::MariaDb)));
//! // a client connects to `server.addr()` as `account.user` ...
//! let account = server.product().app();
//! assert_eq!(server.sql("SELECT 6 * 7").cell(0, 0), Some("42"));
//! assert!(server.processes().iter().all(|process| process.user != account.user));
//! # }
//! # story();
//! ```
//!
//! Data folders are copies of a template, made once for a build and kept in its temporary folder, because
//! MySQL takes seconds to make one. What a test sees of the server besides comes through
//! [`sql`](MySqlServer::sql), a blocking client of a few lines that shares no code with arknet.

mod account;
mod cli;
mod options;
mod process;
mod product;
mod server;
mod shared;
mod table;
mod template;

pub use account::Account;
pub use options::Options;
pub use process::Process;
pub use product::Product;
pub use server::MySqlServer;
pub use table::{SqlError, Table};
