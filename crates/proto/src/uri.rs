//! Addresses of services as text, as in `redis://user:password@db.example.org:6380/2?timeout=5`.
//!
//! [`Uri`] takes the text apart and decodes its parts; what they mean, the client of the service says. It is stricter than
//! a browser, because of what such a text is made of: a password with a raw `@` or `/` in it would move the end of the
//! host, and a secret would go to another server. Such a text is refused, with what to write instead, and neither an error
//! nor a `Debug` shows any part of a password.
//!
//! After RFC 3986, with zones of IPv6 addresses after RFC 6874.

mod decode;
mod error;
mod host;
mod secret;
#[cfg(test)]
mod tests;

use std::fmt;

use decode::{check_characters, decode, encode};
pub use error::{UriError, UriPart};
pub use host::Host;
pub use secret::Secret;

/// The address of a service, taken apart and decoded.
///
/// | form | what it is |
/// |---|---|
/// | `redis://host`, `redis://host:6380/2` | a name, `192.0.2.1` or `[2001:db8::1]`, a port and a path |
/// | `redis://user:password@host` | who we are; a reserved character is written as `%40` |
/// | `redis://:password@host` | a password without a name |
/// | `redis://` | no host: the client's default |
/// | `unix:/run/x.sock`, `unix:///run/x.sock` | a Unix domain socket |
/// | `redis+unix:///run/x.sock?db=1` | one whose service is named; also `redis+unix://user:password@/run/x.sock` |
///
/// A `+` is a plus sign, not a space. A fragment (`#...`) is refused.
///
/// ```
/// use arknet_proto::uri::{Host, Uri};
///
/// let uri = Uri::parse("redis://app:p%40ss@[2001:db8::1]:6380/2?name=shop%20floor")?;
/// assert_eq!(uri.scheme(), "redis");
/// assert_eq!(uri.user(), Some("app"));
/// assert_eq!(uri.password().map(|password| password.expose()), Some("p@ss"));
/// assert!(matches!(uri.host(), Some(Host::V6(_))));
/// assert_eq!(uri.port(), Some(6380));
/// assert_eq!(uri.segments(), ["2"]);
/// assert_eq!(uri.query_value("name"), Some("shop floor"));
/// assert_eq!(uri.to_string(), "redis://app:***@[2001:db8::1]:6380/2");
/// # Ok::<(), arknet_proto::uri::UriError>(())
/// ```
#[derive(Clone, Eq, PartialEq)]
pub struct Uri {
    scheme: String,
    user: Option<String>,
    password: Option<Secret>,
    host: Option<Host>,
    port: Option<u16>,
    unix: Option<String>,
    segments: Vec<String>,
    query: Vec<(String, String)>,
}

impl Uri {
    /// Takes a text apart.
    ///
    /// # Errors
    ///
    /// [`UriError`] names what is wrong, without showing any of the text.
    pub fn parse(text: &str) -> Result<Self, UriError> {
        let (scheme, rest) = split_scheme(text)?;
        check_characters(rest)?;
        if rest.contains('#') {
            return Err(UriError::Fragment);
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let is_unix = scheme == "unix" || scheme.ends_with("+unix");
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
            None if is_unix => ("", rest),
            None => return Err(UriError::NoAuthority),
        };
        // The path of a socket that stands alone may have one. Anywhere else it may be the end of a password with a slash
        // or a question mark in it, and what we took for the host is the user.
        let is_alone = is_unix && authority.is_empty();
        if !is_alone && (path.contains('@') || query.contains('@')) {
            return Err(UriError::StrayAt);
        }
        let (userinfo, location) = split_userinfo(authority)?;
        let (user, password) = userinfo.map_or(Ok((None, None)), read_userinfo)?;
        let mut uri = Self {
            scheme,
            user,
            password,
            host: None,
            port: None,
            unix: None,
            segments: Vec::new(),
            query: read_query(query)?,
        };
        if is_unix {
            uri.unix = Some(read_socket(location, path)?);
        } else {
            (uri.host, uri.port) = read_location(location)?;
            uri.segments = read_segments(path)?;
        }
        Ok(uri)
    }

    /// The scheme, in lower case.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The user's name, decoded. `None` where it is absent or empty.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The password, decoded. An empty one is there if its colon is.
    #[must_use]
    pub fn password(&self) -> Option<&Secret> {
        self.password.as_ref()
    }

