//! The servers that speak the protocol, and where each is found.

use std::path::PathBuf;

use crate::process::which;
use crate::servers::{Absent, unpacked};

/// Which implementation to start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Product {
    /// `redis-server` from `PATH`. The default.
    #[default]
    Redis,
    /// `valkey-server` from `PATH`, or what `scripts/servers valkey` has unpacked.
    Valkey,
}

impl Product {
    /// Both, for tests that run on each.
    pub const ALL: [Self; 2] = [Self::Redis, Self::Valkey];

    /// The program's name.
    #[must_use]
    pub fn program(self) -> &'static str {
        match self {
            Self::Redis => "redis-server",
            Self::Valkey => "valkey-server",
        }
    }

    /// Where the program is.
    ///
    /// # Errors
    ///
    /// [`Absent`] where it is not, with what would bring it.
    pub fn find(self) -> Result<PathBuf, Absent> {
        let program = self.program();
        if let Some(path) = which(program) {
            return Ok(path);
        }
        match self {
            Self::Redis => Err(Absent {
                program,
                remedy: "apt-get install redis-server",
                optional: false,
            }),
            Self::Valkey => unpacked("valkey", program).and_then(which).ok_or(Absent {
                program,
                remedy: "scripts/servers valkey",
                optional: true,
            }),
        }
    }
}
