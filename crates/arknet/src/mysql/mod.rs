#![doc = include_str!("../docs/mysql.md")]

pub use arknet_proto::mysql::auth::Plugin;
pub use arknet_proto::mysql::command::{Param, Params, ToParam};
pub use arknet_proto::mysql::format::FormatError;
pub use arknet_proto::mysql::handshake::HandshakeError;
pub use arknet_proto::mysql::row::{
    CellError, Cells, DecodeError, Fault, Format, FromRow, FromValue, OwnedRow, Plan, Row,
};
pub use arknet_proto::mysql::value::{Date, DateTime, Decimal, Time, Value, ValueRef};
pub use arknet_proto::mysql::{
    Column, ColumnFlags, ColumnType, Columns, Kind, Limits, ProtocolError, ServerError, Status,
};

/// ```
/// use arknet::mysql::{FromRow, query};
///
/// #[derive(FromRow)]
/// struct User {
///     id: u64,
///     #[mysql(rename = "full_name")]
///     name: String,
///     email: Option<String>,
/// }
///
/// let users = query::<Vec<User>>("SELECT * FROM users");
/// # let _ = users;
/// ```
pub use arknet_derive::FromRow;

pub use self::config::{Config, TlsMode};
pub use self::conn::Conn;
pub use self::error::{Doing, Error, ErrorKind};
pub use self::lease::Lease;
pub use self::node::ResetPolicy;
pub use self::pool::{Pool, PoolStats};
pub use self::request::{
    Exec, Formatted, Load, Ping, Prepare, Query, Request, Statement, Streamable, exec, formatted,
    load, ping, prepare, query,
};
pub use self::result::{Done, FromResult, ResultSet, ResultSets};
pub use self::rows::Rows;
pub use self::transaction::{Isolation, Transaction, TransactionOptions};

mod call;
mod config;
mod conn;
mod connection;
mod digest;
mod error;
mod incoming;
mod lease;
mod node;
mod pool;
mod request;
mod result;
mod rows;
mod transaction;
