//! A set of cells of a plan that share durations and a heading: the product of its lists.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Cell, PlanError};
use crate::run::workload::{
    Access, Api, Database, Engine, Implementation, Io, Lanes, Protocol, Traffic, Transport, Update,
    Workload,
};

/// The longest measured interval, as in the originals.
const MAX_SECONDS: f64 = 600.0;

/// As many operations as fit into that interval on a fast machine.
const MAX_OPERATIONS: u64 = 1_000_000_000;

/// A set of cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Group {
    /// Cells of `measure transport`.
    Transport(TransportGroup),
    /// Cells of `measure database`.
    Database(DatabaseGroup),
}

impl<'de> Deserialize<'de> for Group {
    /// A group of databases has an engine. Nothing is tried twice, so that an error names the
    /// field.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let table = toml::Table::deserialize(from)?;
        if table.contains_key("engine") {
            let group = table.try_into().map_err(D::Error::custom)?;
            return Ok(Self::Database(group));
        }
        let group = table.try_into().map_err(D::Error::custom)?;
        Ok(Self::Transport(group))
    }
}

/// Cells of `measure transport`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransportGroup {
    /// Heading in the report.
    pub title: String,
    /// Whose code is measured.
    pub implementation: Implementation,
    /// The protocol on the wire.
    pub protocol: Protocol,
    /// Batches or a window.
    pub traffic: Traffic,
    /// Bytes per message.
    pub payload: u32,
    /// Connections.
    pub clients: u32,
    /// Seconds before the measured interval.
    pub warmup: f64,
    /// Measured seconds.
    pub seconds: f64,
    /// Messages in flight, one cell each.
    pub windows: Vec<u32>,
    /// Computation per message, one cell each.
    pub work: Vec<u32>,
    /// Topologies, one cell each.
    pub io: Vec<Io>,
}

/// Cells of `measure database`, on an embedded server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseGroup {
    /// Heading in the report.
    pub title: String,
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
    /// Operations before those that count.
    pub warmup_operations: u64,
    /// Operations that count: one number for all cells, or one for each of `outstanding`.
    pub operations: Counts,
    /// Operations at a time, one cell each.
    pub outstanding: Vec<u32>,
    /// Where IO happens, one cell each.
    pub io: Vec<Lanes>,
    /// When the owner updates, one cell each; none without an owner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub update: Vec<Update>,
}

/// How many operations count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Counts {
    /// As many in every cell.
    One(u64),
    /// In the order of what is outstanding.
    Each(Vec<u64>),
}

impl Counts {
    fn all(&self) -> &[u64] {
        match self {
            Self::One(count) => std::slice::from_ref(count),
            Self::Each(counts) => counts,
        }
    }

    fn of(&self, cell: usize) -> u64 {
        match self {
            Self::One(count) => *count,
            Self::Each(counts) => counts.get(cell).copied().unwrap_or_default(),
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts: Vec<String> = self.all().iter().map(u64::to_string).collect();
        f.write_str(&counts.join(", "))
    }
}

impl Group {
    /// Heading in the report.
    #[must_use]
    pub fn title(&self) -> &str {
        match self {
            Self::Transport(group) => &group.title,
            Self::Database(group) => &group.title,
        }
    }

    /// What all its cells have in common, in words.
    #[must_use]
    pub fn facts(&self) -> String {
        match self {
            Self::Transport(group) => format!(
                "{}: {} connections, {} B, warm-up {} s, measured {} s",
                group.title, group.clients, group.payload, group.warmup, group.seconds
            ),
            Self::Database(group) => format!(
                "{}: connections {}, {} B, warm-up {} operations, measured {} operations",
                group.title,
                group.connections,
                group.payload,
                group.warmup_operations,
                group.operations
            ),
        }
    }

    /// Another measured interval, for what is measured by time.
    pub(super) fn set_seconds(&mut self, seconds: f64) {
        if let Self::Transport(group) = self {
            group.seconds = seconds;
        }
    }

    pub(super) fn cells(&self) -> Vec<Cell> {
        let workloads: Vec<Workload> = match self {
            Self::Transport(group) => group.workloads().map(Workload::Transport).collect(),
            Self::Database(group) => group.workloads().map(Workload::Database).collect(),
        };
        let cell = |workload: Workload| Cell {
            name: workload.name(),
            group: self.title().to_owned(),
            workload,
        };
        workloads.into_iter().map(cell).collect()
    }

