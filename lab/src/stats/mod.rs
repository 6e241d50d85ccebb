//! What may be said of figures, and no more.
//!
//! Both definitions of a ratio that the original reports use are here, under names that tell them
//! apart, and the rule for when a percentile may be quoted. A claim needs more pairs than most
//! sessions have: [`verdict`] says how many.

pub mod percentile;
pub mod ratio;
pub mod summary;
pub mod verdict;
