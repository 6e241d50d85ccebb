//! The types of columns: as the wire names them, and as values are read.

/// A column's type, as the protocol numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names are those of the protocol")]
pub enum ColumnType {
    Decimal = 0,
    Tiny = 1,
    Short = 2,
    Long = 3,
    Float = 4,
    Double = 5,
    Null = 6,
    Timestamp = 7,
    LongLong = 8,
    Int24 = 9,
    Date = 10,
    Time = 11,
    DateTime = 12,
    Year = 13,
    NewDate = 14,
    VarChar = 15,
    Bit = 16,
    Timestamp2 = 17,
    DateTime2 = 18,
    Time2 = 19,
    Vector = 242,
    Json = 245,
    NewDecimal = 246,
    Enum = 247,
    Set = 248,
    TinyBlob = 249,
    MediumBlob = 250,
    LongBlob = 251,
    Blob = 252,
    VarString = 253,
    String = 254,
    Geometry = 255,
}

impl ColumnType {
    pub(crate) const fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Decimal,
            1 => Self::Tiny,
            2 => Self::Short,
            3 => Self::Long,
            4 => Self::Float,
            5 => Self::Double,
            6 => Self::Null,
            7 => Self::Timestamp,
            8 => Self::LongLong,
            9 => Self::Int24,
            10 => Self::Date,
            11 => Self::Time,
            12 => Self::DateTime,
            13 => Self::Year,
            14 => Self::NewDate,
            15 => Self::VarChar,
            16 => Self::Bit,
            17 => Self::Timestamp2,
            18 => Self::DateTime2,
            19 => Self::Time2,
            242 => Self::Vector,
            245 => Self::Json,
            246 => Self::NewDecimal,
            247 => Self::Enum,
            248 => Self::Set,
            249 => Self::TinyBlob,
            250 => Self::MediumBlob,
            251 => Self::LongBlob,
            252 => Self::Blob,
            253 => Self::VarString,
            254 => Self::String,
            255 => Self::Geometry,
            _ => return None,
        })
    }

    /// How values of such a column are read. Text is told from bytes by its character set.
    pub(crate) const fn kind(self, unsigned: bool, binary: bool) -> Kind {
        match self {
            Self::Tiny if unsigned => Kind::Uint8,
            Self::Tiny => Kind::Int8,
            Self::Short if unsigned => Kind::Uint16,
            Self::Short => Kind::Int16,
            Self::Long | Self::Int24 if unsigned => Kind::Uint32,
            Self::Long | Self::Int24 => Kind::Int32,
            Self::LongLong if unsigned => Kind::Uint64,
            Self::LongLong => Kind::Int64,
            Self::Year => Kind::Year,
            Self::Float => Kind::Float,
            Self::Double => Kind::Double,
            Self::Decimal | Self::NewDecimal => Kind::Decimal,
            Self::Date | Self::NewDate => Kind::Date,
            Self::Timestamp | Self::Timestamp2 | Self::DateTime | Self::DateTime2 => Kind::DateTime,
            Self::Time | Self::Time2 => Kind::Time,
            Self::Null => Kind::Null,
            Self::Bit => Kind::Bit,
            // MySQL calls its character set binary, though it is utf8mb4 always.
            Self::Json => Kind::Json,
            Self::Geometry | Self::Vector => Kind::Bytes,
            Self::VarChar
            | Self::VarString
            | Self::String
            | Self::Enum
            | Self::Set
            | Self::TinyBlob
            | Self::MediumBlob
            | Self::LongBlob
            | Self::Blob => {
                if binary {
                    Kind::Bytes
                } else {
                    Kind::Text
                }
            }
        }
    }
}

/// What the values of a column are, however they are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum Kind {
    /// Nothing but NULL.
    Null,
    /// TINYINT, BOOL.
    Int8,
    /// TINYINT UNSIGNED.
    Uint8,
    /// SMALLINT.
    Int16,
    /// SMALLINT UNSIGNED.
    Uint16,
    /// INT, MEDIUMINT.
    Int32,
    /// INT UNSIGNED, MEDIUMINT UNSIGNED.
    Uint32,
    /// BIGINT.
    Int64,
    /// BIGINT UNSIGNED.
    Uint64,
    /// YEAR.
    Year,
    /// FLOAT.
    Float,
    /// DOUBLE.
    Double,
    /// DECIMAL: digits, exactly.
    Decimal,
    /// DATE.
    Date,
    /// DATETIME, TIMESTAMP.
    DateTime,
    /// TIME.
    Time,
    /// BIT(1) to BIT(64).
    Bit,
    /// CHAR, VARCHAR, TEXT, ENUM, SET: text in the connection's character set.
    Text,
    /// BINARY, VARBINARY, BLOB, GEOMETRY, VECTOR.
    Bytes,
    /// JSON as text.
    Json,
}

impl Kind {
    /// Bytes of a value in a binary row; 0 where it carries its length.
    pub(crate) const fn width(self) -> u8 {
        match self {
            Self::Int8 | Self::Uint8 => 1,
            Self::Int16 | Self::Uint16 | Self::Year => 2,
            Self::Int32 | Self::Uint32 | Self::Float => 4,
            Self::Int64 | Self::Uint64 | Self::Double => 8,
            _ => 0,
        }
    }

    /// Its name in SQL, near enough for a person.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Int8 => "TINYINT",
            Self::Uint8 => "TINYINT UNSIGNED",
            Self::Int16 => "SMALLINT",
            Self::Uint16 => "SMALLINT UNSIGNED",
            Self::Int32 => "INT",
            Self::Uint32 => "INT UNSIGNED",
            Self::Int64 => "BIGINT",
            Self::Uint64 => "BIGINT UNSIGNED",
            Self::Year => "YEAR",
            Self::Float => "FLOAT",
            Self::Double => "DOUBLE",
            Self::Decimal => "DECIMAL",
            Self::Date => "DATE",
            Self::DateTime => "DATETIME",
            Self::Time => "TIME",
            Self::Bit => "BIT",
            Self::Text => "text",
            Self::Bytes => "binary",
            Self::Json => "JSON",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_its_own_byte() {
        let known = (0..=255).filter_map(ColumnType::from_byte);
        assert!(
            known
                .clone()
                .all(|kind| ColumnType::from_byte(kind as u8) == Some(kind))
        );
        assert_eq!(known.count(), 32);
    }

    #[test]
    fn text_is_told_from_bytes_by_its_character_set() {
        for kind in [ColumnType::Blob, ColumnType::VarString, ColumnType::String] {
            assert_eq!(kind.kind(false, true), Kind::Bytes);
            assert_eq!(kind.kind(false, false), Kind::Text);
        }
        assert_eq!(ColumnType::Json.kind(false, true), Kind::Json);
        assert_eq!(ColumnType::Geometry.kind(false, false), Kind::Bytes);
    }
}
