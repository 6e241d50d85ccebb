//! Who is meant.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::UriError;

/// The host of an address.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Host {
    /// A name to resolve, as it was written; or an IPv6 address with a zone, as in `fe80::1%eth0`.
    Name(String),
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// An IPv6 address.
    V6(Ipv6Addr),
}

impl Host {
    /// What stands without brackets.
    pub(super) fn name(text: &str) -> Result<Self, UriError> {
        if let Ok(address) = text.parse() {
            return Ok(Self::V4(address));
        }
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if !text.bytes().all(is_part) || text.starts_with('.') {
            return Err(UriError::HostName);
        }
        // As in the URL standard: 127.1 and 999.0.0.1 mean different things to different resolvers.
        let last = text.trim_end_matches('.').rsplit('.').next().unwrap_or("");
        if last.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(UriError::Ipv4);
        }
        Ok(Self::Name(text.to_owned()))
    }

    /// What stands in brackets. RFC 6874 writes the percent sign of a zone as `%25`; people write it as it is.
    pub(super) fn literal(text: &str) -> Result<Self, UriError> {
        let Some((address, zone)) = text.split_once('%') else {
            return text.parse().map(Self::V6).map_err(|_| UriError::Ipv6);
        };
        let zone = zone.strip_prefix("25").unwrap_or(zone);
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if zone.is_empty() || !zone.bytes().all(is_part) {
            return Err(UriError::Ipv6);
        }
        let address: Ipv6Addr = address.parse().map_err(|_| UriError::Ipv6)?;
        Ok(Self::Name(format!("{address}%{zone}")))
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) if name.contains('%') => write!(f, "[{name}]"),
            Self::Name(name) => f.write_str(name),
            Self::V4(address) => write!(f, "{address}"),
            Self::V6(address) => write!(f, "[{address}]"),
        }
    }
}
