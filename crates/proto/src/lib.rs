//! Sans-IO engines of arknet.
#![forbid(unsafe_code)]
#![deny(
    clippy::iter_over_hash_type,
    clippy::disallowed_methods,
    clippy::disallowed_types
)]
