//! What this binary was built from, as `build.rs` found it.

use serde::{Deserialize, Serialize};

use super::redact::Redactor;

/// Text of the lock file that this binary was built with; only its hash is recorded.
const LOCK: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock"));

/// The origin of a binary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildInfo {
    /// Version of the lab.
    pub version: String,
    /// Commit, or `unknown` outside a repository.
    pub commit: String,
    /// `yes`, `no` or `unknown`: whether tracked files differed from the commit.
    pub dirty: String,
    /// What `rustc -V` printed.
    pub rustc: String,
    /// Target triple.
    pub target: String,
    /// `release` or `debug`.
    pub profile: String,
    /// Optimisation level.
    pub opt_level: String,
    /// Flags given to the compiler beyond cargo's own.
    pub rustflags: String,
    /// Hash of Cargo.lock.
    pub lock: String,
}

impl BuildInfo {
    /// What is known of this binary.
    #[must_use]
    pub fn current(redactor: &Redactor) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: env!("ARKNET_LAB_COMMIT").to_owned(),
            dirty: env!("ARKNET_LAB_DIRTY").to_owned(),
            rustc: env!("ARKNET_LAB_RUSTC").to_owned(),
            target: env!("ARKNET_LAB_TARGET").to_owned(),
            profile: env!("ARKNET_LAB_PROFILE").to_owned(),
            opt_level: env!("ARKNET_LAB_OPT_LEVEL").to_owned(),
            rustflags: redactor.clean(env!("ARKNET_LAB_RUSTFLAGS")),
            lock: super::chain::hash(LOCK.as_bytes()),
        }
    }
}
