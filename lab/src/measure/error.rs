//! Why a measurement could not be made at all.

use super::config::ConfigError;

/// Why a measurement could not be made. One that was made and is invalid is a `Measurement` that
/// says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration is refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Sockets, threads, certificates or a runtime could not be had.
    #[error("{what}: {source}")]
    Setup {
        /// What was being done.
        what: String,
        /// What the system or the library said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The configuration is sound, but not on this system.
    #[error("{0}")]
    Unsupported(&'static str),
}

impl Error {
    /// For `map_err`: says what was being done.
    pub fn setup<E>(what: impl Into<String>) -> impl FnOnce(E) -> Error
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let what = what.into();
        move |source| Error::Setup {
            what,
            source: source.into(),
        }
    }
}
