//! Where to listen, and where to connect.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use crate::io::tokio::PeerAddress;

/// An address of a stream endpoint.
///
/// As text: `127.0.0.1:80`, `[::1]:80`, `[fe80::1%eth0]:80`, `example.org:80`, `unix:/run/app.sock`.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Address {
    /// An IP address and a port.
    Ip(SocketAddr),
    /// A name, or an IPv6 address with a named scope, and a port. It is resolved when it is used, at each connect anew.
    Name(String, u16),
    /// A Unix domain socket.
    Unix(PathBuf),
}

/// What was given is no address.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{text:?} is not an address: {reason}")]
pub struct InvalidAddress {
    pub(crate) text: String,
    pub(crate) reason: &'static str,
}

impl InvalidAddress {
    /// What was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is wrong with it.
    pub fn reason(&self) -> &'static str {
        self.reason
    }
}

impl Address {
    /// The host as TLS wants to verify it; none for a Unix domain socket.
    #[cfg(feature = "tls")]
    pub(crate) fn host(&self) -> Option<String> {
        match self {
            Self::Ip(address) => Some(address.ip().to_string()),
            Self::Name(name, _) => Some(name.clone()),
            Self::Unix(_) => None,
        }
    }
}

impl FromStr for Address {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let wrong = |reason| InvalidAddress {
            text: text.to_owned(),
            reason,
        };
        if let Some(path) = text.strip_prefix("unix:") {
            return match path {
                "" => Err(wrong("the path is empty")),
                path if path.contains('\0') => Err(wrong("the path has a NUL byte")),
                path => Ok(Self::Unix(path.into())),
            };
        }
        if let Ok(address) = text.parse() {
            return Ok(Self::Ip(address));
        }
        let (host, port) = text.rsplit_once(':').ok_or(wrong("there is no port"))?;
        let port = port
            .parse()
            .map_err(|_| wrong("the port is not a number from 0 to 65,535"))?;
        host_and_port(host, port).map_err(wrong)
    }
}

fn host_and_port(host: &str, port: u16) -> Result<Address, &'static str> {
    let bracketed = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    match bracketed {
        None if host.contains(':') => Err("an IPv6 address is written in brackets"),
        Some(inner) if !inner.contains(':') => Err("only an IPv6 address is written in brackets"),
        _ => named(bracketed.unwrap_or(host), port),
    }
}

fn named(host: &str, port: u16) -> Result<Address, &'static str> {
    if host.is_empty() {
        return Err("the host is empty");
    }
    if host.contains('\0') {
        return Err("the host has a NUL byte");
    }
    match host.parse::<IpAddr>() {
        Ok(ip) => Ok(Address::Ip(SocketAddr::new(ip, port))),
        Err(_) => Ok(Address::Name(host.to_owned(), port)),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Name(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Name(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// What can be used as an address: a text, a socket address, a host and a port.
pub trait ToAddress {
    /// The address.
    ///
    /// # Errors
    ///
    /// [`InvalidAddress`] if a text is none.
    fn to_address(self) -> Result<Address, InvalidAddress>;
}

impl ToAddress for &str {
    fn to_address(self) -> Result<Address, InvalidAddress> {
        self.parse()
    }
}

impl ToAddress for &String {
    fn to_address(self) -> Result<Address, InvalidAddress> {
        self.parse()
    }
}

impl ToAddress for String {
    fn to_address(self) -> Result<Address, InvalidAddress> {
        self.parse()
    }
}

impl ToAddress for SocketAddr {
    fn to_address(self) -> Result<Address, InvalidAddress> {
        Ok(Address::Ip(self))
    }
}

impl ToAddress for (&str, u16) {
    fn to_address(self) -> Result<Address, InvalidAddress> {
        let (host, port) = self;
        named(host, port).map_err(|reason| InvalidAddress {
            text: host.to_owned(),
            reason,
        })
    }
}

impl ToAddress for Address {
    fn to_address(self) -> Result<Address, InvalidAddress> {
        Ok(self)
    }
}

impl ToAddress for &Address {
    fn to_address(self) -> Result<Address, InvalidAddress> {
        Ok(self.clone())
    }
}

impl ToAddress for &PeerAddress {
    fn to_address(self) -> Result<Address, InvalidAddress> {
        match self {
            PeerAddress::Ip(address) => Ok(Address::Ip(*address)),
            PeerAddress::Unix(Some(path)) => Ok(Address::Unix(path.clone())),
            PeerAddress::Unix(None) => Err(InvalidAddress {
                text: "unix:".to_owned(),
                reason: "the socket has no name",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Address {
        text.parse().unwrap()
    }

    #[test]
    fn addresses_are_read_and_written() {
        for text in [
            "127.0.0.1:80",
            "[::1]:80",
            "[fe80::1%eth0]:9",
            "example.org:443",
            "unix:/run/a.sock",
        ] {
            assert_eq!(read(text).to_string(), text);
        }
        assert!(matches!(read("[::1]:80"), Address::Ip(_)));
        assert!(matches!(read("[fe80::1%lo]:80"), Address::Name(..)));
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_reason() {
        for (text, reason) in [
            ("localhost", "there is no port"),
            ("localhost:http", "the port is not a number"),
            ("localhost:65536", "the port is not a number"),
            (":80", "the host is empty"),
            ("::1:80", "in brackets"),
            ("[localhost]:80", "only an IPv6"),
            ("a\0b:80", "NUL"),
            ("unix:", "empty"),
        ] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text:?}: {error}");
        }
    }
}
