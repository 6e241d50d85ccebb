//! What a session is going to measure, fixed before anything runs.
//!
//! A plan names its cells, repetitions, order, primary metric, equivalence margin and exclusion
//! rules. The one that a session really follows, overrides included, is written to `plan.toml`
//! and hashed into the chain of records, so that nothing can be decided afterwards.

mod group;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::group::{Counts, DatabaseGroup, Group, TransportGroup};
use super::workload::{Execution, Workload};

/// The plans that ship with the lab, by name.
const BUILT_IN: [(&str, &str); 6] = [
    ("quick", include_str!("../../../plans/quick.toml")),
    ("native-tcp", include_str!("../../../plans/native-tcp.toml")),
    (
        "native-tcp-short",
        include_str!("../../../plans/native-tcp-short.toml"),
    ),
    (
        "endpoint-tcp-short",
        include_str!("../../../plans/endpoint-tcp-short.toml"),
    ),
    ("database", include_str!("../../../plans/database.toml")),
    (
        "database-short",
        include_str!("../../../plans/database-short.toml"),
    ),
];

/// The version of the plan format that this lab reads.
const SCHEMA: u32 = 1;
/// As many pairs of a cell as the originals' runner allows; more is a mistake in typing.
const MAX_REPETITIONS: u32 = 100;
/// A plan that needs more cells than this cannot end within a day.
const MAX_CELLS: usize = 1024;

/// A fixed experiment: cells, order and the rules for reading it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of this format.
    pub schema: u32,
    /// The name it is asked for by.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// The question that the session answers.
    pub asks: String,
    /// Pairs per cell.
    pub repetitions: u32,
    /// What shuffles the cells and chooses which arm a block starts with.
    pub seed: u64,
    /// The figure that verdicts are about.
    pub primary_metric: Metric,
    /// Relative difference below which two arms count as equal in practice.
    pub equivalence_margin: f64,
    /// Only cells whose name contains this are run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// The two executions of a pair, baseline first.
    pub arms: [Execution; 2],
    /// The order of processes.
    pub order: Order,
    /// What is left out of summaries, and why.
    pub exclusion: Exclusion,
    /// Sets of cells that share durations and a heading.
    #[serde(rename = "group")]
    pub groups: Vec<Group>,
}

/// The order of processes within a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Pairs alternate (AB, BA), so that a linear drift of the machine cancels.
    Abba,
}

/// The figure that verdicts are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Messages that came back per second.
    RoundtripsPerSecond,
    /// Processor time per message, both sides.
    CpuNsPerMessage,
}

impl Metric {
    /// The key of the figure in a measurement.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::RoundtripsPerSecond => "roundtrips_per_second",
            Self::CpuNsPerMessage => "cpu_ns_per_message",
        }
    }
}

/// What is left out of summaries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exclusion {
    /// A failed repetition takes its whole cell out of the summaries; it stays listed.
    pub failed_repetition: FailedRepetition,
    /// A run during which the hypervisor took more than this share of the machine is marked noisy.
    pub noisy_steal_percent: f64,
    /// A run during which tasks waited for a processor for more than this share of the time is
    /// marked noisy.
    pub noisy_pressure_percent: f64,
}

/// What a failed repetition excludes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailedRepetition {
    /// The cell, both arms, every repetition.
    Cell,
}

/// One cell of a plan: its name, its heading and its configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The canonical name.
    pub name: String,
    /// The title of the group that it belongs to.
    pub group: String,
    /// What is measured.
    pub workload: Workload,
}

/// Why a plan cannot be used.
#[derive(Debug, Error)]
pub enum PlanError {
    /// No such name and no such file.
    #[error("no plan is called `{name}`; known plans: {known}; a path must end in .toml")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// The file could not be read.
    #[error("cannot read the plan {path}: {source}")]
    Read {
        /// The path as given.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Not a plan.
    #[error("cannot parse the plan: {0}")]
    Parse(#[from] toml::de::Error),
    /// Cannot be written as TOML.
    #[error("cannot write the plan as text: {0}")]
    Write(#[from] toml::ser::Error),
    /// A value is out of its range.
    #[error("plan: {0}")]
    Range(String),
}

impl Plan {
    /// The names of the plans that ship with the lab.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The text of a plan that ships with the lab.
    #[must_use]
    pub fn text(name: &str) -> Option<&'static str> {
        BUILT_IN
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, text)| *text)
    }

