//! Why a measurement could not be made at all.

use std::io;

use super::config::ConfigError;

/// Why a measurement could not be made. One that was made and is invalid is a `Measurement` that
/// says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration is refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Sockets, threads or a runtime could not be had.
    #[error("{what}: {source}")]
    Setup {
        /// What was being done.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// The configuration is sound, but not on this system.
    #[error("{0}")]
    Unsupported(&'static str),
}

impl Error {
    /// For `map_err`: says what was being done.
    pub fn setup(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let what = what.into();
        move |source| Error::Setup { what, source }
    }
}
