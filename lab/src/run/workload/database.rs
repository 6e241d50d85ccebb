//! One configuration of `measure database`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Execution;

/// Operations a second that a slow machine reaches: for a guess of how long a run takes.
const GUESSED_RATE: f64 = 20_000.0;

/// Seconds after which an operation has surely been lost.
const MOST_SECONDS_AN_OPERATION: f64 = 0.001;

/// A fixed count of operations on a database client. The server is an embedded one, started for
/// the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Database {
    /// The database.
    pub engine: Engine,
    /// What the requests go through.
    pub api: Api,
    /// How requests come to a connection.
    pub access: Access,
    /// Bytes that travel each way.
    pub payload: u32,
    /// Connections.
    pub connections: u32,
    /// Operations at a time, on all connections together.
    pub outstanding: u32,
    /// Operations that count.
    pub operations: u64,
    /// Operations before them.
    pub warmup_operations: u64,
    /// Threads that do IO.
    pub io: Lanes,
}

impl Database {
    /// The cell's name: every dimension but the counts of operations.
    #[must_use]
    pub fn name(&self) -> String {
        format!(
            "engine={};api={};access={};payload={};conns={};outstanding={};io={}",
            self.engine,
            self.api,
            self.access,
            self.payload,
            self.connections,
            self.outstanding,
            self.io,
        )
    }

    /// What tells it from the other cells of its group, for people: connections / outstanding, as
    /// the original has it.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}/{}", self.connections, self.outstanding)
    }

    /// The same without what is outstanding.
    #[must_use]
    pub fn series(&self) -> String {
        match self.connections {
            1 => "1 connection".to_owned(),
            connections => format!("{connections} connections"),
        }
    }

    /// What follows the program's name on the command line of one measuring process.
    #[must_use]
    pub fn arguments(&self, execution: Execution) -> Vec<String> {
        let pairs = [
            ("--engine", self.engine.to_string()),
            ("--api", self.api.to_string()),
            ("--access", self.access.to_string()),
            ("--execution", execution.to_string()),
            ("--io", self.io.to_string()),
            ("--payload", self.payload.to_string()),
            ("--connections", self.connections.to_string()),
            ("--outstanding", self.outstanding.to_string()),
            ("--operations", self.operations.to_string()),
            ("--warmup-operations", self.warmup_operations.to_string()),
        ];
        let begin = ["measure", "database", "--embedded"].map(str::to_owned);
        let options = pairs
            .into_iter()
            .flat_map(|(flag, value)| [flag.to_owned(), value]);
        begin.into_iter().chain(options).collect()
    }

    fn all_operations(&self) -> f64 {
        self.operations.saturating_add(self.warmup_operations) as f64
    }

    /// Seconds that it will take, roughly.
    pub(super) fn guess(&self) -> f64 {
        self.all_operations() / GUESSED_RATE
    }

    /// Seconds after which it has hung.
    pub(super) fn most(&self) -> f64 {
        self.all_operations() * MOST_SECONDS_AN_OPERATION
    }
}

/// Threads that do IO, written `threads:1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Lanes(pub u32);

impl fmt::Display for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "threads:{}", self.0)
    }
}

impl From<Lanes> for String {
    fn from(lanes: Lanes) -> Self {
        lanes.to_string()
    }
}

impl TryFrom<String> for Lanes {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let threads = text.strip_prefix("threads:");
        let threads = threads.and_then(|threads| threads.parse().ok());
        threads
            .map(Self)
            .ok_or_else(|| format!("io `{text}` is not threads:N"))
    }
}

words!(
    /// The database.
    Engine {
        /// Redis.
        Redis = "redis",
    }
);
words!(
    /// What the requests go through.
    Api {
        /// arknet's client, from its own lanes.
        Client = "client",
    }
);
words!(
    /// How requests come to a connection.
    Access {
        /// A lease for each operation.
        Lease = "lease",
        /// A connection that all share.
        Shared = "shared",
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_spells_every_dimension_and_the_arguments_carry_them() {
        let workload = Database {
            engine: Engine::Redis,
            api: Api::Client,
            access: Access::Lease,
            payload: 64,
            connections: 4,
            outstanding: 16,
            operations: 40_000,
            warmup_operations: 4_000,
            io: Lanes::try_from("threads:1".to_owned()).unwrap(),
        };
        assert_eq!(
            workload.name(),
            "engine=redis;api=client;access=lease;payload=64;conns=4;outstanding=16;io=threads:1"
        );
        assert_eq!(workload.label(), "4/16");
        let line = workload.arguments(Execution::Callback).join(" ");
        assert!(line.starts_with("measure database --embedded --engine redis --api client"));
        assert!(line.contains("--access lease --execution callback --io threads:1"));
        assert!(line.ends_with("--operations 40000 --warmup-operations 4000"));
    }

    #[test]
    fn threads_that_are_no_number_are_refused() {
        for wrong in ["1", "inline", "threads:", "threads:-1"] {
            assert!(Lanes::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
