//! Counted.
fn main() {}
