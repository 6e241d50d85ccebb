//! Measurements: one process, one configuration, one result.
//!
//! Everything that is not IO is shared by all implementations: [`traffic`] says what is sent and how
//! it is checked, [`run`] what the ends of a run share, [`conduct`] the course of the phases, and
//! [`measurement`] what is reported. [`native`] moves the bytes with hand-written code, [`endpoint`]
//! through the public API of arknet. [`database`](mod@database) is another kind of measurement: a client whose
//! server is another process.

pub mod clock;
pub mod conduct;
pub mod config;
pub mod counters;
pub mod database;
pub mod endpoint;
mod error;
pub mod latency;
pub mod measurement;
pub mod native;
pub mod run;
pub mod traffic;
pub mod usage;
pub mod work;

use self::config::Implementation;
pub use self::config::TransportConfig;
pub use self::database::{DatabaseConfig, DatabaseMeasurement, database};
pub use self::error::Error;
pub use self::measurement::Measurement;

/// Makes one measurement of a transport; returns when it is over and every thread has ended.
///
/// # Errors
/// Refuses a configuration that [`TransportConfig::check`] refuses, and fails when sockets, threads
/// or a runtime cannot be had. A run with faults is no error: its record says `ok: false`.
pub fn transport(config: &TransportConfig) -> Result<Measurement, Error> {
    config.check()?;
    match config.implementation {
        Implementation::Native => native::run(config),
        Implementation::Endpoint => endpoint::run(config),
    }
}
