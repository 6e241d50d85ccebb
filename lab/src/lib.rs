//! The benchmark lab of arknet, as a library.
//!
//! [`measure`] makes one measurement in this process; `lab/rivals` calls it for the peers that are
//! ours.

pub mod measure;
