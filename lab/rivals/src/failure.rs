//! What can go wrong in a run, in words that name the run.

use std::fmt;
use std::io;

use arknet_lab::measure;
use thiserror::Error;

/// Why a run gave no sample.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The command line asks for something that does not exist.
    #[error("{0}")]
    Usage(String),
    /// The system refused something; `doing` says what was being done.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A library refused something or failed.
    #[error("{doing}: {why}")]
    Library {
        /// What was being done.
        doing: &'static str,
        /// What the library said.
        why: String,
    },
    /// The lab could not measure.
    #[error(transparent)]
    Lab(#[from] measure::Error),
    /// The measurement was made and does not count.
    #[error("the measurement is invalid: {0}")]
    Invalid(String),
    /// A child process did not print a good sample.
    #[error("{variant}: {why}")]
    Child {
        /// Whose run it was.
        variant: &'static str,
        /// How it ended.
        why: String,
    },
    /// The C++ sources do not compile although the compiler and the headers are there.
    #[error("compiling the Boost.Asio echo: {0}")]
    Compile(String),
}

impl Failure {
    /// For `map_err`: names what was being done.
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }

    /// For `map_err`: names what was being done, and keeps the library's words.
    pub(crate) fn library<E: fmt::Display>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::Library {
            doing,
            why: error.to_string(),
        }
    }
}