    pub(super) fn check(&self) -> Result<(), PlanError> {
        let broken = |rule: &str| {
            let title = self.title();
            Err(PlanError::Range(format!("{title}: {rule}")))
        };
        match self {
            Self::Transport(group) => {
                if !(group.seconds > 0.0 && group.seconds <= MAX_SECONDS) {
                    return broken("seconds must be above 0, at most 600");
                }
                if !(group.warmup >= 0.0 && group.warmup <= MAX_SECONDS) {
                    return broken("warmup must be 0 to 600");
                }
            }
            Self::Database(group) => {
                let counts = group.operations.all();
                if counts
                    .iter()
                    .any(|count| !(1..=MAX_OPERATIONS).contains(count))
                    || group.warmup_operations > MAX_OPERATIONS
                {
                    return broken("operations must be 1 to 1000000000");
                }
                if let Counts::Each(counts) = &group.operations
                    && counts.len() != group.outstanding.len()
                {
                    return broken("operations must be one number, or one for each outstanding");
                }
                if (group.api == Api::Owner) == group.update.is_empty() {
                    return broken("an owner needs update, and nothing else has it");
                }
            }
        }
        Ok(())
    }
}

impl TransportGroup {
    fn workloads(&self) -> impl Iterator<Item = Transport> {
        let shapes = self.io.iter().flat_map(move |&io| {
            let of_io = move |&work| self.windows.iter().map(move |&window| (io, work, window));
            self.work.iter().flat_map(of_io)
        });
        shapes.map(|(io, work, window)| Transport {
            implementation: self.implementation,
            protocol: self.protocol,
            traffic: self.traffic,
            payload: self.payload,
            clients: self.clients,
            window,
            work,
            io,
            warmup: self.warmup,
            seconds: self.seconds,
        })
    }
}

impl DatabaseGroup {
    fn workloads(&self) -> impl Iterator<Item = Database> {
        let updates: Vec<Option<Update>> = match self.update.as_slice() {
            [] => vec![None],
            updates => updates.iter().copied().map(Some).collect(),
        };
        let mut workloads = Vec::new();
        for &io in &self.io {
            for &update in &updates {
                for (cell, &outstanding) in self.outstanding.iter().enumerate() {
                    workloads.push(Database {
                        engine: self.engine,
                        api: self.api,
                        access: self.access,
                        payload: self.payload,
                        connections: self.connections,
                        outstanding,
                        operations: self.operations.of(cell),
                        warmup_operations: self.warmup_operations,
                        io,
                        update,
                    });
                }
            }
        }
        workloads.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use crate::run::plan::Plan;

    #[test]
    fn a_field_that_is_wrong_is_named() {
        let quick = Plan::text("quick").unwrap();
        let wrong = quick.replacen("outstanding", "outstandig", 1);
        let error = Plan::parse(&wrong).unwrap_err().to_string();
        assert!(error.contains("outstandig"), "{error}");
        let wrong = quick.replacen("windows", "widows", 1);
        let error = Plan::parse(&wrong).unwrap_err().to_string();
        assert!(error.contains("widows"), "{error}");
    }

    #[test]
    fn the_database_plans_are_the_cells_and_the_counts_of_the_first_original() {
        let (long, short) = (Plan::find("database"), Plan::find("database-short"));
        let (long, short) = (long.unwrap(), short.unwrap());
        let names = |plan: &Plan| {
            let cells = plan.cells().into_iter();
            cells.map(|cell| cell.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&long), names(&short));
        assert_eq!(names(&long).len(), 28, "of Redis");
        let counts: Vec<u64> = long
            .cells()
            .iter()
            .filter_map(|cell| match &cell.workload {
                crate::run::workload::Workload::Database(database) => Some(database.operations),
                crate::run::workload::Workload::Transport(_) => None,
            })
            .collect();
        // 5,044,224 operations in three times two processes, for each of two databases.
        assert_eq!(counts.iter().sum::<u64>() * 3 * 2 * 2, 5_044_224);
    }

    #[test]
    fn no_operations_are_refused() {
        let quick = Plan::text("quick").unwrap();
        let none = quick.replace("\noperations = ", "\noperations = 0 #");
        let error = Plan::parse(&none).unwrap_err().to_string();
        assert!(error.contains("operations must be 1"), "{error}");
    }
}
