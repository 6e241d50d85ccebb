//! Stories of two pumps that talk to each other.

mod certificates;
mod closing;
mod configuration;
mod garbage;
mod handshake;
mod pair;
mod pki;
mod records;
mod reload;
mod resumption;
