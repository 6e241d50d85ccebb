//! The benchmark lab of arknet.
fn main() {}
