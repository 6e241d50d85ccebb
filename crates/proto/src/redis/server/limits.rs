//! How large a request may be.

/// Limits on what one request may announce or hold; each is checked before anything is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// Arguments of a request, its name among them. Default: 1,048,576, as Redis has it.
    pub max_arguments: usize,
    /// Bytes of one argument. Default: 64 MiB, an eighth of what Redis takes.
    pub max_argument_bytes: usize,
    /// Bytes of a whole request on the wire. Default: 128 MiB.
    pub max_request_bytes: usize,
    /// Bytes of an inline request, its line end included. Default: 64 KiB, as Redis has it.
    pub max_inline_bytes: usize,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            max_arguments: 1 << 20,
            max_argument_bytes: 64 << 20,
            max_request_bytes: 128 << 20,
            max_inline_bytes: 64 << 10,
        }
    }
}
