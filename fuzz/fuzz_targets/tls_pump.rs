#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/arknet/tests/fuzz_bodies/mod.rs"]
mod fuzz_bodies;

fuzz_target!(|data: &[u8]| fuzz_bodies::tls_pump::run(data));
