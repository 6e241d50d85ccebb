//! How a command ends. The numbers are part of the lab's interface.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

/// How a command ended well, or well enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Everything was done.
    Done,
    /// It was done, and a measurement failed or records do not verify.
    Failed,
    /// The machine is too busy to measure.
    Noisy,
    /// It was asked to stop.
    Interrupted,
}

/// Why a command could not be done.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was asked for something that cannot be; nothing was written.
    Usage(String),
    /// It went wrong.
    Broken(String),
}

impl Failure {
    /// It was asked for something that cannot be.
    pub(crate) fn usage(error: impl Display) -> Self {
        Self::Usage(error.to_string())
    }

    /// It went wrong.
    pub(crate) fn broken(error: impl Display) -> Self {
        Self::Broken(error.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::broken(format!("writing the output: {error}"))
    }
}

/// The exit status, and the error on standard error.
pub(crate) fn code(end: Result<End, Failure>) -> ExitCode {
    let (status, text) = match end {
        Ok(End::Done) => (0, None),
        Ok(End::Failed) => (1, None),
        Ok(End::Noisy) => (4, None),
        Ok(End::Interrupted) => (130, None),
        Err(Failure::Broken(text)) => (1, Some(text)),
        Err(Failure::Usage(text)) => (2, Some(text)),
    };
    if let Some(text) = text {
        // When standard error is gone there is nobody left to tell.
        let _ = writeln!(io::stderr(), "arknet-lab: {text}");
    }
    ExitCode::from(status)
}

/// Prints a line on standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        // The reader of a pipe has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Prints a line on standard error.
pub(crate) fn say(text: &str) {
    // Progress and warnings are worth nothing to a closed stream.
    let _ = writeln!(io::stderr(), "{text}");
}
