//! A configuration from a URL.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use arknet_proto::redis::exchange::Protocol;
use arknet_proto::uri::{Host, Uri};

#[cfg(feature = "tls")]
use super::TlsMode;
use super::{Config, Error, PORT};
use crate::link::{self, Address};

/// Reads what [`Config::from_url`] documents.
pub(super) fn read(text: &str) -> Result<Config, Error> {
    let uri = Uri::parse(text).map_err(|error| Error::config(error.to_string()))?;
    let config = Config::of(address(&uri)?);
    let mut config = secure(&uri, config)?;
    if let Some(user) = uri.user() {
        config = config.user(user);
    }
    if let Some(password) = uri.password() {
        config = config.password(password.expose());
    }
    config = match uri.segments() {
        [] => config,
        [database] => config.database(number("the path", database)?),
        _ => return Err(Error::config("the path of the URL is more than a database")),
    };
    uri.query()
        .iter()
        .try_fold(config, |config, (key, value)| set(config, key, value))
}

fn address(uri: &Uri) -> Result<Address, Error> {
    if let Some(path) = uri.unix_path() {
        return Ok(Address::Unix(path.into()));
    }
    let port = uri.port().unwrap_or(PORT);
    let ip = |ip: IpAddr| Address::Ip(SocketAddr::new(ip, port));
    match uri.host() {
        None => Ok(Address::Name("localhost".to_owned(), port)),
        Some(Host::Name(name)) => Ok(Address::Name(name.clone(), port)),
        Some(Host::V4(address)) => Ok(ip((*address).into())),
        Some(Host::V6(address)) => Ok(ip((*address).into())),
        Some(host) => Ok(Address::Name(host.to_string(), port)),
    }
}

/// TLS is said by the scheme.
fn secure(uri: &Uri, config: Config) -> Result<Config, Error> {
    match uri.scheme() {
        "redis" | "valkey" | "unix" | "redis+unix" | "valkey+unix" => Ok(config),
        #[cfg(feature = "tls")]
        "rediss" | "valkeys" => Ok(config.tls(TlsMode::VerifyFull)),
        #[cfg(not(feature = "tls"))]
        "rediss" | "valkeys" => Err(Error::config("the feature `tls` is off")),
        scheme => Err(Error::config(format!(
            "{scheme}:// is no scheme of redis: redis://, rediss://, redis+unix:// or unix:"
        ))),
    }
}

fn set(config: Config, key: &str, value: &str) -> Result<Config, Error> {
    Ok(match key {
        "db" | "database" => config.database(number(key, value)?),
        "user" => config.user(value),
        "password" => config.password(value),
        "client_name" => config.client_name(value),
        "protocol" => config.protocol(match value {
            "2" | "resp2" => Protocol::Resp2,
            "3" | "resp3" => Protocol::Resp3,
            _ => return Err(wrong(key, "2 or 3")),
        }),
        "connect_timeout" => config.connect_timeout(duration(key, value)?),
        "request_timeout" => {
            let limit = duration(key, value)?;
            config.request_timeout(Some(limit).filter(|limit| !limit.is_zero()))
        }
        #[cfg(feature = "tls")]
        "tls" => {
            let mode = TlsMode::from_name(value);
            config.tls(
                mode.ok_or_else(|| wrong(key, "disabled, required, verify_ca or verify_full"))?,
            )
        }
        #[cfg(feature = "tls")]
        "tls_server_name" => config.tls_server_name(value),
        // A misspelt setting that is passed over is found in production.
        _ => {
            return Err(Error::config(format!(
                "the URL sets {key:?}, which is none of ours"
            )));
        }
    })
}

fn number(key: &str, value: &str) -> Result<u32, Error> {
    value.parse().map_err(|_| wrong(key, "a number from 0"))
}

fn duration(key: &str, value: &str) -> Result<Duration, Error> {
    link::read_duration(value).ok_or_else(|| wrong(key, "a time such as 250ms or 1.5s"))
}

fn wrong(key: &str, wanted: &str) -> Error {
    Error::config(format!("{key} of the URL is not {wanted}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Config {
        super::read(text).unwrap()
    }

    fn refused(text: &str) -> String {
        super::read(text).unwrap_err().to_string()
    }

    #[test]
    fn a_url_says_where_and_who() {
        for (url, address) in [
            ("redis://", "localhost:6379"),
            ("redis://cache", "cache:6379"),
            ("redis://10.0.0.1:7000", "10.0.0.1:7000"),
            ("redis://[::1]:7000", "[::1]:7000"),
            ("unix:/run/redis.sock", "unix:/run/redis.sock"),
            ("redis+unix:///run/redis.sock", "unix:/run/redis.sock"),
        ] {
            assert_eq!(read(url).address().to_string(), address, "{url}");
        }
        let socket = read("unix:///run/s?user=app&password=p%26ss");
        assert_eq!(socket.login.user.as_deref(), Some("app"));
        assert_eq!(socket.login.password.as_deref(), Some("p&ss"));
        let config = read("redis://app:p%40ss%3A%2F@cache/3?client_name=web&protocol=2");
        assert_eq!(config.login.user.as_deref(), Some("app"));
        assert_eq!(config.login.password.as_deref(), Some("p@ss:/"));
        assert_eq!(config.login.database, 3);
        assert_eq!(config.login.client_name.as_deref(), Some("web"));
        assert_eq!(config.login.protocol, Protocol::Resp2);
        let only = read("redis://:secret@cache");
        assert_eq!(only.login.user, None);
        assert_eq!(only.login.password.as_deref(), Some("secret"));
    }

    #[test]
    fn times_have_units_and_zero_is_no_limit() {
        let config = read("redis://cache?connect_timeout=250ms&request_timeout=1.5s");
        assert_eq!(config.connect_timeout, Duration::from_millis(250));
        assert_eq!(config.request_timeout, Some(Duration::from_millis(1500)));
        assert_eq!(
            read("redis://cache?request_timeout=0").request_timeout,
            None
        );
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_the_reason() {
        for (url, reason) in [
            ("http://cache", "no scheme of redis"),
            ("redis://cache/zero", "the path of the URL is not a number"),
            ("redis://cache/1/2", "more than a database"),
            ("redis://cache?protocol=4", "2 or 3"),
            ("redis://cache?request_timout=1", "none of ours"),
            ("redis://cache?request_timeout=soon", "a time such as"),
        ] {
            let said = refused(url);
            assert!(said.contains(reason), "{url}: {said}");
        }
        assert!(!refused("redis://u:hunter2@h@cache").contains("hunter2"));
    }
}
