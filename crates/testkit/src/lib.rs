//! Test tools of arknet: what its tests need and its users never see.
//!
//! * [`clock`]: time that moves only when a story says so
//! * [`pair`]: two engines joined by a virtual link, whose conditions are data
//! * [`proxy`]: a TCP proxy that breaks connections on purpose
//! * [`certs`]: certificate authorities and certificates made at run time
//! * [`leak`], [`alloc`]: what a process still holds, and what it allocated
//! * [`process`]: independent peers as child processes, and loud skips without them
//! * [`mysql`], [`redis`]: embedded servers that speak MySQL and Redis, and do wrong what a test wants
//! * [`servers`]: real database servers, started for a test
//! * [`temp`]: private temporary folders
//!
//! The crate is unpublished. Its functions may panic where a test would anyway, and say so.

pub mod alloc;
pub mod certs;
pub mod clock;
pub mod leak;
pub mod mysql;
pub mod pair;
pub mod process;
pub mod proxy;
pub mod redis;
pub mod servers;
pub mod temp;

pub use clock::VirtualClock;
pub use pair::Pair;
pub use proxy::FaultProxy;
pub use temp::TempDir;
