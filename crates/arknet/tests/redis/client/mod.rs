//! The shared client.

mod bounds;
mod callbacks;
mod cancellation;
mod close;
mod deadlines;
mod heartbeat;
mod more;
mod outcomes;
mod pushes;
mod reconnect;
mod refused;
mod threads;
mod works;
