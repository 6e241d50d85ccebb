//! Finding the bounds of records (RFC 8446 section 5.1, RFC 5246 section 6.2).

/// Type, legacy version, and length.
pub(super) const HEADER: usize = 5;

/// The most plaintext that a record may carry.
pub(super) const MAX_FRAGMENT: usize = 16 * 1024;

/// What encryption may add at most: 2 KiB in TLS 1.2, of which TLS 1.3 allows 256 bytes.
pub(super) const MAX_EXPANSION_TLS12: usize = 2048;
pub(super) const MAX_EXPANSION_TLS13: usize = 256;

/// Content types.
pub(super) const CHANGE_CIPHER_SPEC: u8 = 20;
pub(super) const ALERT: u8 = 21;
pub(super) const HANDSHAKE: u8 = 22;
pub(super) const APPLICATION_DATA: u8 = 23;
const HEARTBEAT: u8 = 24;

/// What the front of a buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Front {
    /// Less than a record.
    Short,
    /// A record of this many bytes, header included.
    Whole(usize),
    /// A record that announces more than may be.
    Oversized,
    /// Not a record.
    Invalid,
}

/// Judges the front of `buffer` by its header, as early as its bytes allow.
pub(super) fn front(buffer: &[u8], max_expansion: usize) -> Front {
    if buffer
        .first()
        .is_some_and(|kind| !(CHANGE_CIPHER_SPEC..=HEARTBEAT).contains(kind))
        || buffer.get(1).is_some_and(|major| *major != 3)
    {
        return Front::Invalid;
    }
    let Some(&[_, _, _, high, low]) = buffer.first_chunk::<HEADER>() else {
        return Front::Short;
    };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length > MAX_FRAGMENT + max_expansion {
        Front::Oversized
    } else if buffer.len() < HEADER + length {
        Front::Short
    } else {
        Front::Whole(HEADER + length)
    }
}
