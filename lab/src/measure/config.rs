//! What one measurement of a transport is asked to do, and the ranges that are accepted.
//!
//! A [`TransportConfig`] is plain data; [`TransportConfig::check`] is the only judge of it, so that
//! the command line, the plans and the rivals refuse the same things in the same words.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use clap::ValueEnum;
use serde::Serialize;

/// Largest number of payload bytes in flight over all clients: both directions of the biggest
/// configuration stay within a small machine's memory.
pub const MAX_BYTES_IN_FLIGHT: usize = 256 * 1024 * 1024;

/// Smallest payload: the header of a windowed message.
pub const MIN_PAYLOAD: usize = 16;

/// Largest payload: what one UDP datagram over IPv4 can carry, so that every transport can be
/// asked for the same sizes.
pub const MAX_PAYLOAD: usize = 65_507;

/// Largest number of steps of work per message (some tens of milliseconds).
pub const MAX_WORK: u32 = 10_000_000;

/// Largest number of threads that do IO.
pub const MAX_IO_THREADS: usize = 64;

/// The transport under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Plain TCP.
    Tcp,
    /// TLS over TCP.
    Tcps,
}

/// Whose code moves the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Implementation {
    /// Bare IO, written by hand: mio (or epoll) for callbacks, tokio for async.
    Native,
    /// The public endpoints of arknet.
    Endpoint,
}

/// The style in which the ends are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Execution {
    /// State machines driven by readiness.
    Callback,
    /// Tasks.
    Async,
}

/// How threads and connections are matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum IoModel {
    /// One scheduler; any of its threads may serve any connection.
    Shared,
    /// One scheduler a thread; a connection and its peer stay on theirs.
    Sharded,
}

/// How the clients send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Traffic {
    /// A whole window is written, comes back whole, and only then the next one is written.
    Batch,
    /// Each reply is followed by the next message, so that the window stays full.
    Windowed,
}

/// The loopback address that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AddressFamily {
    /// 127.0.0.1
    Ipv4,
    /// ::1
    Ipv6,
}

impl AddressFamily {
    /// The loopback address of the family.
    pub fn loopback(self) -> IpAddr {
        match self {
            AddressFamily::Ipv4 => IpAddr::V4(Ipv4Addr::LOCALHOST),
            AddressFamily::Ipv6 => IpAddr::V6(Ipv6Addr::LOCALHOST),
        }
    }
}

/// One measurement of a transport: client and server in this process, over loopback.
#[derive(Clone, Debug, PartialEq)]
pub struct TransportConfig {
    /// The transport under test.
    pub protocol: Protocol,
    /// Whose code moves the bytes.
    pub implementation: Implementation,
    /// The style in which the ends are written.
    pub execution: Execution,
    /// How threads and connections are matched.
    pub io_model: IoModel,
    /// Threads that do IO, 1 to 64.
    pub io_threads: usize,
    /// How the clients send.
    pub traffic: Traffic,
    /// Bytes of a message, 16 to 65,507.
    pub payload: usize,
    /// Connections, 1 to 64 (native) or 1,024 (endpoint).
    pub clients: usize,
    /// Messages in flight per connection, 1 to 64 (native) or 1,024 (endpoint).
    pub window: usize,
    /// Steps of work per message on the server, up to 10,000,000.
    pub work: u32,
    /// How long traffic runs before it counts; zero for no warm-up.
    pub warmup: Duration,
    /// How long traffic counts.
    pub seconds: Duration,
    /// The loopback address that is used.
    pub address_family: AddressFamily,
}

impl Default for TransportConfig {
    /// The defaults of the original native program: 16 connections, 1 KiB, window 1, one thread,
    /// no work, 1 s of warm-up and 3 s of measurement.
    fn default() -> Self {
        TransportConfig {
            protocol: Protocol::Tcp,
            implementation: Implementation::Native,
            execution: Execution::Async,
            io_model: IoModel::Shared,
            io_threads: 1,
            traffic: Traffic::Batch,
            payload: 1024,
            clients: 16,
            window: 1,
            work: 0,
            warmup: Duration::from_secs(1),
            seconds: Duration::from_secs(3),
            address_family: AddressFamily::Ipv4,
        }
    }
}

/// Why a configuration is refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A number is outside its range.
    #[error("{name} must be between {min} and {max}, not {value}")]
    Range {
        /// The option's name.
        name: &'static str,
        /// What was asked for.
        value: String,
        /// The smallest value that is accepted.
        min: String,
        /// The largest value that is accepted.
        max: String,
    },
    /// Too many bytes would be in flight.
    #[error(
        "clients x window x payload is {0} bytes, more than the limit of {MAX_BYTES_IN_FLIGHT}"
    )]
    InFlight(usize),
    /// Two options exclude each other.
    #[error("{0}")]
    Conflict(&'static str),
}

