//! One configuration of `measure database`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Execution;

/// Operations a second that a slow machine reaches: for a guess of how long a run takes.
const GUESSED_RATE: f64 = 20_000.0;

/// Seconds after which an operation has surely been lost.
const MOST_SECONDS_AN_OPERATION: f64 = 0.001;

/// Ticks of a second at a cadence of 1 ms.
const TICKS: f64 = 1_000.0;

/// As many times slower than guessed is a machine that does much else.
const MOST_TIMES_SLOWER: f64 = 4.0;

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
    /// Where IO happens.
    pub io: Lanes,
    /// When the owner updates; none without an owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<Update>,
}

impl Database {
    /// The cell's name: every dimension but the counts of operations.
    #[must_use]
    pub fn name(&self) -> String {
        let name = format!(
            "engine={};api={};access={};payload={};conns={};outstanding={};io={}",
            self.engine,
            self.api,
            self.access,
            self.payload,
            self.connections,
            self.outstanding,
            self.io,
        );
        match self.update {
            Some(update) => format!("{name};update={update}"),
            None => name,
        }
    }

    /// What tells it from the other cells of its group, for people: connections / outstanding, as
    /// the original has it.
    #[must_use]
    pub fn label(&self) -> String {
        let shape = format!("{}/{}", self.connections, self.outstanding);
        match self.update {
            Some(update) => format!("{} B · {update} · {shape}", self.payload),
            None => shape,
        }
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
        let update = self.update.map(|update| ("--update", update.to_string()));
        let options = pairs
            .into_iter()
            .chain(update)
            .flat_map(|(flag, value)| [flag.to_owned(), value]);
        begin.into_iter().chain(options).collect()
    }

    /// How many operations end in a second at most: with a fixed cadence, as many as are outstanding in a tick.
    fn guessed_rate(&self) -> f64 {
        match self.update {
            Some(Update::Millisecond) => GUESSED_RATE.min(f64::from(self.outstanding) * TICKS),
            _ => GUESSED_RATE,
        }
    }

    fn all_operations(&self) -> f64 {
        self.operations.saturating_add(self.warmup_operations) as f64
    }

    /// Seconds that it will take, roughly.
    pub(super) fn guess(&self) -> f64 {
        self.all_operations() / self.guessed_rate()
    }

    /// Seconds after which it has hung.
    pub(super) fn most(&self) -> f64 {
        self.all_operations() * MOST_SECONDS_AN_OPERATION + self.guess() * MOST_TIMES_SLOWER
    }
}

/// Where IO happens, written `threads:1` or `inline`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Lanes {
    /// On so many threads.
    Threads(u32),
    /// On the owner's own.
    Inline,
}

impl Lanes {
    /// Threads that do nothing but IO.
    #[must_use]
    pub fn threads(self) -> u32 {
        match self {
            Self::Threads(threads) => threads,
            Self::Inline => 0,
        }
    }
}

impl fmt::Display for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Threads(threads) => write!(f, "threads:{threads}"),
            Self::Inline => f.write_str("inline"),
        }
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
        if text == "inline" {
            return Ok(Self::Inline);
        }
        let threads = text.strip_prefix("threads:");
        let threads = threads.and_then(|threads| threads.parse().ok());
        threads
            .map(Self::Threads)
            .ok_or_else(|| format!("io `{text}` is neither threads:N nor inline"))
    }
}

words!(
    /// When the owner updates.
    Update {
        /// Without a pause.
        Continuous = "continuous",
        /// At a cadence of 1 ms.
        Millisecond = "1ms",
        /// When there is something to do.
        Parked = "parked",
    }
);
words!(
    /// The database.
    Engine {
        /// Redis.
        Redis = "redis",
        /// MySQL or MariaDB.
        Mysql = "mysql",
    }
);
words!(
    /// What the requests go through.
    Api {
        /// arknet's client, from its own lanes.
        Client = "client",
        /// arknet's owner, which submits and is delivered to.
        Owner = "owner",
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
            update: None,
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
        let owner = Database {
            api: Api::Owner,
            io: Lanes::Inline,
            update: Some(Update::Millisecond),
            ..workload
        };
        assert!(owner.name().ends_with(";io=inline;update=1ms"));
        assert_eq!(owner.label(), "64 B · 1ms · 4/16");
        let line = owner.arguments(Execution::Async).join(" ");
        assert!(line.contains("--api owner") && line.ends_with("--update 1ms"));
        // 16 in each tick, and not as fast as the server can.
        assert!(owner.guess() > 2.0);
    }

    #[test]
    fn threads_that_are_no_number_are_refused() {
        for wrong in ["1", "in", "threads:", "threads:-1"] {
            assert!(Lanes::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