    /// The host. `None` where it is left out, and for a Unix domain socket.
    #[must_use]
    pub fn host(&self) -> Option<&Host> {
        self.host.as_ref()
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The path of the Unix domain socket, decoded, where it is one.
    #[must_use]
    pub fn unix_path(&self) -> Option<&str> {
        self.unix.as_deref()
    }

    /// The parts of the path between the slashes, decoded. A slash at the end adds none.
    #[must_use]
    pub fn segments(&self) -> &[String] {
        &self.segments
    }

    /// Names and values of the query, decoded, in their order. A name without `=` has an empty value.
    #[must_use]
    pub fn query(&self) -> &[(String, String)] {
        &self.query
    }

    /// The first value of this name in the query.
    #[must_use]
    pub fn query_value(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// For logs: without the password, and without the query, in which some services have one.
impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A path that does not begin with a slash cannot follow two of them.
        let slashes = match &self.unix {
            Some(path) if !path.starts_with('/') => "",
            _ => "//",
        };
        write!(f, "{}:{slashes}", self.scheme)?;
        if let Some(user) = &self.user {
            f.write_str(&encode(user))?;
        }
        if self.password.is_some() {
            f.write_str(":***")?;
        }
        if self.user.is_some() || self.password.is_some() {
            f.write_str("@")?;
        }
        if let Some(host) = &self.host {
            write!(f, "{host}")?;
        }
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        if let Some(path) = &self.unix {
            let parts: Vec<_> = path.split('/').map(encode).collect();
            f.write_str(&parts.join("/"))?;
        }
        for segment in &self.segments {
            write!(f, "/{}", encode(segment))?;
        }
        // One more slash, since the last adds no segment.
        if self.segments.last().is_some_and(String::is_empty) {
            f.write_str("/")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.query.iter().map(|(name, _)| name).collect();
        f.debug_struct("Uri")
            .field("uri", &format_args!("{self}"))
            .field("query", &names)
            .finish()
    }
}

impl std::str::FromStr for Uri {
    type Err = UriError;

    fn from_str(text: &str) -> Result<Self, UriError> {
        Self::parse(text)
    }
}

/// RFC 3986, 3.1: a letter, then letters, digits, `+`, `-` and `.`.
fn split_scheme(text: &str) -> Result<(String, &str), UriError> {
    let (scheme, rest) = text.split_once(':').ok_or(UriError::NoScheme)?;
    let is_first = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    if !is_first || !scheme.chars().all(is_part) {
        return Err(UriError::NoScheme);
    }
    Ok((scheme.to_ascii_lowercase(), rest))
}

fn split_userinfo(authority: &str) -> Result<(Option<&str>, &str), UriError> {
    match authority.split_once('@') {
        None => Ok((None, authority)),
        Some((_, rest)) if rest.contains('@') => Err(UriError::StrayAt),
        Some((userinfo, rest)) => Ok((Some(userinfo), rest)),
    }
}

fn read_userinfo(text: &str) -> Result<(Option<String>, Option<Secret>), UriError> {
    let (user, password) = match text.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (text, None),
    };
    let user = decode(user, UriPart::User)?;
    let password = password
        .map(|password| decode(password, UriPart::Password))
        .transpose()?;
    Ok((
        Some(user).filter(|user| !user.is_empty()),
        password.map(Secret::new),
    ))
}

fn read_location(text: &str) -> Result<(Option<Host>, Option<u16>), UriError> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (literal, after) = rest.split_once(']').ok_or(UriError::Bracket)?;
            let port = match after.strip_prefix(':') {
                Some(port) => port,
                None if after.is_empty() => "",
                None => return Err(UriError::Bracket),
            };
            (Some(Host::literal(literal)?), port)
        }
        None => {
            let (host, port) = text.split_once(':').unwrap_or((text, ""));
            let host = Some(host).filter(|host| !host.is_empty());
            (host.map(Host::name).transpose()?, port)
        }
    };
    let port = read_port(port)?;
    if host.is_none() && port.is_some() {
        return Err(UriError::PortWithoutHost);
    }
    Ok((host, port))
}

/// RFC 3986, 3.2.3: digits, or nothing after a colon.
fn read_port(text: &str) -> Result<Option<u16>, UriError> {
    if text.is_empty() {
        return Ok(None);
    }
    let port = Some(text)
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|text| text.parse().ok())
        .filter(|port| *port != 0)
        .ok_or(UriError::Port)?;
    Ok(Some(port))
}

fn read_socket(location: &str, path: &str) -> Result<String, UriError> {
    if !location.is_empty() {
        return Err(UriError::HostOfSocket);
    }
    let path = decode(path, UriPart::Path)?;
    if path.is_empty() || path == "/" || path.contains('\0') {
        return Err(UriError::SocketPath);
    }
    Ok(path)
}

fn read_segments(path: &str) -> Result<Vec<String>, UriError> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    if path.is_empty() {
        return Ok(Vec::new());
    }
    path.split('/')
        .map(|segment| decode(segment, UriPart::Path))
        .collect()
}

fn read_query(query: &str) -> Result<Vec<(String, String)>, UriError> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((
                decode(name, UriPart::Query)?,
                decode(value, UriPart::Query)?,
            ))
        })
        .collect()
}
