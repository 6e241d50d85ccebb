//! Who takes part in which work.
//!
//! To add a rival, write a file in `peers` and add its lines here.

use super::load::Load;
use super::work::Kind;
use super::{ours, peers};
use crate::failure::Failure;
use crate::sample::Sample;

/// One way to do some of the work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variant {
    /// The name in the output: for peers that of the crate, with what was changed about it.
    pub(crate) name: &'static str,
    /// Runs a load once in this process.
    pub(crate) run: fn(&Load) -> Result<Sample, Failure>,
}

const fn variant(name: &'static str, run: fn(&Load) -> Result<Sample, Failure>) -> Variant {
    Variant { name, run }
}

/// On a connection. `conn` is ours in the same tokio runtime as the peers.
const CONNECTED: Taking = Taking {
    ours: &[variant("conn", ours::conn)],
    peers: &[
        variant("mysql_async", peers::mysql_async::conn),
        variant("sqlx", peers::sqlx::conn),
    ],
};

/// On a pool. Ours resets the session behind the statement, `stateless` promises that it need not;
/// mysql_async resets it too, and waits for that, and `unreset` does not; sqlx never does, but asks
/// at each lease whether the server is there, which `unchecked` does not.
const POOLED: Taking = Taking {
    ours: &[
        variant("lease", ours::lease),
        variant("lease stateless", ours::lease_stateless),
    ],
    peers: &[
        variant("mysql_async", peers::mysql_async::pooled),
        variant("mysql_async unreset", peers::mysql_async::pooled_unreset),
        variant("sqlx", peers::sqlx::pooled),
        variant("sqlx unchecked", peers::sqlx::pooled_unchecked),
    ],
};

/// Ours and the peers of a kind of work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taking {
    pub(crate) ours: &'static [Variant],
    pub(crate) peers: &'static [Variant],
}

impl Taking {
    /// Who takes part in this work.
    pub(crate) fn part_in(kind: &Kind) -> Self {
        match kind {
            Kind::Select(_) | Kind::Scan(..) | Kind::Pipeline { .. } => CONNECTED,
            Kind::Lease { .. } => POOLED,
        }
    }
}

impl Variant {
    /// The one of this name.
    ///
    /// # Errors
    ///
    /// With the names that exist.
    pub(crate) fn find(name: &str, kind: &Kind) -> Result<&'static Self, Failure> {
        let Taking { ours, peers } = Taking::part_in(kind);
        let all = || ours.iter().chain(peers);
        all().find(|variant| variant.name == name).ok_or_else(|| {
            let names = all().map(|variant| variant.name).collect::<Vec<_>>();
            Failure::Usage(format!(
                "nobody called {name} does this work; there are {}",
                names.join(", ")
            ))
        })
    }
}
