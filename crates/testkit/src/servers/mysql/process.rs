//! A line of `SHOW PROCESSLIST`: what the server believes of one of its clients.

use super::Table;

/// One connection as the server sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// The connection's id, as `CONNECTION_ID()` says it.
    pub id: u64,
    /// Whom it has authenticated as.
    pub user: String,
    /// The schema that it uses.
    pub schema: Option<String>,
    /// What it does: `Sleep`, `Query`, `Execute`, `Connect`.
    pub command: String,
    /// Seconds since that began.
    pub seconds: u64,
    /// The statement, where there is one.
    pub statement: Option<String>,
}

impl Process {
    /// All clients but the one with the id `own`, and without what the server does by itself.
    pub(super) fn list(table: &Table, own: u64) -> Vec<Self> {
        (0..table.rows.len())
            .map(|row| Self::read(table, row))
            .filter(|process| process.id != own && process.command != "Daemon")
            .collect()
    }

    fn read(table: &Table, row: usize) -> Self {
        let text = |column| table.named(row, column).unwrap_or_default().to_owned();
        let number = |column| text(column).parse().unwrap_or_default();
        Self {
            id: number("Id"),
            user: text("User"),
            schema: table.named(row, "db").map(str::to_owned),
            command: text("Command"),
            seconds: number("Time"),
            statement: table.named(row, "Info").map(str::to_owned),
        }
    }
}
