//! What a server tells about changes of the session's state.

use super::wire::{Reader, put_lenenc_bytes};

/// One change of the session's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change<'a> {
    /// A system variable was set: those of `session_track_system_variables`. MariaDB reports `last_gtid` here.
    Variable {
        /// Its name.
        name: &'a [u8],
        /// Its new value as text.
        value: &'a [u8],
    },
    /// Another schema is the default one.
    Schema(&'a [u8]),
    /// Whether anything of the state has changed (`session_track_state_change`).
    State(bool),
    /// The transaction identifiers of the last commit (MySQL, `session_track_gtids`).
    Gtids(&'a [u8]),
    /// The statements that would begin the present transaction anew.
    TransactionCharacteristics(&'a [u8]),
    /// The present transaction in eight letters, see `session_track_transaction_info`.
    TransactionState(&'a [u8]),
    /// Something newer than this library.
    Other {
        /// Its type.
        kind: u8,
        /// Its bytes.
        data: &'a [u8],
    },
}

/// The changes that came with one OK packet.
#[derive(Clone, Copy, Debug)]
pub struct SessionChanges<'a> {
    /// Entries not given yet.
    rest: &'a [u8],
    /// The entry with the system variables, which may hold several.
    variables: &'a [u8],
}

impl<'a> SessionChanges<'a> {
    pub(crate) fn new(entries: &'a [u8]) -> Self {
        Self {
            rest: entries,
            variables: &[],
        }
    }

    /// `None` if an entry is malformed.
    pub(crate) fn check(mut self) -> Option<()> {
        while !self.rest.is_empty() || !self.variables.is_empty() {
            self.advance()?;
        }
        Some(())
    }

    fn advance(&mut self) -> Option<Change<'a>> {
        if !self.variables.is_empty() {
            return self.advance_variable();
        }
        let mut reader = Reader::new(self.rest);
        let kind = reader.u8()?;
        let data = reader.lenenc_bytes()?;
        self.rest = reader.rest();
        let mut reader = Reader::new(data);
        Some(match kind {
            0 => {
                self.variables = data;
                return self.advance_variable();
            }
            1 => Change::Schema(reader.lenenc_bytes()?),
            2 => Change::State(reader.lenenc_bytes()? == b"1"),
            3 => {
                let _encoding = reader.u8()?;
                Change::Gtids(reader.lenenc_bytes()?)
            }
            4 => Change::TransactionCharacteristics(reader.lenenc_bytes()?),
            5 => Change::TransactionState(reader.lenenc_bytes()?),
            kind => Change::Other { kind, data },
        })
    }

    fn advance_variable(&mut self) -> Option<Change<'a>> {
        let mut reader = Reader::new(self.variables);
        let (name, value) = (reader.lenenc_bytes()?, reader.lenenc_bytes()?);
        self.variables = reader.rest();
        Some(Change::Variable { name, value })
    }
}

impl<'a> Iterator for SessionChanges<'a> {
    type Item = Change<'a>;

    fn next(&mut self) -> Option<Change<'a>> {
        let change = self.advance();
        if change.is_none() {
            *self = Self::new(&[]);
        }
        change
    }
}

impl Change<'_> {
    /// Appends it as an entry of an OK packet, as a server does.
    pub fn encode(&self, entries: &mut Vec<u8>) {
        let mut data = Vec::new();
        let kind = match self {
            Self::Variable { name, value } => {
                put_lenenc_bytes(&mut data, name);
                put_lenenc_bytes(&mut data, value);
                0
            }
            Self::Schema(name) => {
                put_lenenc_bytes(&mut data, name);
                1
            }
            Self::State(changed) => {
                put_lenenc_bytes(&mut data, if *changed { b"1" } else { b"0" });
                2
            }
            Self::Gtids(gtids) => {
                data.push(0);
                put_lenenc_bytes(&mut data, gtids);
                3
            }
            Self::TransactionCharacteristics(statements) => {
                put_lenenc_bytes(&mut data, statements);
                4
            }
            Self::TransactionState(letters) => {
                put_lenenc_bytes(&mut data, letters);
                5
            }
            Self::Other { kind, data: bytes } => {
                data.extend_from_slice(bytes);
                *kind
            }
        };
        entries.push(kind);
        put_lenenc_bytes(entries, &data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let all = [
            Change::Variable {
                name: b"last_gtid",
                value: b"0-1-7",
            },
            Change::Schema(b"test"),
            Change::State(true),
            Change::State(false),
            Change::Gtids(b"3E11FA47-71CA-11E1-9E33-C80AA9429562:23"),
            Change::TransactionCharacteristics(b"START TRANSACTION READ ONLY;"),
            Change::TransactionState(b"T_______"),
            Change::Other {
                kind: 77,
                data: b"?",
            },
        ];
        let mut entries = Vec::new();
        for change in &all {
            change.encode(&mut entries);
        }
        assert_eq!(SessionChanges::new(&entries).collect::<Vec<_>>(), all);
        assert_eq!(SessionChanges::new(&entries).check(), Some(()));
        for cut in 1..entries.len() {
            let some = SessionChanges::new(&entries[..cut]).collect::<Vec<_>>();
            assert_eq!(some, all[..some.len()]);
        }
    }

    #[test]
    fn one_entry_may_hold_several_variables() {
        let entries = b"\x00\x0a\x01a\x011\x02bc\x0223";
        let changes: Vec<_> = SessionChanges::new(entries).collect();
        assert_eq!(
            changes,
            [
                Change::Variable {
                    name: b"a",
                    value: b"1"
                },
                Change::Variable {
                    name: b"bc",
                    value: b"23"
                },
            ]
        );
    }

    #[test]
    fn a_malformed_entry_is_noticed() {
        for entries in [
            &b"\x01\x02\x05a"[..],
            b"\x01",
            b"\x03\x00",
            b"\x00\x02\x01a",
        ] {
            assert_eq!(SessionChanges::new(entries).check(), None);
        }
    }
}
