//! Commands by family: plain functions that return a typed command.

pub mod strings;
