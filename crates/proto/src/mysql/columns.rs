//! The columns of a result set: what they are called, what they are, and how a row is cut into cells.

use std::ops::{BitAnd, BitOr, BitOrAssign, Range};

use super::error::ProtocolError;
use super::kind::{ColumnType, Kind};
use super::wire::{Reader, put_lenenc, put_lenenc_bytes, put_u16, put_u32};

/// The number that a column's character set has when its values are bytes.
pub const BINARY: u16 = 63;

/// The columns of one result set, in order. Made once from the server's definitions; every row is read by them.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// The definitions as the server sent them, one behind the other. Names are slices of it.
    text: Vec<u8>,
    definitions: Vec<Definition>,
    slots: Vec<Slot>,
}

/// How the cell of one column is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) kind: Kind,
    /// Bytes in a binary row; 0 where a length goes before them.
    pub(crate) width: u8,
}

#[derive(Clone, Debug)]
struct Definition {
    packet: Span,
    schema: Span,
    table: Span,
    original_table: Span,
    name: Span,
    original_name: Span,
    extended: Span,
    charset: u16,
    length: u32,
    column_type: ColumnType,
    flags: ColumnFlags,
    decimals: u8,
}

/// A place in `Columns::text`.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    start: u32,
    end: u32,
}

/// One column of a result set.
#[derive(Clone, Copy, Debug)]
pub struct Column<'a> {
    text: &'a [u8],
    definition: &'a Definition,
    slot: Slot,
}

/// What is special about a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ColumnFlags(u16);

impl ColumnFlags {
    /// It cannot be NULL.
    pub const NOT_NULL: Self = Self(1);
    /// It is part of the primary key.
    pub const PRIMARY_KEY: Self = Self(1 << 1);
    /// It is part of a unique key.
    pub const UNIQUE_KEY: Self = Self(1 << 2);
    /// It is part of a key that is not unique.
    pub const MULTIPLE_KEY: Self = Self(1 << 3);
    /// A number without sign.
    pub const UNSIGNED: Self = Self(1 << 5);
    /// Numbers are padded with zeros when they are shown.
    pub const ZEROFILL: Self = Self(1 << 6);
    /// Compared byte by byte. It does not say that the values are bytes: [`BINARY`] as character set does.
    pub const BINARY: Self = Self(1 << 7);
    /// ENUM.
    pub const ENUM: Self = Self(1 << 8);
    /// AUTO_INCREMENT.
    pub const AUTO_INCREMENT: Self = Self(1 << 9);
    /// TIMESTAMP.
    pub const TIMESTAMP: Self = Self(1 << 10);
    /// SET.
    pub const SET: Self = Self(1 << 11);
    /// It has no default.
    pub const NO_DEFAULT: Self = Self(1 << 12);
    /// It is set anew by an update.
    pub const ON_UPDATE: Self = Self(1 << 13);

    /// From the bits of the protocol.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// The bits of the protocol.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether all of `flags` are set.
    #[must_use]
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }
}

impl BitOr for ColumnFlags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for ColumnFlags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for ColumnFlags {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Columns {
    /// No columns.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many there are.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The column at `index`, from 0.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Column<'_>> {
        let definition = self.definitions.get(index)?;
        let slot = *self.slots.get(index)?;
        Some(Column {
            text: &self.text,
            definition,
            slot,
        })
    }

    /// All of them in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Column<'_>> {
        let both = self.definitions.iter().zip(&self.slots);
        both.map(|(definition, slot)| Column {
            text: &self.text,
            definition,
            slot: *slot,
        })
    }

    /// Where the first column of that name is, compared as written. Servers keep the letters of an alias, and those
    /// of the table otherwise.
    #[must_use]
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.iter()
            .position(|column| column.name() == name.as_bytes())
    }

    #[inline]
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Bytes of all definitions.
    pub(crate) fn text_len(&self) -> usize {
        self.text.len()
    }

    /// Whether the definition at `index` is this packet, byte by byte.
    pub(crate) fn is_same(&self, index: usize, packet: &[u8]) -> bool {
        let definition = self.definitions.get(index);
        definition.is_some_and(|definition| slice(&self.text, definition.packet) == packet)
    }

    /// The first `count` of them.
    pub(crate) fn prefix(&self, count: usize) -> Self {
        let definitions = self.definitions.get(..count).unwrap_or(&self.definitions);
        let end = definitions
            .last()
            .map_or(0, |definition| definition.packet.end as usize);
        Self {
            text: self.text.get(..end).unwrap_or_default().to_vec(),
            definitions: definitions.to_vec(),
            slots: self.slots.get(..count).unwrap_or(&self.slots).to_vec(),
        }
    }

    /// Removes all, and keeps the storage.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.definitions.clear();
        self.slots.clear();
    }

    /// Adds what a definition packet says. `extended` is whether MariaDB's extended metadata are agreed on.
    pub(crate) fn add(&mut self, packet: &[u8], extended: bool) -> Result<(), ProtocolError> {
        let start = self.text.len();
        let definition = Definition::read(packet, start, extended)
            .ok_or(ProtocolError::malformed("column definition"))?;
        self.text.extend_from_slice(packet);
        let binary = definition.charset == BINARY;
        let unsigned = definition.flags.contains(ColumnFlags::UNSIGNED);
        let kind = definition.column_type.kind(unsigned, binary);
        self.slots.push(Slot {
            kind,
            width: kind.width(),
        });
        self.definitions.push(definition);
        Ok(())
    }
}

