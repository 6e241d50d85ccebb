//! What the library takes and gives back: descriptors, threads, tasks, heap, allocations, and processor time where it has
//! nothing to do.
//!
//! Every test looks at the whole process, so each needs a process of its own: run them with nextest, which also keeps
//! them from each other (`.config/nextest.toml` knows them by their names).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]
#![allow(
    clippy::print_stderr,
    reason = "figures are for whoever asks for them: nextest shows them with `--success-output immediate`"
)]

#[global_allocator]
static ALLOCATOR: arknet_testkit::alloc::Counting = arknet_testkit::alloc::Counting;

/// The stories of a module as values, for those who run them in rounds.
macro_rules! in_every_cell {
    ($($story:ident),+ $(,)?) => {
        pub(crate) const IN_EVERY_CELL: &[crate::Story] = &[$($story),+];
    };
}

macro_rules! in_every_plain_cell {
    ($($story:ident),+ $(,)?) => {
        pub(crate) const IN_EVERY_PLAIN_CELL: &[crate::Story] = &[$($story),+];
    };
}

macro_rules! in_every_secure_cell {
    ($($story:ident),+ $(,)?) => {
        pub(crate) const IN_EVERY_SECURE_CELL: &[crate::Story] = &[$($story),+];
    };
}

/// A story of the other binary.
type Story = fn(support::Cell);

#[path = "../faults/proxy_cut.rs"]
mod proxy_cut;
#[path = "../faults/proxy_half_close.rs"]
mod proxy_half_close;
#[path = "../faults/proxy_reconnect.rs"]
mod proxy_reconnect;
#[path = "../faults/proxy_reset.rs"]
mod proxy_reset;
#[path = "../faults/proxy_stall.rs"]
mod proxy_stall;
#[path = "../faults/support/mod.rs"]
mod support;

mod allocations;
mod cycles;
mod descriptors;
mod idle_memory;
mod pool_leases;
#[cfg(feature = "redis")]
mod redis_client;
#[cfg(feature = "redis")]
mod redis_lease;
mod stories;
mod ten_thousand;
