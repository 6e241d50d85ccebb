//! Stories of whole engines: client and server against each other, scripts, and hostile peers.

mod answers;
mod golden;
mod handshake;
mod hostile;
mod rows;
mod script;
