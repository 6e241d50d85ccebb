//! The benchmark lab of arknet, as a library.
//!
//! [`measure`] makes one measurement in this process; `lab/rivals` calls it for the peers that are
//! ours. [`run`] follows a plan in fresh processes and keeps every raw record, [`stats`] says what
//! may be said of them, and [`report`] writes it down.

pub mod measure;
pub mod report;
pub mod run;
pub mod stats;
