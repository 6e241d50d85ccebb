//! What one measurement of a database client is asked to do, and the ranges that are accepted.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

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
    /// MySQL or MariaDB: one prepared SELECT of its own parameter an operation.
    Mysql,
}

/// What the requests go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// arknet's client, from its own lanes.
    Client,
    /// arknet's owner: one thread submits, and has everything delivered to it.
    Owner,
}

/// When the owner updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Update {
    /// Without a pause.
    Continuous,
    /// At a cadence of 1 ms.
    #[value(name = "1ms")]
    #[serde(rename = "1ms")]
    Millisecond,
    /// When there is something to do, after a short spin.
    Parked,
}

/// Where IO happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// On so many threads.
    Threads(usize),
    /// On the owner's own.
    Inline,
}

impl fmt::Display for Io {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Io::Threads(threads) => write!(f, "threads:{threads}"),
            Io::Inline => f.write_str("inline"),
        }
    }
}

impl FromStr for Io {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "inline" {
            return Ok(Io::Inline);
        }
        let threads = text.strip_prefix("threads:");
        let threads = threads.and_then(|threads| threads.parse().ok());
        let threads = threads.ok_or_else(|| "neither threads:N nor inline".to_owned())?;
        Ok(Io::Threads(threads))
    }
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

impl Engine {
    /// What `serve` calls its embedded server.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Redis => "redis",
            Engine::Mysql => "mysql",
        }
    }
}

/// Whose server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Server {
    /// One of the lab's own, started for the run by this program as `serve ENGINE`.
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
    /// Where IO happens: on 1 to 64 threads, or, with an owner, on its own.
    pub io: Io,
    /// When the owner updates; `None` without one.
    pub update: Option<Update>,
    /// How long an owner that parks looks for work before it sleeps; `None` for the library's default.
    pub spin: Option<Duration>,
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
            io: Io::Threads(1),
            update: None,
            spin: None,
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
        if let Io::Threads(threads) = self.io {
            within("io threads", &threads, &1, &MAX_IO_THREADS)?;
        }
        self.check_owner()?;
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
        if self.engine == Engine::Mysql && self.access == Access::Shared {
            return Err(ConfigError::Conflict(
                "mysql has no connections that all share: access must be lease",
            ));
        }
        if self.engine == Engine::Mysql && self.api == Api::Owner {
            return Err(ConfigError::Conflict(
                "an owner's requests go to redis: mysql is measured by --api client",
            ));
        }
        let in_flight = self.outstanding.saturating_mul(self.payload);
        if in_flight > MAX_BYTES_IN_FLIGHT {
            return Err(ConfigError::Conflict(
                "outstanding x payload is more than the limit of 256 MiB in flight",
            ));
        }
        Ok(())
    }

    fn check_owner(&self) -> Result<(), ConfigError> {
        let conflict = |text| Err(ConfigError::Conflict(text));
        match (self.api, self.update) {
            (Api::Client, Some(_)) => return conflict("only an owner has updates: --api owner"),
            (Api::Owner, None) => return conflict("an owner needs --update"),
            (Api::Client, None) | (Api::Owner, Some(_)) => {}
        }
        if self.api == Api::Client && self.io == Io::Inline {
            return conflict("only an owner does IO inline: --api owner");
        }
        if self.api == Api::Owner && self.access == Access::Shared {
            return conflict("an owner's requests go through leases: --access lease");
        }
        if self.spin.is_some() && self.update != Some(Update::Parked) {
            return conflict("only a parked owner spins: --update parked");
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
    fn what_only_an_owner_has_is_refused_without_one() {
        let owner = DatabaseConfig {
            api: Api::Owner,
            update: Some(Update::Parked),
            io: Io::Inline,
            spin: Some(Duration::ZERO),
            ..config()
        };
        assert_eq!(owner.check(), Ok(()));
        let wrong = [
            DatabaseConfig {
                api: Api::Client,
                ..owner.clone()
            },
            DatabaseConfig {
                update: None,
                ..owner.clone()
            },
            DatabaseConfig {
                update: Some(Update::Continuous),
                ..owner.clone()
            },
            DatabaseConfig {
                access: Access::Shared,
                ..owner
            },
            DatabaseConfig {
                io: Io::Inline,
                ..config()
            },
        ];
        for config in wrong {
            let refused = config.check();
            assert!(
                matches!(refused, Err(ConfigError::Conflict(_))),
                "{config:?}"
            );
        }
    }

    #[test]
    fn what_an_engine_has_not_is_refused() {
        let mut config = DatabaseConfig {
            engine: Engine::Mysql,
            ..config()
        };
        assert_eq!(config.check(), Ok(()));
        config.access = Access::Shared;
        assert!(matches!(config.check(), Err(ConfigError::Conflict(_))));
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
