//! What one measurement of a database client is asked to do, and the ranges that are accepted.

use std::path::PathBuf;

use clap::ValueEnum;
use serde::Serialize;

use crate::measure::config::{ConfigError, Execution, MAX_IO_THREADS, within};

/// Connections of a pool: as many as a server takes from one client in its default configuration
/// with room for others.
pub const MAX_CONNECTIONS: usize = 1_024;

/// Requests at a time.
pub const MAX_OUTSTANDING: usize = 65_536;

/// The smallest payload: the number that makes each request different from all others.
pub const MIN_PAYLOAD: usize = 8;

/// The largest payload.
pub const MAX_PAYLOAD: usize = 1024 * 1024;

/// Operations of one run: hours of them.
pub const MAX_OPERATIONS: u64 = 1_000_000_000;

/// Largest number of payload bytes in flight, as of a transport.
const MAX_BYTES_IN_FLIGHT: usize = 256 * 1024 * 1024;

/// The database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Redis: one binary ECHO an operation.
    Redis,
}

/// What the requests go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// arknet's client, from its own lanes.
    Client,
}

/// How requests come to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// A lease of a pool for each operation, returned after it.
    Lease,
    /// Connections that all requests share.
    Shared,
}

/// Whose server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Server {
    /// One of the lab's own, started for the run by this program as `serve redis`.
    Embedded(PathBuf),
    /// The one at this URL.
    Url(String),
}

impl Server {
    /// The word for it in a record, which never holds the URL: that may have a password in it.
    pub fn name(&self) -> &'static str {
        match self {
            Server::Embedded(_) => "embedded",
            Server::Url(_) => "url",
        }
    }
}

/// One measurement of a database client. The server is another process.
#[derive(Clone, Debug, PartialEq)]
pub struct DatabaseConfig {
    /// The database.
    pub engine: Engine,
    /// What the requests go through.
    pub api: Api,
    /// How requests come to a connection.
    pub access: Access,
    /// The style in which the client is written.
    pub execution: Execution,
    /// Whose server answers.
    pub server: Server,
    /// Threads that do IO, 1 to 64.
    pub io_threads: usize,
    /// Connections, 1 to 1,024.
    pub connections: usize,
    /// Operations at a time, 1 to 65,536.
    pub outstanding: usize,
    /// Bytes that travel each way, 8 to 1 MiB.
    pub payload: usize,
    /// Operations that count.
    pub operations: u64,
    /// Operations before them; zero for no warm-up.
    pub warmup_operations: u64,
}

impl DatabaseConfig {
    /// The first cell of the original: one connection, one operation at a time, 64 B, 10,000
    /// operations after 1,000 of warm-up.
    pub fn new(server: Server) -> Self {
        DatabaseConfig {
            engine: Engine::Redis,
            api: Api::Client,
            access: Access::Lease,
            execution: Execution::Async,
            server,
            io_threads: 1,
            connections: 1,
            outstanding: 1,
            payload: 64,
            operations: 10_000,
            warmup_operations: 1_000,
        }
    }

    /// Says whether the configuration can be run.
    ///
    /// # Errors
    /// Names the first option that is out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        within("io threads", &self.io_threads, &1, &MAX_IO_THREADS)?;
        within("connections", &self.connections, &1, &MAX_CONNECTIONS)?;
        within("outstanding", &self.outstanding, &1, &MAX_OUTSTANDING)?;
        within("payload", &self.payload, &MIN_PAYLOAD, &MAX_PAYLOAD)?;
        within("operations", &self.operations, &1, &MAX_OPERATIONS)?;
        within(
            "warmup-operations",
            &self.warmup_operations,
            &0,
            &MAX_OPERATIONS,
        )?;
        let in_flight = self.outstanding.saturating_mul(self.payload);
        if in_flight > MAX_BYTES_IN_FLIGHT {
            return Err(ConfigError::Conflict(
                "outstanding x payload is more than the limit of 256 MiB in flight",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> DatabaseConfig {
        DatabaseConfig::new(Server::Url("redis://127.0.0.1".to_owned()))
    }

    #[test]
    fn the_defaults_can_be_run() {
        assert_eq!(config().check(), Ok(()));
    }

    #[test]
    fn a_number_outside_its_range_is_named_with_its_limits() {
        let error = DatabaseConfig {
            payload: 7,
            ..config()
        }
        .check();
        let text = error.map_err(|e| e.to_string());
        let expected = "payload must be between 8 and 1048576, not 7";
        assert_eq!(text, Err(expected.to_owned()));
    }

    #[test]
    fn the_bytes_in_flight_are_bounded() {
        let mut config = DatabaseConfig {
            outstanding: 4_096,
            payload: 65_537,
            ..config()
        };
        assert!(matches!(config.check(), Err(ConfigError::Conflict(_))));
        config.payload = 65_536;
        assert_eq!(config.check(), Ok(()));
    }
}