impl TransportConfig {
    /// Says whether the configuration can be run.
    ///
    /// # Errors
    /// Names the first option that is out of range, or the options that exclude each other.
    pub fn check(&self) -> Result<(), ConfigError> {
        let (most_clients, most_window, longest) = match self.implementation {
            Implementation::Native => (64, 64, Duration::from_secs(600)),
            Implementation::Endpoint => (1024, 1024, Duration::from_secs(3600)),
        };
        within("io-threads", &self.io_threads, &1, &MAX_IO_THREADS)?;
        within("payload", &self.payload, &MIN_PAYLOAD, &MAX_PAYLOAD)?;
        within("clients", &self.clients, &1, &most_clients)?;
        within("window", &self.window, &1, &most_window)?;
        within("work", &self.work, &0, &MAX_WORK)?;
        within(
            "warmup",
            &Seconds(self.warmup),
            &Seconds(Duration::ZERO),
            &Seconds(longest),
        )?;
        // A nanosecond is the smallest duration that is not "no measurement at all".
        let shortest = Seconds(Duration::from_nanos(1));
        within(
            "seconds",
            &Seconds(self.seconds),
            &shortest,
            &Seconds(longest),
        )?;
        let in_flight = self
            .clients
            .saturating_mul(self.window)
            .saturating_mul(self.payload);
        if in_flight > MAX_BYTES_IN_FLIGHT {
            return Err(ConfigError::InFlight(in_flight));
        }
        match (self.implementation, self.protocol, self.traffic) {
            (Implementation::Native, Protocol::Tcps, _) => Err(ConfigError::Conflict(
                "the native implementation speaks tcp only; use --implementation endpoint for tcps",
            )),
            (Implementation::Endpoint, _, Traffic::Batch) => Err(ConfigError::Conflict(
                "the endpoint implementation has windowed traffic only",
            )),
            _ => Ok(()),
        }
    }

    /// Independent schedulers: one when shared, one a thread when sharded.
    pub fn io_contexts(&self) -> usize {
        match self.io_model {
            IoModel::Shared => 1,
            IoModel::Sharded => self.io_threads,
        }
    }
}

pub(crate) fn within<T: PartialOrd + fmt::Display>(
    name: &'static str,
    value: &T,
    min: &T,
    max: &T,
) -> Result<(), ConfigError> {
    if value >= min && value <= max {
        return Ok(());
    }
    Err(ConfigError::Range {
        name,
        value: value.to_string(),
        min: min.to_string(),
        max: max.to_string(),
    })
}

/// A duration that prints as seconds.
#[derive(PartialEq, PartialOrd)]
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_can_be_run() {
        assert_eq!(TransportConfig::default().check(), Ok(()));
    }

    #[test]
    fn a_number_outside_its_range_is_named_with_its_limits() {
        let error = TransportConfig {
            payload: 15,
            ..Default::default()
        }
        .check();
        let text = error.map_err(|e| e.to_string());
        assert_eq!(
            text,
            Err("payload must be between 16 and 65507, not 15".to_owned())
        );
    }

    #[test]
    fn the_endpoint_takes_more_clients_than_the_native_program() {
        let mut config = TransportConfig {
            clients: 65,
            ..Default::default()
        };
        assert!(matches!(
            config.check(),
            Err(ConfigError::Range {
                name: "clients",
                ..
            })
        ));
        config.implementation = Implementation::Endpoint;
        config.traffic = Traffic::Windowed;
        assert_eq!(config.check(), Ok(()));
    }

    #[test]
    fn no_measurement_at_all_is_refused() {
        let config = TransportConfig {
            seconds: Duration::ZERO,
            ..Default::default()
        };
        assert!(matches!(
            config.check(),
            Err(ConfigError::Range {
                name: "seconds",
                ..
            })
        ));
    }

    #[test]
    fn the_bytes_in_flight_are_bounded() {
        let mut config = TransportConfig {
            implementation: Implementation::Endpoint,
            traffic: Traffic::Windowed,
            clients: 1024,
            window: 16,
            payload: 16_385,
            ..Default::default()
        };
        assert_eq!(
            config.check(),
            Err(ConfigError::InFlight(1024 * 16 * 16_385))
        );
        config.payload = 16_384;
        assert_eq!(config.check(), Ok(()));
    }

    #[test]
    fn batches_through_the_endpoint_and_native_tls_are_refused() {
        let batches = TransportConfig {
            implementation: Implementation::Endpoint,
            ..Default::default()
        };
        assert!(matches!(batches.check(), Err(ConfigError::Conflict(_))));
        let tls = TransportConfig {
            protocol: Protocol::Tcps,
            ..Default::default()
        };
        assert!(matches!(tls.check(), Err(ConfigError::Conflict(_))));
    }
}
