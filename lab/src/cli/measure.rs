//! `arknet-lab measure`: arguments to a configuration, a measurement to one JSON object.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use arknet_lab::measure::config::{
    AddressFamily, Execution, Implementation, IoModel, Protocol, Traffic, TransportConfig,
};
use arknet_lab::measure::{self, DatabaseMeasurement, Error, Measurement};
use clap::CommandFactory;
use clap::error::ErrorKind;
use serde::Serialize;

use super::measure_database;

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Echo over loopback, client and server in this process.
    Transport(TransportArgs),
    /// A database client; the server is another process.
    Database(measure_database::Args),
}

#[derive(Debug, clap::Args)]
struct TransportArgs {
    /// The transport under test.
    #[arg(long, value_enum, default_value_t = Protocol::Tcp)]
    protocol: Protocol,
    /// Bare IO by hand, or the endpoints of arknet.
    #[arg(long, value_enum, default_value_t = Implementation::Native)]
    implementation: Implementation,
    /// The style in which the ends are written.
    #[arg(long, value_enum, default_value_t = Execution::Async)]
    execution: Execution,
    /// One scheduler for all threads, or one each.
    #[arg(long, value_enum, default_value_t = IoModel::Shared)]
    io_model: IoModel,
    /// Threads that do IO, 1 to 64.
    #[arg(long, value_name = "N", default_value_t = 1)]
    io_threads: usize,
    /// Whole windows in turn, or windows that are kept full [default: batch for native, windowed
    /// for endpoint].
    #[arg(long, value_enum)]
    traffic: Option<Traffic>,
    /// Bytes of a message, 16 to 65507.
    #[arg(long, value_name = "BYTES", default_value_t = 1024)]
    payload: usize,
    /// Connections, 1 to 64 (native) or 1024 (endpoint).
    #[arg(long, value_name = "N", default_value_t = 16)]
    clients: usize,
    /// Messages in flight per connection, 1 to 64 (native) or 1024 (endpoint).
    #[arg(long, value_name = "N", default_value_t = 1)]
    window: usize,
    /// Steps of work per message on the server, 0 to 10000000.
    #[arg(long, value_name = "N", default_value_t = 0)]
    work: u32,
    /// Seconds of traffic before it counts, 0 to 600 (native) or 3600 (endpoint).
    #[arg(long, value_name = "S", default_value = "1", value_parser = seconds)]
    warmup: Duration,
    /// Seconds of traffic that count, more than 0.
    #[arg(long, value_name = "S", default_value = "3", value_parser = seconds)]
    seconds: Duration,
    /// The loopback address that is used.
    #[arg(long, value_enum, default_value_t = AddressFamily::Ipv4)]
    address_family: AddressFamily,
}

/// Measures and prints; 0 when the measurement is valid, 1 when it is not, 2 for usage.
pub(crate) fn run(args: &Args) -> ExitCode {
    match &args.what {
        What::Transport(transport) => {
            let config = transport.config();
            let record = match measure::transport(&config) {
                Ok(record) => record,
                Err(Error::Config(e)) => usage(&e),
                Err(e) => Measurement::failed(&config, &e.to_string()),
            };
            ended(&record, record.ok, record.error.as_deref())
        }
        What::Database(database) => {
            let config = match database.config() {
                Ok(config) => config,
                Err(e) => return complain(&format!("find this program: {e}")),
            };
            let record = match measure::database(&config) {
                Ok(record) => record,
                Err(Error::Config(e)) => usage(&e),
                Err(e) => DatabaseMeasurement::failed(&config, &e.to_string()),
            };
            ended(&record, record.ok, record.error.as_deref())
        }
    }
}

fn ended(record: &impl Serialize, ok: bool, error: Option<&str>) -> ExitCode {
    match print(record) {
        Ok(()) if ok => ExitCode::SUCCESS,
        Ok(()) => {
            let error = error.unwrap_or("unknown");
            complain(&format!("the measurement failed: {error}"))
        }
        Err(e) => complain(&format!("write the measurement: {e}")),
    }
}

