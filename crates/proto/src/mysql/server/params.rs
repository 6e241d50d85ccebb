//! The parameters of an execute.

use crate::mysql::error::ProtocolError;
use crate::mysql::kind::ColumnType;
use crate::mysql::value::{ValueRef, binary};
use crate::mysql::wire::Reader;

/// The types of a statement's parameters, as a client bound them last. One for each statement.
#[derive(Clone, Debug, Default)]
pub struct ParamTypes(Vec<u16>);

impl ParamTypes {
    /// None were bound.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the values of `count` parameters. `is_long` says of each whether it was sent as long data, and then has
    /// no value here: its place is NULL.
    ///
    /// # Errors
    ///
    /// [`ProtocolError::Malformed`].
    pub fn read<'a>(
        &mut self,
        params: &'a [u8],
        count: usize,
        is_long: impl Fn(usize) -> bool,
    ) -> Result<Vec<ValueRef<'a>>, ProtocolError> {
        self.read_all(params, count, is_long)
            .ok_or(ProtocolError::malformed("parameters"))
    }

    fn read_all<'a>(
        &mut self,
        params: &'a [u8],
        count: usize,
        is_long: impl Fn(usize) -> bool,
    ) -> Option<Vec<ValueRef<'a>>> {
        if count == 0 {
            return Some(Vec::new());
        }
        let mut reader = Reader::new(params);
        let nulls = reader.take(count.div_ceil(8))?;
        if reader.u8()? == 1 {
            let types: Option<Vec<_>> = (0..count).map(|_| reader.u16()).collect();
            self.0 = types?;
        }
        if self.0.len() != count {
            return None;
        }
        let mut values = Vec::with_capacity(count);
        for (at, code) in self.0.iter().enumerate() {
            let is_null = nulls.get(at / 8)? & (1 << (at % 8)) != 0;
            values.push(if is_null || is_long(at) {
                ValueRef::Null
            } else {
                value(&mut reader, *code)?
            });
        }
        reader.is_empty().then_some(values)
    }
}

fn value<'a>(reader: &mut Reader<'a>, code: u16) -> Option<ValueRef<'a>> {
    let unsigned = code & 0x8000 != 0;
    Some(match ColumnType::from_byte(code as u8)? {
        ColumnType::Null => ValueRef::Null,
        ColumnType::Tiny if unsigned => ValueRef::Uint(reader.u8()?.into()),
        ColumnType::Tiny => ValueRef::Int(i64::from(reader.u8()? as i8)),
        ColumnType::Short | ColumnType::Year if unsigned => ValueRef::Uint(reader.u16()?.into()),
        ColumnType::Short | ColumnType::Year => ValueRef::Int(i64::from(reader.u16()? as i16)),
        ColumnType::Long | ColumnType::Int24 if unsigned => ValueRef::Uint(reader.u32()?.into()),
        ColumnType::Long | ColumnType::Int24 => ValueRef::Int(i64::from(reader.u32()? as i32)),
        ColumnType::LongLong if unsigned => ValueRef::Uint(reader.u64()?),
        ColumnType::LongLong => ValueRef::Int(reader.u64()? as i64),
        ColumnType::Float => ValueRef::Float(f32::from_bits(reader.u32()?)),
        ColumnType::Double => ValueRef::Double(f64::from_bits(reader.u64()?)),
        ColumnType::Date | ColumnType::NewDate => {
            ValueRef::Date(binary::date(reader.lenenc_bytes()?)?)
        }
        ColumnType::DateTime | ColumnType::Timestamp => {
            ValueRef::DateTime(binary::date_time(reader.lenenc_bytes()?)?)
        }
        ColumnType::Time => ValueRef::Time(binary::time(reader.lenenc_bytes()?)?),
        ColumnType::Decimal | ColumnType::NewDecimal => {
            ValueRef::Decimal(std::str::from_utf8(reader.lenenc_bytes()?).ok()?)
        }
        ColumnType::VarChar | ColumnType::VarString | ColumnType::String => {
            ValueRef::Text(std::str::from_utf8(reader.lenenc_bytes()?).ok()?)
        }
        _ => ValueRef::Bytes(reader.lenenc_bytes()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::command;
    use crate::mysql::server::Command;
    use crate::mysql::value::{Date, DateTime, Decimal, Time, Value};

    fn parameters(wire: &[u8]) -> &[u8] {
        match Command::parse(&wire[4..]) {
            Ok(Command::Execute { params, .. }) => params,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_a_client_binds_is_read() {
        let day = Date::new(2024, 2, 29).unwrap();
        let values = vec![
            Value::Null,
            Value::Int(-1),
            Value::Uint(u64::MAX),
            Value::Float(1.5),
            Value::Double(-2.5),
            Value::Decimal(Decimal::new("1.50").unwrap()),
            Value::Text("text".into()),
            Value::Bytes(vec![0, 255]),
            Value::Date(day),
            Value::DateTime(DateTime::new(day, 1, 2, 3, 4).unwrap()),
            Value::Time(Time::new(true, 100, 0, 0, 1).unwrap()),
        ];
        let mut wire = Vec::new();
        let _ = command::execute(&mut wire, 1, &values, 1000).unwrap();
        let params = parameters(&wire);
        let read = ParamTypes::new()
            .read(params, values.len(), |_| false)
            .unwrap();
        assert_eq!(
            read.iter()
                .map(|value| value.to_value())
                .collect::<Vec<_>>(),
            values
        );
        for cut in 0..params.len() {
            assert!(
                ParamTypes::new()
                    .read(&params[..cut], values.len(), |_| false)
                    .is_err()
            );
        }
    }

    #[test]
    fn types_are_remembered_and_long_data_have_no_value() {
        let mut types = ParamTypes::new();
        assert!(
            types.read(b"\0\0\x01a", 1, |_| false).is_err(),
            "nothing was bound"
        );
        let bound = types.read(b"\0\x01\xfd\0\x01a", 1, |_| false).unwrap();
        assert_eq!(bound, [ValueRef::Text("a")]);
        assert_eq!(
            types.read(b"\0\0\x01b", 1, |_| false).unwrap(),
            [ValueRef::Text("b")]
        );
        assert_eq!(types.read(b"\0\0", 1, |_| true).unwrap(), [ValueRef::Null]);
    }
}
