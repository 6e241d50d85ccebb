//! The rivals.
fn main() {}
