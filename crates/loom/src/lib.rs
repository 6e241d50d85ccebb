//! The owner's mailboxes and its signal, compiled a second time with loom's primitives: `scripts/test loom`. Without
//! `--cfg arknet_loom` there is nothing here.
#![cfg(arknet_loom)]

mod owner;
#[path = "../../arknet/src/sync.rs"]
mod sync;
