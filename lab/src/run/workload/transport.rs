//! One configuration of `measure transport`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Execution;

/// Everything that one measuring process is told, except its execution style.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transport {
    /// `native` (bare sockets) or `endpoint` (arknet's public API).
    pub implementation: Implementation,
    /// The protocol on the wire.
    pub protocol: Protocol,
    /// Whole batches, or a window that is replenished message by message.
    pub traffic: Traffic,
    /// Bytes per message.
    pub payload: u32,
    /// Connections.
    pub clients: u32,
    /// Messages in flight per connection.
    pub window: u32,
    /// Steps of computation per message on the server.
    pub work: u32,
    /// Scheduler shape and its threads.
    pub io: Io,
    /// Seconds of traffic before the measured interval.
    pub warmup: f64,
    /// Seconds of measured traffic.
    pub seconds: f64,
}

impl Transport {
    /// The cell's name: every dimension but the durations, which a plan sets for a whole group.
    #[must_use]
    pub fn name(&self) -> String {
        format!(
            "impl={};proto={};traffic={};payload={};conns={};window={};work={};io={}",
            self.implementation,
            self.protocol,
            self.traffic,
            self.payload,
            self.clients,
            self.window,
            self.work,
            self.io,
        )
    }

    /// What tells it from the other cells of its group, for people.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{} in flight · {}", self.window, self.series())
    }

    /// The same without the messages in flight.
    #[must_use]
    pub fn series(&self) -> String {
        match self.work {
            0 => self.io.to_string(),
            work => format!("{} · work {work}", self.io),
        }
    }

    /// What follows the program's name on the command line of one measuring process.
    #[must_use]
    pub fn arguments(&self, execution: Execution) -> Vec<String> {
        let pairs = [
            ("--protocol", self.protocol.to_string()),
            ("--implementation", self.implementation.to_string()),
            ("--execution", execution.to_string()),
            ("--io-model", self.io.model.to_string()),
            ("--io-threads", self.io.threads.to_string()),
            ("--traffic", self.traffic.to_string()),
            ("--payload", self.payload.to_string()),
            ("--clients", self.clients.to_string()),
            ("--window", self.window.to_string()),
            ("--work", self.work.to_string()),
            ("--warmup", self.warmup.to_string()),
            ("--seconds", self.seconds.to_string()),
            ("--address-family", "ipv4".to_owned()),
        ];
        let mut arguments = vec!["measure".to_owned(), "transport".to_owned()];
        for (flag, value) in pairs {
            arguments.push(flag.to_owned());
            arguments.push(value);
        }
        arguments
    }

    /// One latency observation per message, or per batch when a batch travels as one.
    #[must_use]
    pub fn latency_mode(&self) -> &'static str {
        match self.traffic {
            Traffic::Batch if self.window > 1 => "batch",
            Traffic::Batch | Traffic::Windowed => "message",
        }
    }
}

/// Scheduler shape and thread count, written `shared:4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Io {
    /// One scheduler for all threads, or one each.
    pub model: IoModel,
    /// Threads.
    pub threads: u32,
}

impl fmt::Display for Io {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.model, self.threads)
    }
}

impl From<Io> for String {
    fn from(io: Io) -> Self {
        io.to_string()
    }
}

impl TryFrom<String> for Io {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let wrong = || format!("io `{text}` is not shared:N or sharded:N");
        let (model, threads) = text.split_once(':').ok_or_else(wrong)?;
        let model = match model {
            "shared" => IoModel::Shared,
            "sharded" => IoModel::Sharded,
            _ => return Err(wrong()),
        };
        let threads = threads.parse().map_err(|_| wrong())?;
        Ok(Self { model, threads })
    }
}

words!(
    /// Whose code is measured.
    Implementation {
        /// Bare sockets, without arknet's endpoints.
        Native = "native",
        /// arknet's public endpoints.
        Endpoint = "endpoint",
    }
);
words!(
    /// The protocol on the wire.
    Protocol {
        /// Plain TCP.
        Tcp = "tcp",
        /// TCP under TLS.
        Tcps = "tcps",
    }
);
words!(
    /// How a connection keeps its window full.
    Traffic {
        /// Write a whole batch, read it back, begin again.
        Batch = "batch",
        /// One new message for each that came back.
        Windowed = "windowed",
    }
);
words!(
    /// How schedulers and threads are laid out.
    IoModel {
        /// One scheduler, all threads.
        Shared = "shared",
        /// One scheduler a thread; a connection stays on its own.
        Sharded = "sharded",
    }
);
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_spells_every_dimension_and_the_arguments_carry_them() {
        let workload = Transport {
            implementation: Implementation::Native,
            protocol: Protocol::Tcp,
            traffic: Traffic::Batch,
            payload: 1024,
            clients: 16,
            window: 16,
            work: 10_000,
            io: Io::try_from("sharded:4".to_owned()).unwrap(),
            warmup: 0.25,
            seconds: 1.0,
        };
        assert_eq!(
            workload.name(),
            "impl=native;proto=tcp;traffic=batch;payload=1024;conns=16;window=16;work=10000;io=sharded:4"
        );
        let line = workload.arguments(Execution::Async).join(" ");
        assert!(line.starts_with(
            "measure transport --protocol tcp --implementation native --execution async"
        ));
        assert!(line.contains("--io-model sharded --io-threads 4 --traffic batch"));
        assert!(line.contains("--warmup 0.25 --seconds 1 "));
        assert_eq!(workload.latency_mode(), "batch");
    }

    #[test]
    fn a_topology_that_is_neither_shape_is_refused() {
        for wrong in ["4", "owned:4", "shared:", "shared:-1"] {
            assert!(Io::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