impl Definition {
    fn read(packet: &[u8], start: usize, extended: bool) -> Option<Self> {
        let mut reader = Reader::new(packet);
        let at = |reader: &Reader<'_>| start + packet.len() - reader.len();
        let mut text = || {
            let taken = reader.lenenc_bytes()?;
            let end = at(&reader);
            Some(Span::new(end - taken.len()..end))
        };
        let _catalog = text()?;
        let (schema, table, original_table) = (text()?, text()?, text()?);
        let (name, original_name) = (text()?, text()?);
        let extended = if extended { text()? } else { Span::default() };
        // The length of what follows, always 12.
        if reader.lenenc()? < 12 {
            return None;
        }
        Some(Self {
            packet: Span::new(start..start + packet.len()),
            schema,
            table,
            original_table,
            name,
            original_name,
            extended,
            charset: reader.u16()?,
            length: reader.u32()?,
            column_type: ColumnType::from_byte(reader.u8()?)?,
            flags: ColumnFlags(reader.u16()?),
            decimals: reader.u8()?,
        })
    }
}

impl Span {
    fn new(range: Range<usize>) -> Self {
        // Definitions are limited to far less than 4 GiB; what is beyond would be an empty name.
        let number = |at| u32::try_from(at).unwrap_or(u32::MAX);
        Self {
            start: number(range.start),
            end: number(range.end),
        }
    }
}

fn slice(text: &[u8], span: Span) -> &[u8] {
    text.get(span.start as usize..span.end as usize)
        .unwrap_or_default()
}

impl<'a> Column<'a> {
    /// Its name: the alias, or what the column is called. In the connection's character set, which is UTF-8.
    #[must_use]
    pub fn name(&self) -> &'a [u8] {
        slice(self.text, self.definition.name)
    }

    /// Its name in the table; empty for an expression.
    #[must_use]
    pub fn original_name(&self) -> &'a [u8] {
        slice(self.text, self.definition.original_name)
    }

    /// The table's alias.
    #[must_use]
    pub fn table(&self) -> &'a [u8] {
        slice(self.text, self.definition.table)
    }

    /// The table's name.
    #[must_use]
    pub fn original_table(&self) -> &'a [u8] {
        slice(self.text, self.definition.original_table)
    }

    /// The table's schema.
    #[must_use]
    pub fn schema(&self) -> &'a [u8] {
        slice(self.text, self.definition.schema)
    }

    /// What its values are.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.slot.kind
    }

    /// Its type, as the protocol numbers it.
    #[must_use]
    pub fn column_type(&self) -> ColumnType {
        self.definition.column_type
    }

    /// What is special about it.
    #[must_use]
    pub fn flags(&self) -> ColumnFlags {
        self.definition.flags
    }

    /// The number of its collation, [`BINARY`] for bytes.
    #[must_use]
    pub fn charset(&self) -> u16 {
        self.definition.charset
    }

    /// The most bytes that a value takes as text.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.definition.length
    }

    /// Digits behind the point, or of a second's fraction; 31 for numbers whose point floats.
    #[must_use]
    pub fn decimals(&self) -> u8 {
        self.definition.decimals
    }

    /// MariaDB's name for what the type does not say: `uuid`, `inet6`, `point`.
    #[must_use]
    pub fn extended_type(&self) -> Option<&'a [u8]> {
        self.extended(0)
    }

    /// MariaDB's name for what the text holds: `json`.
    #[must_use]
    pub fn extended_format(&self) -> Option<&'a [u8]> {
        self.extended(1)
    }

    fn extended(&self, wanted: u8) -> Option<&'a [u8]> {
        let mut reader = Reader::new(slice(self.text, self.definition.extended));
        loop {
            let key = reader.u8()?;
            let value = reader.lenenc_bytes()?;
            if key == wanted {
                return Some(value);
            }
        }
    }
}

