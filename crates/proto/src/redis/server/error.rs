//! What can be wrong with a request.

/// A rule of the protocol that the client broke, in the words in which Redis complains.
///
/// It is final: the position in the stream is lost. A server answers `-ERR Protocol error: ` with this
/// text, and closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The number of arguments is no number, or over the limit.
    #[error("invalid multibulk length")]
    InvalidCount,
    /// The length of an argument is no number, negative, or over the limit.
    #[error("invalid bulk length")]
    InvalidLength,
    /// An argument that does not begin with `$`.
    #[error("expected '$', got '{}'", char::from(*.found).escape_default())]
    ExpectedBulk {
        /// The byte in its place.
        found: u8,
    },
    /// An argument that does not end with CR LF.
    #[error("expected CRLF after an argument")]
    MissingEnd,
    /// An inline request longer than the limit.
    #[error("too big inline request")]
    InlineTooLong,
    /// An inline request with a quote that does not end, or that ends within a word.
    #[error("unbalanced quotes in request")]
    UnbalancedQuotes,
    /// A request longer than the limit in all.
    #[error("request exceeds {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
}
