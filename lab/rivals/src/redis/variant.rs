//! Who takes part in which work.
//!
//! To add a rival, write a file in `peers` and add its lines here.

use super::decode::{self, Case};
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

/// On a shared connection. `client` is ours in the same tokio runtime as the peers, `client lanes` in
/// lanes of its own.
const SHARED: Taking = Taking {
    ours: &[
        variant("client", ours::client),
        variant("client lanes", ours::client_lanes),
    ],
    peers: &[
        variant("redis", peers::redis_rs::shared),
        variant("fred", peers::fred::shared),
        variant("rustis", peers::rustis::shared),
    ],
};

/// On a pool. `unchecked` peers do not ask the server at each lease whether it is still there, fred
/// never does; none of them resets what a lease leaves behind, ours does.
const POOLED: Taking = Taking {
    ours: &[
        variant("lease", ours::lease),
        variant("lease lanes", ours::lease_lanes),
    ],
    peers: &[
        variant("bb8-redis", peers::bb8::checked),
        variant("bb8-redis unchecked", peers::bb8::unchecked),
        variant("deadpool-redis", peers::deadpool::checked),
        variant("deadpool-redis unchecked", peers::deadpool::unchecked),
        variant("rustis", peers::rustis::pooled),
        variant("rustis unchecked", peers::rustis::pooled_unchecked),
        variant("fred unchecked", peers::fred::pooled),
    ],
};

/// A decoder alone, up to its own frame.
const DECODING: Taking = Taking {
    ours: &[variant("reply", decode::ours::run)],
    peers: &[
        variant("redis", decode::redis_rs::run),
        variant("redis-protocol", decode::redis_protocol::run),
        variant("rustis", decode::rustis::run),
    ],
};

/// A decoder alone, up to the caller's types.
const READING: Taking = Taking {
    ours: DECODING.ours,
    peers: &[
        variant("redis", decode::redis_rs::run),
        variant("rustis", decode::rustis::run),
    ],
};

/// The same of a reply that comes in pieces, with ours beside itself on the same reply in one.
const IN_PIECES: Taking = Taking {
    ours: DECODING.ours,
    peers: &[
        variant("redis", decode::redis_rs::run),
        variant("redis-protocol", decode::redis_protocol::run),
        variant("rustis", decode::rustis::run),
        variant("reply whole", decode::ours::run_whole),
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
            Kind::Get { .. } | Kind::Pipeline { .. } => SHARED,
            Kind::Lease { .. } => POOLED,
            Kind::Decode(Case::LrangePieces) => IN_PIECES,
            Kind::Decode(case) if case.is_read() => READING,
            Kind::Decode(_) => DECODING,
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
