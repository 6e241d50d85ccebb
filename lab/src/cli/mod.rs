//! The commands: arguments in, output and exit status out.

pub(crate) mod doctor;
pub(crate) mod exit;
pub(crate) mod inspect;
pub(crate) mod measure;
mod measure_database;
pub(crate) mod plan;
mod progress;
pub(crate) mod quick;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod serve;
mod session;
mod terminal;
pub(crate) mod verify;
