//! What is wrong with an address. No error holds any of the text, which may have a password in any place.

use std::fmt;

/// A part of an address.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum UriPart {
    /// The name before the colon and the `@`.
    User,
    /// What is between the colon and the `@`.
    Password,
    /// What follows the host.
    Path,
    /// What follows the question mark.
    Query,
}

impl fmt::Display for UriPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "user name",
            Self::Password => "password",
            Self::Path => "path",
            Self::Query => "query",
        })
    }
}

/// Why a text is no address.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum UriError {
    /// It does not begin with a scheme.
    #[error("read an address: it begins with no scheme, such as redis://")]
    NoScheme,
    /// The scheme is not followed by `//`.
    #[error("read an address: no // follows the scheme")]
    NoAuthority,
    /// A space or a control character.
    #[error("read an address: it has a space or a control character in it, a space is written %20")]
    Blank,
    /// A `#`.
    #[error(
        "read an address: it has a # in it, which is written %23 where it belongs to a password"
    )]
    Fragment,
    /// A second `@`, or one behind the host.
    #[error(
        "read an address: it has an @ that does not end a user name and password: others are written %40, and a / or ? of a password %2F or %3F"
    )]
    StrayAt,
    /// A `%` without two hexadecimal digits.
    #[error(
        "read an address: a % in its {part} is not followed by two hexadecimal digits, a percent sign is written %25"
    )]
    Escape {
        /// Where.
        part: UriPart,
    },
    /// What was decoded is no text.
    #[error("read an address: its {part} is not UTF-8 once it is decoded")]
    NotUtf8 {
        /// Where.
        part: UriPart,
    },
    /// Something in brackets that is no IPv6 address.
    #[error("read an address: what is in brackets is no IPv6 address")]
    Ipv6,
    /// A bracket that is not closed, or is followed by something else than a port.
    #[error("read an address: [ and ] enclose an IPv6 address, and a port or a path follows")]
    Bracket,
    /// The host is no name.
    #[error(
        "read an address: its host has a character that no name has (a / ? or # of a password is written %2F %3F %23)"
    )]
    HostName,
    /// The host has digits and dots only, or ends in a number, and is no IPv4 address.
    #[error("read an address: its host ends in a number and is no IPv4 address")]
    Ipv4,
    /// The port is no number from 1 to 65,535.
    #[error(
        "read an address: its port is no number from 1 to 65535 (a / ? or # of a password is written %2F %3F %23)"
    )]
    Port,
    /// A port, and nothing in front of it.
    #[error("read an address: it has a port and no host")]
    PortWithoutHost,
    /// A Unix domain socket on a host.
    #[error("read an address: a unix socket has no host, its path follows three slashes")]
    HostOfSocket,
    /// A Unix domain socket without a path, or with a zero byte in it.
    #[error("read an address: it has no path of a unix socket")]
    SocketPath,
}
