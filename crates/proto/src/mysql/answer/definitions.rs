//! Puts the columns of a result set together, and notices that they are those of the last one.

use std::sync::Arc;

use crate::mysql::columns::Columns;
use crate::mysql::error::ProtocolError;
use crate::mysql::limits::Limits;

/// Column definitions as they come.
///
/// The same statement again has the same definitions, byte by byte: comparing them is much cheaper than reading them,
/// and whoever kept a plan for the columns can keep it.
#[derive(Debug)]
pub(super) struct Definitions {
    /// What the definitions have been so far, if they are the same again.
    known: Option<Arc<Columns>>,
    fresh: Columns,
    /// Definitions that came.
    count: usize,
    expected: usize,
}

impl Definitions {
    pub(super) fn new() -> Self {
        Self {
            known: None,
            fresh: Columns::new(),
            count: 0,
            expected: 0,
        }
    }

    /// So many are to come. `known` is what they may be.
    pub(super) fn begin(&mut self, expected: usize, known: &Arc<Columns>) {
        let is_candidate = known.len() == expected;
        self.known = is_candidate.then(|| Arc::clone(known));
        self.fresh.clear();
        self.count = 0;
        self.expected = expected;
    }

    pub(super) fn is_complete(&self) -> bool {
        self.count == self.expected
    }

    pub(super) fn add(
        &mut self,
        packet: &[u8],
        extended: bool,
        limits: &Limits,
    ) -> Result<(), ProtocolError> {
        if let Some(known) = &self.known {
            if known.is_same(self.count, packet) {
                self.count += 1;
                return Ok(());
            }
            self.fresh = known.prefix(self.count);
            self.known = None;
        }
        let limit = limits.max_definitions;
        if self.fresh.text_len().saturating_add(packet.len()) > limit {
            return Err(ProtocolError::DefinitionsTooLarge { limit });
        }
        self.fresh.add(packet, extended)?;
        self.count += 1;
        Ok(())
    }

    /// The columns, all of which have come.
    pub(super) fn finish(&mut self) -> Arc<Columns> {
        match self.known.take() {
            Some(known) => known,
            None => Arc::new(std::mem::take(&mut self.fresh)),
        }
    }
}
