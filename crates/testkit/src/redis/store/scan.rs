//! A walk over the keys of a database that a cursor of 64 bits remembers.
//!
//! Keys are visited in the order of a hash of their bytes, and the cursor is the hash to go on with: what
//! is there from the beginning to the end of a walk is visited exactly once, whatever comes and goes
//! meanwhile.

/// Where a walk goes on; 0 is its beginning, and its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::redis) struct Cursor(pub(in crate::redis) u64);

/// The place of a key in the walk (FNV-1a). It is never 0, which is kept for the beginning.
pub(super) fn place(key: &[u8]) -> u64 {
    let mixed = key.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    mixed.max(1)
}
