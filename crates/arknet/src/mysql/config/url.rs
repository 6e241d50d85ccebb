//! A configuration from a URL.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use arknet_proto::uri::{Host, Uri};

#[cfg(feature = "tls")]
use super::TlsMode;
use super::{Config, Error, PORT};
use crate::link::{self, Address};

/// Reads what [`Config::from_url`] documents.
pub(super) fn read(text: &str) -> Result<Config, Error> {
    let uri = Uri::parse(text).map_err(|error| Error::config(error.to_string()))?;
    if !["mysql", "mariadb", "unix", "mysql+unix", "mariadb+unix"].contains(&uri.scheme()) {
        return Err(Error::config(format!(
            "{}:// is no scheme of mysql: mysql://, mariadb://, mysql+unix:// or unix:",
            uri.scheme()
        )));
    }
    let mut config = Config::of(address(&uri));
    if let Some(user) = uri.user() {
        config = config.user(user);
    }
    if let Some(password) = uri.password() {
        config = config.password(password.expose());
    }
    config = match uri.segments() {
        [] => config,
        [database] => config.database(database),
        _ => return Err(Error::config("the path of the URL is more than a schema")),
    };
    uri.query()
        .iter()
        .try_fold(config, |config, (key, value)| set(config, key, value))
}

fn address(uri: &Uri) -> Address {
    if let Some(path) = uri.unix_path() {
        return Address::Unix(path.into());
    }
    let port = uri.port().unwrap_or(PORT);
    let ip = |ip: IpAddr| Address::Ip(SocketAddr::new(ip, port));
    match uri.host() {
        None => Address::Name("localhost".to_owned(), port),
        Some(Host::Name(name)) => Address::Name(name.clone(), port),
        Some(Host::V4(address)) => ip((*address).into()),
        Some(Host::V6(address)) => ip((*address).into()),
        Some(host) => Address::Name(host.to_string(), port),
    }
}

fn set(config: Config, key: &str, value: &str) -> Result<Config, Error> {
    Ok(match key {
        "user" => config.user(value),
        "password" => config.password(value),
        "database" | "schema" => config.database(value),
        "connect_timeout" => config.connect_timeout(duration(key, value)?),
        "request_timeout" => {
            let limit = duration(key, value)?;
            config.request_timeout(Some(limit).filter(|limit| !limit.is_zero()))
        }
        "statements" => config.statements(value.parse().map_err(|_| wrong(key, "a number"))?),
        "compressed" => config.compressed(switch(key, value)?),
        "multi_statements" => config.multi_statements(switch(key, value)?),
        "found_rows" => config.found_rows(switch(key, value)?),
        "fetch_server_key" => config.fetch_server_key(switch(key, value)?),
        "kill_abandoned" => config.kill_abandoned(switch(key, value)?),
        #[cfg(feature = "tls")]
        "tls" => {
            let mode = TlsMode::from_name(value);
            let modes = "disabled, required, verify_ca or verify_full";
            config.tls(mode.ok_or_else(|| wrong(key, modes))?)
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

fn switch(key: &str, value: &str) -> Result<bool, Error> {
    value.parse().map_err(|_| wrong(key, "true or false"))
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
            ("mysql://", "localhost:3306"),
            ("mariadb://db", "db:3306"),
            ("mysql://10.0.0.1:7000", "10.0.0.1:7000"),
            ("mysql://[::1]:7000", "[::1]:7000"),
            ("unix:/run/mysqld.sock", "unix:/run/mysqld.sock"),
            ("mysql+unix:///run/mysqld.sock", "unix:/run/mysqld.sock"),
        ] {
            assert_eq!(read(url).address().to_string(), address, "{url}");
        }
        let config = read("mysql://app:p%40ss%3A%2F@db/shop?multi_statements=true&statements=7");
        assert_eq!(config.user, "app");
        assert_eq!(config.passwords[0].expose(), b"p@ss:/");
        assert_eq!(config.database.as_deref(), Some("shop"));
        assert!(config.options.multi_statements);
        assert_eq!(config.statements, 7);
        let socket = read("unix:///run/s?user=app&password=p%26ss&database=shop");
        assert_eq!(socket.user, "app");
        assert_eq!(socket.passwords[0].expose(), b"p&ss");
        assert_eq!(socket.database.as_deref(), Some("shop"));
    }

    #[test]
    fn times_have_units_and_zero_is_no_limit() {
        let config = read("mysql://db?connect_timeout=250ms&request_timeout=1.5s");
        assert_eq!(config.connect_timeout, Duration::from_millis(250));
        assert_eq!(config.request_timeout, Some(Duration::from_millis(1500)));
        assert_eq!(read("mysql://db?request_timeout=0").request_timeout, None);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_the_reason() {
        for (url, reason) in [
            ("http://db", "no scheme of mysql"),
            ("mysql://db/a/b", "more than a schema"),
            ("mysql://db?compressed=maybe", "true or false"),
            ("mysql://db?request_timout=1", "none of ours"),
            ("mysql://db?request_timeout=soon", "a time such as"),
        ] {
            let said = refused(url);
            assert!(said.contains(reason), "{url}: {said}");
        }
        assert!(!refused("mysql://u:hunter2@h@db").contains("hunter2"));
    }
}
