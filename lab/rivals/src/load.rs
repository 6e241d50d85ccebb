//! What one run is asked to do, and what its work is called in the output.

use std::fmt;
use std::time::Duration;

use arknet_lab::measure::TransportConfig;
use arknet_lab::measure::config::{IoModel, Traffic};
use clap::{Args, ValueEnum};

/// What travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protocol {
    /// Bare TCP.
    Tcp,
    /// TLS 1.3 over TCP.
    Tls,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "tcp",
            Self::Tls => "tls",
        })
    }
}

/// One measured run: how many connections, how deep, how long.
#[derive(Clone, Debug, Args)]
pub(crate) struct Load {
    /// Bytes of a message, its 16-byte header included.
    #[arg(long, default_value_t = 1024)]
    pub(crate) payload: usize,
    /// Connections, each with a client and a server end in this process.
    #[arg(long, default_value_t = 16)]
    pub(crate) clients: usize,
    /// Messages in flight on a connection.
    #[arg(long, default_value_t = 1)]
    pub(crate) window: usize,
    /// Threads that share the connections.
    #[arg(long, default_value_t = 1)]
    pub(crate) threads: usize,
    /// Seconds before the measured phase.
    #[arg(long, default_value_t = 0.5)]
    pub(crate) warmup: f64,
    /// Seconds of the measured phase.
    #[arg(long, default_value_t = 3.0)]
    pub(crate) seconds: f64,
}

impl Load {
    /// The load as the lab understands it: windowed traffic over bare TCP, by native tasks. Its
    /// `check` is the judge of the numbers.
    pub(crate) fn config(&self) -> TransportConfig {
        TransportConfig {
            io_model: IoModel::Sharded,
            io_threads: self.threads,
            traffic: Traffic::Windowed,
            payload: self.payload,
            clients: self.clients,
            window: self.window,
            warmup: self.warmup(),
            seconds: self.measured(),
            ..TransportConfig::default()
        }
    }

    pub(crate) fn warmup(&self) -> Duration {
        Duration::try_from_secs_f64(self.warmup).unwrap_or_default()
    }

    pub(crate) fn measured(&self) -> Duration {
        Duration::try_from_secs_f64(self.seconds).unwrap_or_default()
    }

    /// The flags that ask for this load, understood by `run-one` and by the C++ program alike.
    pub(crate) fn flags(&self) -> Vec<String> {
        [
            ("--payload", self.payload.to_string()),
            ("--clients", self.clients.to_string()),
            ("--window", self.window.to_string()),
            ("--threads", self.threads.to_string()),
            ("--warmup", self.warmup.to_string()),
            ("--seconds", self.seconds.to_string()),
        ]
        .into_iter()
        .flat_map(|(flag, value)| [flag.to_owned(), value])
        .collect()
    }

    /// The second half of a work's name, such as `1 KiB 16x1 1 thread`.
    pub(crate) fn name(&self) -> String {
        let payload = match self.payload {
            bytes if bytes % 1024 == 0 => format!("{} KiB", bytes / 1024),
            bytes => format!("{bytes} B"),
        };
        let threads = match self.threads {
            1 => "1 thread".to_owned(),
            n => format!("{n} threads sharded"),
        };
        format!("{payload} {}x{} {threads}", self.clients, self.window)
    }
}
