//! `arknet-lab measure database`: arguments to a configuration.

use std::time::Duration;

use arknet_lab::measure::DatabaseConfig;
use arknet_lab::measure::config::Execution;
use arknet_lab::measure::database::config::{Access, Api, Engine, Io, Server, Update};

/// The scheme of a URL whose server is spoken to without TLS.
const PLAIN: &str = "redis://";

/// The same with TLS.
const SECURE: &str = "rediss://";

/// What a URL of MySQL says to have TLS, with the server verified.
const VERIFIED: &str = "tls=verify_full";

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The database.
    #[arg(long, value_enum, default_value_t = Engine::Redis)]
    engine: Engine,
    #[command(flatten)]
    server: ServerArgs,
    /// Speak TLS, as a URL does that begins with rediss://, or has tls=verify_full in its query.
    #[arg(long, conflicts_with = "embedded")]
    tls: bool,
    /// What the requests go through.
    #[arg(long, value_enum, default_value_t = Api::Client)]
    api: Api,
    /// A lease for each operation, or connections that all operations share.
    #[arg(long, value_enum, default_value_t = Access::Lease)]
    access: Access,
    /// The style in which the client is written.
    #[arg(long, value_enum, default_value_t = Execution::Async)]
    execution: Execution,
    /// Where IO happens: on 1 to 64 threads, as threads:N, or on the owner's own, as inline.
    #[arg(long, value_name = "threads:N|inline", default_value = "threads:1")]
    io: Io,
    /// When the owner updates [default with --api owner: continuous].
    #[arg(long, value_enum)]
    update: Option<Update>,
    /// Microseconds that a parked owner looks for work before it sleeps [default: the library's, 50].
    #[arg(long, value_name = "MICROSECONDS")]
    spin: Option<u64>,
    /// Connections, 1 to 1024.
    #[arg(long, value_name = "N", default_value_t = 1)]
    connections: usize,
    /// Operations at a time, 1 to 65536.
    #[arg(long, value_name = "N", default_value_t = 1)]
    outstanding: usize,
    /// Bytes that travel each way, 8 to 1048576.
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    payload: usize,
    /// Operations that count, more than 0.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    operations: u64,
    /// Operations before they count.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    warmup_operations: u64,
}

/// Whose server answers.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct ServerArgs {
    /// The server, such as redis://127.0.0.1:6379 or mysql://root@127.0.0.1:3306.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// A server of the lab's own, started for this run in a process of its own.
    #[arg(long)]
    embedded: bool,
}

impl Args {
    /// What is asked for.
    ///
    /// # Errors
    /// When this program cannot be found, which is the embedded server too.
    pub(crate) fn config(&self) -> std::io::Result<DatabaseConfig> {
        let server = match &self.server.url {
            Some(url) => Server::Url(self.secured(url)),
            None => Server::Embedded(std::env::current_exe()?),
        };
        Ok(DatabaseConfig {
            engine: self.engine,
            api: self.api,
            access: self.access,
            execution: self.execution,
            server,
            io: self.io,
            update: self.update(),
            spin: self.spin.map(Duration::from_micros),
            connections: self.connections,
            outstanding: self.outstanding,
            payload: self.payload,
            operations: self.operations,
            warmup_operations: self.warmup_operations,
        })
    }

    fn update(&self) -> Option<Update> {
        let default = (self.api == Api::Owner).then_some(Update::Continuous);
        self.update.or(default)
    }

    fn secured(&self, url: &str) -> String {
        if !self.tls {
            return url.to_owned();
        }
        match (self.engine, url.strip_prefix(PLAIN)) {
            (Engine::Redis, Some(rest)) => format!("{SECURE}{rest}"),
            (Engine::Redis, None) => url.to_owned(),
            (Engine::Mysql, _) if url.contains('?') => format!("{url}&{VERIFIED}"),
            (Engine::Mysql, _) => format!("{url}?{VERIFIED}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use clap::error::ErrorKind;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parsed(line: &str) -> Result<DatabaseConfig, ErrorKind> {
        let words = ["database"].into_iter().chain(line.split_whitespace());
        let line = Line::try_parse_from(words).map_err(|e| e.kind())?;
        Ok(line.args.config().expect("this program is there"))
    }

    #[test]
    fn the_defaults_are_the_first_cell_of_the_original() {
        let server = Server::Url("redis://127.0.0.1".to_owned());
        let expected = DatabaseConfig::new(server);
        assert_eq!(parsed("--url redis://127.0.0.1"), Ok(expected));
    }

    #[test]
    fn every_option_is_taken() {
        let config = parsed(
            "--engine redis --url redis://127.0.0.1 --tls --api client --access shared \
             --execution callback --io threads:2 --connections 4 --outstanding 64 --payload 4096 \
             --operations 5000 --warmup-operations 0",
        )
        .expect("valid");
        let expected = DatabaseConfig {
            engine: Engine::Redis,
            api: Api::Client,
            access: Access::Shared,
            execution: Execution::Callback,
            server: Server::Url("rediss://127.0.0.1".to_owned()),
            io: Io::Threads(2),
            update: None,
            spin: None,
            connections: 4,
            outstanding: 64,
            payload: 4_096,
            operations: 5_000,
            warmup_operations: 0,
        };
        assert_eq!(config, expected);
        assert_eq!(config.check(), Ok(()));
    }

    #[test]
    fn an_owner_updates_without_a_pause_unless_told_otherwise() {
        let owner = parsed("--embedded --api owner --io inline").expect("valid");
        assert_eq!(
            (owner.api, owner.io, owner.update),
            (Api::Owner, Io::Inline, Some(Update::Continuous))
        );
        let parked = parsed("--embedded --api owner --update parked --spin 0").expect("valid");
        assert_eq!(
            (parked.update, parked.spin),
            (Some(Update::Parked), Some(Duration::ZERO))
        );
        let tick = parsed("--embedded --api owner --update 1ms").expect("valid");
        assert_eq!(tick.update, Some(Update::Millisecond));
        for config in [owner, parked, tick] {
            assert_eq!(config.check(), Ok(()));
        }
    }

    #[test]
    fn tls_of_mysql_is_said_in_the_query() {
        for (url, secured) in [
            ("mysql://root@h/s", "mysql://root@h/s?tls=verify_full"),
            (
                "mysql://h?statements=1",
                "mysql://h?statements=1&tls=verify_full",
            ),
        ] {
            let config = parsed(&format!("--engine mysql --tls --url {url}")).expect("valid");
            assert_eq!(config.server, Server::Url(secured.to_owned()));
            assert_eq!(config.engine, Engine::Mysql);
        }
    }

    #[test]
    fn one_server_is_named_and_not_two() {
        assert_eq!(parsed(""), Err(ErrorKind::MissingRequiredArgument));
        let both = parsed("--embedded --url redis://127.0.0.1");
        assert_eq!(both, Err(ErrorKind::ArgumentConflict));
        let tls = parsed("--embedded --tls").map(drop);
        assert!(tls.is_err());
    }

    #[test]
    fn unknown_values_are_usage() {
        for wrong in [
            "--engine oracle",
            "--io 2",
            "--access owner",
            "--update 2ms",
        ] {
            assert!(parsed(&format!("--embedded {wrong}")).is_err(), "{wrong}");
        }
    }
}
