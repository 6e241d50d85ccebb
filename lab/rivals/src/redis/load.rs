//! What one run is asked to do.

use std::net::SocketAddr;

use clap::Args;

use super::work::{self, Work};
use crate::failure::Failure;
use crate::meter::Phases;

/// One measured run: which work, on how many threads, for how long, with which server.
#[derive(Clone, Debug, Args)]
pub(crate) struct Load {
    /// The name of the work, such as `64 tasks`.
    #[arg(long, value_parser = work::find)]
    pub(crate) work: Work,
    /// Threads of the runtime: 1 is a current-thread runtime.
    #[arg(long, default_value_t = 1)]
    pub(crate) threads: usize,
    /// Seconds before the measured phase.
    #[arg(long, default_value_t = 0.5)]
    pub(crate) warmup: f64,
    /// Seconds of the measured phase.
    #[arg(long, default_value_t = 2.0)]
    pub(crate) seconds: f64,
    /// The server's address; without it the run starts a server of its own.
    #[arg(long)]
    pub(crate) address: Option<SocketAddr>,
}

impl Load {
    /// The flags that ask for this load.
    pub(crate) fn flags(&self) -> Vec<String> {
        let mut flags = [
            ("--work", self.work.name.to_owned()),
            ("--threads", self.threads.to_string()),
            ("--warmup", self.warmup.to_string()),
            ("--seconds", self.seconds.to_string()),
        ]
        .into_iter()
        .flat_map(|(flag, value)| [flag.to_owned(), value])
        .collect::<Vec<_>>();
        if let Some(address) = self.address {
            flags.extend(["--address".to_owned(), address.to_string()]);
        }
        flags
    }

    /// How long the run takes.
    pub(crate) fn phases(&self) -> Phases {
        Phases {
            warmup: self.warmup,
            seconds: self.seconds,
        }
    }

    /// The server's address.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub(crate) fn server(&self) -> Result<SocketAddr, Failure> {
        let none = || Failure::Usage("this run has no server".to_owned());
        self.address.ok_or_else(none)
    }

    /// The work's name in the output: the gate is the current-thread runtime, so it goes unnamed.
    pub(crate) fn name(&self) -> String {
        match self.threads {
            1 => self.work.name.to_owned(),
            threads => format!("{} {threads} threads", self.work.name),
        }
    }
}
