//! One configuration of `measure transport` or `measure database`, as a plan fixes it.
//!
//! A cell is a workload; its two arms differ in nothing but the execution style. The canonical
//! name is what records, filters and reports call the cell by, so it spells every dimension.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// Declares an enumeration whose words are the same on the command line, in plans and in records.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant),+ }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $word),+ })
            }
        }
    };
}

// Below the macro that both use.
mod database;
mod transport;

pub use self::database::{Access, Api, Database, Engine, Lanes, Update};
pub use self::transport::{Implementation, Io, IoModel, Protocol, Traffic, Transport};

/// Everything that one measuring process is told, except its execution style.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Workload {
    /// `measure transport`.
    Transport(Transport),
    /// `measure database`.
    Database(Database),
}

impl<'de> Deserialize<'de> for Workload {
    /// A database has an engine. Nothing is tried twice, so that an error names the field.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let fields = serde_json::Map::deserialize(from)?;
        let is_database = fields.contains_key("engine");
        let fields = serde_json::Value::Object(fields);
        if is_database {
            let database = Database::deserialize(fields).map_err(D::Error::custom)?;
            return Ok(Self::Database(database));
        }
        let transport = Transport::deserialize(fields).map_err(D::Error::custom)?;
        Ok(Self::Transport(transport))
    }
}

impl Workload {
    /// The cell's name: every dimension but how long it is measured, which a plan sets for a whole
    /// group.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Transport(transport) => transport.name(),
            Self::Database(database) => database.name(),
        }
    }

    /// What tells it from the other cells of its group, for people.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Transport(transport) => transport.label(),
            Self::Database(database) => database.label(),
        }
    }

    /// What tells it from the other cells of its group when messages in flight are on an axis.
    #[must_use]
    pub fn series(&self) -> String {
        match self {
            Self::Transport(transport) => transport.series(),
            Self::Database(database) => database.series(),
        }
    }

    /// What follows the program's name on the command line of one measuring process.
    #[must_use]
    pub fn arguments(&self, execution: Execution) -> Vec<String> {
        match self {
            Self::Transport(transport) => transport.arguments(execution),
            Self::Database(database) => database.arguments(execution),
        }
    }

    /// Messages in flight on a connection, or operations outstanding on all.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        match self {
            Self::Transport(transport) => transport.window,
            Self::Database(database) => database.outstanding,
        }
    }

    /// Connections.
    #[must_use]
    pub fn connections(&self) -> u32 {
        match self {
            Self::Transport(transport) => transport.clients,
            Self::Database(database) => database.connections,
        }
    }

    /// Bytes that travel each way.
    #[must_use]
    pub fn payload(&self) -> u32 {
        match self {
            Self::Transport(transport) => transport.payload,
            Self::Database(database) => database.payload,
        }
    }

    /// Steps of computation per message on the server; a database does its own.
    #[must_use]
    pub fn work(&self) -> u32 {
        match self {
            Self::Transport(transport) => transport.work,
            Self::Database(_) => 0,
        }
    }

    /// Scheduler shape and threads, as a column shows them.
    #[must_use]
    pub fn io(&self) -> String {
        match self {
            Self::Transport(transport) => transport.io.to_string(),
            Self::Database(database) => database.io.to_string(),
        }
    }

    /// Threads that do IO.
    #[must_use]
    pub fn threads(&self) -> u32 {
        match self {
            Self::Transport(transport) => transport.io.threads,
            Self::Database(database) => database.io.threads(),
        }
    }

    /// What one latency observation is of.
    #[must_use]
    pub fn latency_mode(&self) -> &'static str {
        match self {
            Self::Transport(transport) => transport.latency_mode(),
            Self::Database(_) => "operation",
        }
    }

    /// Seconds of traffic, the warm-up included: as asked, or for a fixed count of operations a
    /// guess.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        match self {
            Self::Transport(transport) => transport.warmup + transport.seconds,
            Self::Database(database) => database.guess(),
        }
    }

    /// Seconds that its traffic may take before it has surely hung.
    #[must_use]
    pub fn most_seconds(&self) -> f64 {
        match self {
            Self::Transport(_) => self.seconds(),
            Self::Database(database) => database.most(),
        }
    }
}

words!(
    /// The style in which a program is written; the two arms of every pair.
    Execution {
        /// Handlers called by the driver.
        Callback = "callback",
        /// Tasks that await.
        Async = "async",
    }
);
