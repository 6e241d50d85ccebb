//! COM_STMT_EXECUTE.

use std::sync::Arc;

use super::{EncodedParams, Params, Request, STATEMENT_EXECUTE};
use crate::mysql::columns::Columns;
use crate::mysql::packet::TooLarge;
use crate::mysql::wire::{put_u16, put_u32};

/// To MariaDB, the statement that was prepared last on the connection: one can be prepared and executed in one flight.
pub const LAST_STATEMENT: u32 = u32::MAX;

/// A statement that a server has prepared. It ends with the session, or with a reset of the connection.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(in crate::mysql) id: u32,
    pub(in crate::mysql) params: Arc<Columns>,
    pub(in crate::mysql) columns: Arc<Columns>,
    pub(in crate::mysql) warnings: u16,
}

/// An execute that was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// Other parameters than the statement has.
    #[error("{given} parameters for a statement of {expected}")]
    ParamCount {
        /// How many the statement has.
        expected: usize,
        /// How many were given.
        given: usize,
    },
    /// More than the server takes.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

impl Prepared {
    /// The server's number for it.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Its parameters, as far as the server knows their types.
    #[must_use]
    pub fn params(&self) -> &Arc<Columns> {
        &self.params
    }

    /// The columns that it will yield, as of now; none if it yields no rows.
    #[must_use]
    pub fn columns(&self) -> &Arc<Columns> {
        &self.columns
    }

    /// Warnings of its preparation.
    #[must_use]
    pub fn warnings(&self) -> u16 {
        self.warnings
    }

    /// Writes its execution.
    ///
    /// # Errors
    ///
    /// [`ExecuteError`]: nothing was written.
    pub fn execute(
        &self,
        wire: &mut Vec<u8>,
        params: &impl Params,
        max_packet: usize,
    ) -> Result<Request, ExecuteError> {
        let (expected, given) = (self.params.len(), params.count());
        if expected != given {
            return Err(ExecuteError::ParamCount { expected, given });
        }
        Ok(super::execute(wire, self.id, params, max_packet)?)
    }

    /// Writes its execution with parameters that were encoded before.
    ///
    /// # Errors
    ///
    /// [`ExecuteError`]: nothing was written.
    pub fn execute_encoded(
        &self,
        wire: &mut Vec<u8>,
        params: &EncodedParams,
        max_packet: usize,
    ) -> Result<Request, ExecuteError> {
        let (expected, given) = (self.params.len(), params.count());
        if expected != given {
            return Err(ExecuteError::ParamCount { expected, given });
        }
        Ok(super::execute_encoded(wire, self.id, params, max_packet)?)
    }
}

/// What goes before the parameters: without a cursor, once.
pub(super) fn encode_head(payload: &mut Vec<u8>, statement: u32) {
    payload.push(STATEMENT_EXECUTE);
    put_u32(payload, statement);
    payload.push(0);
    put_u32(payload, 1);
}

pub(super) fn encode(payload: &mut Vec<u8>, statement: u32, params: &impl Params) {
    encode_head(payload, statement);
    encode_params(payload, params);
}

/// With the types of all parameters: what a server remembers of an earlier execution may be that of one which failed.
pub(super) fn encode_params(payload: &mut Vec<u8>, params: &impl Params) {
    let count = params.count();
    if count == 0 {
        return;
    }
    let bitmap = payload.len();
    payload.resize(bitmap + count.div_ceil(8), 0);
    payload.push(1);
    let mut index = 0;
    params.for_each(|param| {
        if param.is_null()
            && let Some(byte) = payload.get_mut(bitmap + index / 8)
        {
            *byte |= 1 << (index % 8);
        }
        index += 1;
        put_u16(payload, param.type_code());
    });
    params.for_each(|param| param.encode(payload));
}

#[cfg(test)]
mod tests {
    use super::super::Param;
    use super::*;

    #[test]
    fn an_execute_is_that_of_the_protocols_documentation() {
        let mut payload = Vec::new();
        encode(&mut payload, 1, &("foo",));
        assert_eq!(payload, b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\xfd\0\x03foo");
        payload.clear();
        encode(&mut payload, 2, &());
        assert_eq!(payload, b"\x17\x02\0\0\0\0\x01\0\0\0");
    }

    #[test]
    fn nulls_have_a_bit_each_and_no_value() {
        let null = None::<i64>;
        let mut payload = Vec::new();
        encode(
            &mut payload,
            1,
            &[null, Some(1), null, null, null, null, null, null, null],
        );
        assert_eq!(payload[10..12], [0b1111_1101, 1]);
        assert_eq!(payload[13..17], [6, 0, 8, 0]);
        assert_eq!(payload[13 + 18..], [1, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn every_type_has_its_code_and_form() {
        for (param, code, bytes) in [
            (Param::Int(-1), 8, &[255; 8][..]),
            (Param::Uint(1), 0x8008, &[1, 0, 0, 0, 0, 0, 0, 0]),
            (Param::Float(10.2), 4, b"\x33\x33\x23\x41"),
            (Param::Double(10.2), 5, b"\x66\x66\x66\x66\x66\x66\x24\x40"),
            (Param::Text("a"), 253, b"\x01a"),
            (Param::Bytes(b"\0"), 252, b"\x01\0"),
            (Param::Decimal("1.5"), 246, b"\x031.5"),
            (Param::LongText, 253, b""),
            (Param::LongBytes, 252, b""),
        ] {
            let mut payload = Vec::new();
            encode(&mut payload, 1, &(param,));
            assert_eq!(payload[12..14], u16::to_le_bytes(code), "{param:?}");
            assert_eq!(&payload[14..], bytes, "{param:?}");
        }
    }

    #[test]
    fn parameters_are_counted() {
        let columns = |count| {
            let mut columns = Columns::new();
            for _ in 0..count {
                let mut packet = Vec::new();
                let spec = crate::mysql::ColumnSpec::new("?", crate::mysql::ColumnType::VarString);
                spec.encode(&mut packet, false);
                columns.add(&packet, false).unwrap();
            }
            Arc::new(columns)
        };
        let prepared = Prepared {
            id: 1,
            params: columns(2),
            columns: columns(0),
            warnings: 0,
        };
        let mut wire = Vec::new();
        assert_eq!(
            prepared.execute(&mut wire, &(1,), 100),
            Err(ExecuteError::ParamCount {
                expected: 2,
                given: 1
            })
        );
        assert!(wire.is_empty());
        assert!(prepared.execute(&mut wire, &(1, "x"), 100).is_ok());
    }
}
