//! One byte string over another.

/// Every byte of `data` over the bytes of `key`, which begin anew where they end.
pub(super) fn xor(data: &mut [u8], key: &[u8]) {
    for (byte, key) in data.iter_mut().zip(key.iter().cycle()) {
        *byte ^= key;
    }
}
