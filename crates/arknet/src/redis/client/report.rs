//! How a client ended.

/// What [`Client::close`](super::Client::close) found.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Whether everything that had been taken in was answered.
    pub finished: bool,
    /// Requests that were cut: those that had been sent have an unknown outcome.
    pub cut: usize,
}
