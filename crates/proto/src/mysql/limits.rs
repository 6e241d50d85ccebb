//! How much a peer may send.

/// What is accepted from the other side of a connection. Checked before anything is stored for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one packet, joined from its frames. A row is one packet. Default 64 MiB, which is what a MySQL server
    /// itself takes by default (`max_allowed_packet`).
    pub max_packet: usize,
    /// Columns of one result set. Default 4,096, the most that a table can have.
    pub max_columns: usize,
    /// Bytes of all column definitions of one result set together, or of one statement. Default 4 MiB: a thousand
    /// bytes for each of 4,096 columns.
    pub max_definitions: usize,
    /// Rows of one result set. Default no limit, since rows are streamed one at a time; whoever collects them sets it.
    pub max_rows: u64,
    /// Results that one request may yield: statements of a multi-statement query, result sets of a procedure. Default
    /// 65,536.
    pub max_results: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_packet: 64 << 20,
            max_columns: 4096,
            max_definitions: 4 << 20,
            max_rows: u64::MAX,
            max_results: 1 << 16,
        }
    }
}