impl TransportArgs {
    fn config(&self) -> TransportConfig {
        let by_default = match self.implementation {
            Implementation::Native => Traffic::Batch,
            Implementation::Endpoint => Traffic::Windowed,
        };
        TransportConfig {
            protocol: self.protocol,
            implementation: self.implementation,
            execution: self.execution,
            io_model: self.io_model,
            io_threads: self.io_threads,
            traffic: self.traffic.unwrap_or(by_default),
            payload: self.payload,
            clients: self.clients,
            window: self.window,
            work: self.work,
            warmup: self.warmup,
            seconds: self.seconds,
            address_family: self.address_family,
        }
    }
}

/// Finite, not negative, and not so long that a clock would overflow.
fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text
        .parse()
        .map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(number).map_err(|e| e.to_string())
}

fn usage(error: &dyn std::error::Error) -> ! {
    let mut command = crate::Command::command();
    command.error(ErrorKind::ValueValidation, error).exit()
}

fn print(record: &impl Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, record)?;
    writeln!(out)?;
    out.flush()
}

fn complain(text: &str) -> ExitCode {
    // Nobody is left to tell when standard error is gone.
    let _ = writeln!(io::stderr(), "arknet-lab: {text}");
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn parsed(line: &str) -> Result<TransportConfig, ErrorKind> {
        let words = ["arknet-lab", "measure", "transport"]
            .into_iter()
            .chain(line.split_whitespace());
        let command = crate::Command::try_parse_from(words).map_err(|e| e.kind())?;
        let crate::Command::Measure(args) = command else {
            unreachable!("the words begin with measure")
        };
        let What::Transport(transport) = args.what else {
            unreachable!("the words ask for a transport")
        };
        Ok(transport.config())
    }

    #[test]
    fn the_defaults_are_the_native_programs() {
        assert_eq!(parsed(""), Ok(TransportConfig::default()));
    }

    #[test]
    fn traffic_defaults_to_what_the_implementation_is_known_for() {
        let endpoint = parsed("--implementation endpoint").expect("valid");
        assert_eq!(endpoint.traffic, Traffic::Windowed);
        let native = parsed("--traffic windowed").expect("valid");
        assert_eq!(native.traffic, Traffic::Windowed);
    }

    #[test]
    fn every_option_is_taken() {
        let config = parsed(
            "--protocol tcps --implementation endpoint --execution callback --io-model sharded \
             --io-threads 4 --payload 64 --clients 2 --window 8 --work 10000 --warmup 0.25 \
             --seconds 0.5 --address-family ipv6",
        )
        .expect("valid");
        let expected = TransportConfig {
            protocol: Protocol::Tcps,
            implementation: Implementation::Endpoint,
            execution: Execution::Callback,
            io_model: IoModel::Sharded,
            io_threads: 4,
            traffic: Traffic::Windowed,
            payload: 64,
            clients: 2,
            window: 8,
            work: 10_000,
            warmup: Duration::from_millis(250),
            seconds: Duration::from_millis(500),
            address_family: AddressFamily::Ipv6,
        };
        assert_eq!(config, expected);
        assert_eq!(config.check(), Ok(()));
    }

    #[test]
    fn what_is_not_a_number_of_seconds_is_usage() {
        for bad in ["-1", "inf", "nan", "1e400", "1s", ""] {
            assert!(seconds(bad).is_err(), "{bad:?}");
        }
        assert_eq!(seconds("0.25"), Ok(Duration::from_millis(250)));
    }

    #[test]
    fn unknown_values_and_flags_are_usage() {
        assert_eq!(parsed("--protocol smtp"), Err(ErrorKind::InvalidValue));
        assert_eq!(parsed("--io-model owned"), Err(ErrorKind::InvalidValue));
        assert_eq!(parsed("--speed 9"), Err(ErrorKind::UnknownArgument));
        assert_eq!(parsed("--clients"), Err(ErrorKind::InvalidValue));
        assert_eq!(parsed("--clients -1"), Err(ErrorKind::UnknownArgument));
    }
}
