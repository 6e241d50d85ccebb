#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/proto/tests/fuzz_bodies/mod.rs"]
#[allow(dead_code, reason = "a target runs one of the bodies")]
mod fuzz_bodies;

fuzz_target!(|data: &[u8]| fuzz_bodies::redis_exchange::run(data));
