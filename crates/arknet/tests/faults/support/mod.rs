//! What the stories of both binaries stand on: a cell of the matrix, a rig that runs it, and a log of what happened.
#![allow(
    dead_code,
    unused_imports,
    reason = "each of the two binaries uses a part of it"
)]

mod cell;
mod echo;
mod keys;
mod log;
mod rig;
mod talking;

pub(crate) use cell::{Carrier, Cell, Model, Style};
pub(crate) use echo::Serve;
pub(crate) use keys::Keys;
pub(crate) use log::{At, Fact, Log, What};
pub(crate) use rig::{PATIENCE, Rig, ip, proxy_before};
pub(crate) use talking::{BOTH, Talking, send_from, session};