/// A column as a server describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnSpec<'a> {
    /// The schema of its table.
    pub schema: &'a str,
    /// Its table.
    pub table: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub column_type: ColumnType,
    /// What is special about it.
    pub flags: ColumnFlags,
    /// The number of its collation.
    pub charset: u16,
    /// The most bytes of a value.
    pub length: u32,
    /// Digits behind the point.
    pub decimals: u8,
}

impl<'a> ColumnSpec<'a> {
    /// A column of that name and type; text is utf8mb4, everything else binary.
    #[must_use]
    pub fn new(name: &'a str, column_type: ColumnType) -> Self {
        let is_text = matches!(
            column_type,
            ColumnType::VarChar | ColumnType::VarString | ColumnType::String
        );
        Self {
            schema: "",
            table: "",
            name,
            column_type,
            flags: ColumnFlags::default(),
            charset: if is_text { 45 } else { BINARY },
            length: 1024,
            decimals: 0,
        }
    }

    /// The same column with these flags.
    #[must_use]
    pub fn with_flags(self, flags: ColumnFlags) -> Self {
        Self { flags, ..self }
    }

    /// The same column with this collation.
    #[must_use]
    pub fn with_charset(self, charset: u16) -> Self {
        Self { charset, ..self }
    }

    /// Appends the payload of its definition. `extended` is whether MariaDB's extended metadata are agreed on.
    pub fn encode(&self, payload: &mut Vec<u8>, extended: bool) {
        put_lenenc_bytes(payload, b"def");
        for text in [self.schema, self.table, self.table, self.name, self.name] {
            put_lenenc_bytes(payload, text.as_bytes());
        }
        if extended {
            put_lenenc_bytes(payload, b"");
        }
        put_lenenc(payload, 12);
        put_u16(payload, self.charset);
        put_u32(payload, self.length);
        payload.push(self.column_type as u8);
        put_u16(payload, self.flags.bits());
        payload.push(self.decimals);
        put_u16(payload, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the protocol's documentation: `SELECT @@version_comment`.
    const REAL: &[u8] = b"\x03def\0\0\0\x11@@version_comment\0\x0c\x08\0\x1c\0\0\0\xfd\0\0\x1f\0\0";

    #[test]
    fn a_real_definition_is_read() {
        let mut columns = Columns::new();
        columns.add(REAL, false).unwrap();
        let column = columns.get(0).unwrap();
        assert_eq!(column.name(), b"@@version_comment");
        assert_eq!(
            (column.schema(), column.original_name()),
            (&b""[..], &b""[..])
        );
        assert_eq!(
            (column.column_type(), column.kind()),
            (ColumnType::VarString, Kind::Text)
        );
        assert_eq!(
            (column.charset(), column.length(), column.decimals()),
            (8, 28, 31)
        );
        for cut in 0..REAL.len() - 2 {
            assert!(Columns::new().add(&REAL[..cut], false).is_err(), "{cut}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut columns = Columns::new();
        for (name, flags) in [
            ("id", ColumnFlags::UNSIGNED),
            ("note", ColumnFlags::NOT_NULL),
        ] {
            let mut packet = Vec::new();
            let spec = ColumnSpec {
                schema: "s",
                table: "t",
                ..ColumnSpec::new(name, ColumnType::LongLong)
            };
            spec.with_flags(flags).encode(&mut packet, false);
            columns.add(&packet, false).unwrap();
            assert!(columns.is_same(columns.len() - 1, &packet));
            assert!(!columns.is_same(columns.len(), &packet));
        }
        let kinds: Vec<_> = columns.iter().map(|column| column.kind()).collect();
        assert_eq!(kinds, [Kind::Uint64, Kind::Int64]);
        assert_eq!(columns.index_of("note"), Some(1));
        assert_eq!(columns.index_of("Note"), None);
        let column = columns.get(1).unwrap();
        assert_eq!(
            (column.schema(), column.table(), column.name()),
            (&b"s"[..], &b"t"[..], &b"note"[..])
        );
        let first = columns.prefix(1);
        assert_eq!((first.len(), first.index_of("id")), (1, Some(0)));
    }

    #[test]
    fn mariadb_says_more() {
        let mut packet = Vec::new();
        ColumnSpec::new("j", ColumnType::Blob).encode(&mut packet, false);
        let at = packet.len() - 13;
        let extended = b"\x0d\x00\x05inet6\x01\x04json";
        packet.splice(at..at, extended.iter().copied());
        let mut columns = Columns::new();
        columns.add(&packet, true).unwrap();
        let column = columns.get(0).unwrap();
        assert_eq!(column.extended_type(), Some(&b"inet6"[..]));
        assert_eq!(column.extended_format(), Some(&b"json"[..]));
        assert_eq!(column.name(), b"j");
    }
}