    /// Finds a plan by name, or reads it when `name` is a path that ends in `.toml`.
    ///
    /// # Errors
    /// When there is no such plan, or when it cannot be read, parsed or followed.
    pub fn find(name: &str) -> Result<Self, PlanError> {
        if let Some(text) = Self::text(name) {
            return Self::parse(text);
        }
        if !name.ends_with(".toml") {
            let known = Self::names().collect::<Vec<_>>().join(", ");
            return Err(PlanError::Unknown {
                name: name.to_owned(),
                known,
            });
        }
        let text = std::fs::read_to_string(name).map_err(|source| PlanError::Read {
            path: name.to_owned(),
            source,
        })?;
        Self::parse(&text)
    }

    /// Reads a plan and checks that it can be followed.
    ///
    /// # Errors
    /// When the text is not a plan or a value is out of its range.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let plan: Self = toml::from_str(text)?;
        plan.check()?;
        Ok(plan)
    }

    /// The plan as TOML.
    ///
    /// # Errors
    /// When a value has no TOML form.
    pub fn to_toml(&self) -> Result<String, PlanError> {
        Ok(toml::to_string(self)?)
    }

    /// The plan with what the command line overrides.
    ///
    /// # Errors
    /// When an override is out of range or the filter leaves no cell.
    pub fn with(
        mut self,
        filter: Option<&str>,
        repetitions: Option<u32>,
        seconds: Option<f64>,
    ) -> Result<Self, PlanError> {
        if let Some(filter) = filter {
            self.filter = Some(filter.to_owned());
        }
        self.repetitions = repetitions.unwrap_or(self.repetitions);
        if let Some(seconds) = seconds {
            self.groups
                .iter_mut()
                .for_each(|group| group.set_seconds(seconds));
        }
        self.check()?;
        Ok(self)
    }

    /// The cells that are run, in the order of the plan.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell> {
        let all = self.groups.iter().flat_map(Group::cells);
        match &self.filter {
            Some(filter) => all
                .filter(|cell| cell.name.contains(filter.as_str()))
                .collect(),
            None => all.collect(),
        }
    }

    /// How many processes a whole session starts.
    #[must_use]
    pub fn processes(&self) -> usize {
        let per_cell = usize::try_from(self.repetitions)
            .unwrap_or(usize::MAX)
            .saturating_mul(2);
        self.cells().len().saturating_mul(per_cell)
    }

    fn check(&self) -> Result<(), PlanError> {
        let range = |ok: bool, text: &str| match ok {
            true => Ok(()),
            false => Err(PlanError::Range(text.to_owned())),
        };
        range(self.schema == SCHEMA, "schema must be 1")?;
        range(
            (1..=MAX_REPETITIONS).contains(&self.repetitions),
            "repetitions must be 1 to 100",
        )?;
        range(
            self.equivalence_margin > 0.0 && self.equivalence_margin < 1.0,
            "equivalence_margin must lie between 0 and 1",
        )?;
        range(self.arms[0] != self.arms[1], "the two arms must differ")?;
        for group in &self.groups {
            group.check()?;
        }
        let cells = self.cells();
        let mut names: Vec<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        range(names.len() == cells.len(), "two cells have the same name")?;
        range(cells.len() <= MAX_CELLS, "more than 1024 cells")?;
        match (&self.filter, cells.is_empty()) {
            (Some(filter), true) => Err(PlanError::Range(format!(
                "no cell's name contains `{filter}`"
            ))),
            (None, true) => Err(PlanError::Range("the plan has no cells".to_owned())),
            (_, false) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_that_ships_parses_and_survives_being_written() {
        for name in Plan::names() {
            let plan = Plan::find(name).unwrap();
            assert_eq!(plan.name, name);
            assert_eq!(Plan::parse(&plan.to_toml().unwrap()).unwrap(), plan);
        }
    }

    #[test]
    fn native_tcp_is_twelve_configurations_by_two_by_three() {
        let plan = Plan::find("native-tcp").unwrap();
        assert_eq!(plan.cells().len(), 12);
        assert_eq!(plan.processes(), 72);
    }

    #[test]
    fn overrides_are_part_of_the_plan_and_checked() {
        let plan = Plan::find("native-tcp").unwrap();
        let cut = plan
            .clone()
            .with(Some("window=16;"), Some(1), Some(0.1))
            .unwrap();
        assert_eq!(cut.cells().len(), 6);
        assert!(
            cut.cells()
                .iter()
                .all(|cell| (cell.workload.seconds() - 0.35).abs() < 1e-9)
        );
        assert!(plan.clone().with(Some("window=99"), None, None).is_err());
        assert!(plan.clone().with(None, Some(0), None).is_err());
        assert!(plan.clone().with(None, None, Some(f64::NAN)).is_err());
        assert!(plan.with(None, None, Some(601.0)).is_err());
    }

    #[test]
    fn an_unknown_plan_is_refused_with_the_names_that_exist() {
        let error = Plan::find("nope").unwrap_err().to_string();
        assert!(error.contains("native-tcp-short"), "{error}");
    }
}
