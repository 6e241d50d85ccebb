//! What a client and a server can do, and the state in which a server says it is.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign};

/// A set of capability flags: the 32 of the protocol, and above them those that only MariaDB has.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Capabilities(u64);

macro_rules! flags {
    ($name:ident: $($(#[$doc:meta])* $flag:ident = $value:expr;)*) => {
        impl $name {
            $($(#[$doc])* pub const $flag: Self = Self($value);)*

            const NAMES: &[(Self, &str)] = &[$((Self::$flag, stringify!($flag)),)*];
        }

        impl $name {
            /// Whether all of `flags` are set.
            #[inline]
            #[must_use]
            pub const fn contains(self, flags: Self) -> bool {
                self.0 & flags.0 == flags.0
            }

            /// These flags without `flags`.
            #[inline]
            #[must_use]
            pub const fn without(self, flags: Self) -> Self {
                Self(self.0 & !flags.0)
            }

            /// These flags and `flags`.
            #[inline]
            #[must_use]
            pub const fn with(self, flags: Self) -> Self {
                Self(self.0 | flags.0)
            }
        }

        impl BitOr for $name {
            type Output = Self;
            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl BitOrAssign for $name {
            fn bitor_assign(&mut self, other: Self) {
                self.0 |= other.0;
            }
        }

        impl BitAnd for $name {
            type Output = Self;
            fn bitand(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let names = Self::NAMES.iter().filter(|(flag, _)| self.contains(*flag));
                write!(f, "{}({:#x}", stringify!($name), self.0)?;
                for (_, name) in names {
                    write!(f, " {name}")?;
                }
                write!(f, ")")
            }
        }
    };
}

flags! { Capabilities:
    /// MySQL: always set. A MariaDB server leaves it out to say that it has capabilities of its own.
    MYSQL = 1;
    /// `affected_rows` counts the rows that were found, not those that were changed.
    FOUND_ROWS = 1 << 1;
    /// Flags of a column in two bytes.
    LONG_FLAG = 1 << 2;
    /// The handshake names a schema.
    CONNECT_WITH_DB = 1 << 3;
    /// The compressed protocol, zlib.
    COMPRESS = 1 << 5;
    /// `LOAD DATA LOCAL INFILE`.
    LOCAL_FILES = 1 << 7;
    /// Spaces before the `(` of a function.
    IGNORE_SPACE = 1 << 8;
    /// The protocol since MySQL 4.1. Required here.
    PROTOCOL_41 = 1 << 9;
    /// `interactive_timeout` in place of `wait_timeout`.
    INTERACTIVE = 1 << 10;
    /// TLS.
    SSL = 1 << 11;
    /// Status flags in the packets that end a result.
    TRANSACTIONS = 1 << 13;
    /// Authentication since MySQL 4.1. Required here.
    SECURE_CONNECTION = 1 << 15;
    /// Several statements in one query.
    MULTI_STATEMENTS = 1 << 16;
    /// Several result sets for one query.
    MULTI_RESULTS = 1 << 17;
    /// Several result sets for one prepared statement.
    PS_MULTI_RESULTS = 1 << 18;
    /// Authentication by plugins.
    PLUGIN_AUTH = 1 << 19;
    /// Connection attributes.
    CONNECT_ATTRS = 1 << 20;
    /// The authentication data of the handshake may exceed 255 bytes.
    PLUGIN_AUTH_LENENC = 1 << 21;
    /// A client that can change an expired password.
    CAN_HANDLE_EXPIRED_PASSWORDS = 1 << 22;
    /// Changes of the session's state are told.
    SESSION_TRACK = 1 << 23;
    /// A result set ends with an OK packet.
    DEPRECATE_EOF = 1 << 24;
    /// Column definitions may be left out (MySQL).
    OPTIONAL_RESULTSET_METADATA = 1 << 25;
    /// The compressed protocol, zstd.
    ZSTD = 1 << 26;
    /// Attributes of a query.
    QUERY_ATTRIBUTES = 1 << 27;
    /// Authentication by several factors.
    MULTI_FACTOR = 1 << 28;
    /// MariaDB: progress reports of long statements.
    MARIADB_PROGRESS = 1 << 32;
    /// MariaDB: one execute for many sets of parameters.
    MARIADB_BULK = 1 << 34;
    /// MariaDB: extended types of columns.
    MARIADB_EXTENDED_METADATA = 1 << 35;
    /// MariaDB: column definitions that have not changed are left out.
    MARIADB_CACHE_METADATA = 1 << 36;
}

impl Capabilities {
    /// From the bits of the protocol.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The bits of the protocol: 32 that all servers know, and 32 of MariaDB above them.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The bits that all servers know.
    pub(crate) const fn common(self) -> u32 {
        self.0 as u32
    }

    /// The bits that only MariaDB knows.
    pub(crate) const fn mariadb(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// The state that a server reports with the end of each result.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Status(u16);

flags! { Status:
    /// A transaction is open.
    IN_TRANSACTION = 1;
    /// Every statement commits by itself.
    AUTOCOMMIT = 1 << 1;
    /// Another result follows.
    MORE_RESULTS = 1 << 3;
    /// The query used a bad index.
    NO_GOOD_INDEX = 1 << 4;
    /// The query used no index.
    NO_INDEX = 1 << 5;
    /// A cursor was opened.
    CURSOR_EXISTS = 1 << 6;
    /// The cursor has no more rows.
    LAST_ROW_SENT = 1 << 7;
    /// A schema was dropped.
    SCHEMA_DROPPED = 1 << 8;
    /// A backslash in a literal is a backslash.
    NO_BACKSLASH_ESCAPES = 1 << 9;
    /// A statement must be prepared anew: its columns have changed.
    METADATA_CHANGED = 1 << 10;
    /// The query was slow.
    QUERY_WAS_SLOW = 1 << 11;
    /// The result set holds the OUT parameters of a procedure.
    OUT_PARAMETERS = 1 << 12;
    /// The open transaction is read-only.
    READ_ONLY_TRANSACTION = 1 << 13;
    /// The state of the session has changed, and the packet says how.
    SESSION_STATE_CHANGED = 1 << 14;
}

impl Status {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_named() {
        let flags = Capabilities::MYSQL | Capabilities::SSL | Capabilities::MARIADB_BULK;
        assert_eq!(
            format!("{flags:?}"),
            "Capabilities(0x400000801 MYSQL SSL MARIADB_BULK)"
        );
        assert_eq!((flags.common(), flags.mariadb()), (0x801, 4));
        assert!(
            flags.without(Capabilities::SSL) == Capabilities::MYSQL | Capabilities::MARIADB_BULK
        );
        assert_eq!(
            format!("{:?}", Status::from_bits(3)),
            "Status(0x3 IN_TRANSACTION AUTOCOMMIT)"
        );
    }
}
