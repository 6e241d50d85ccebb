//! What the server is given before a run, written over a plain socket so that no library has a part
//! in it.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::failure::Failure;

/// Small values.
pub(crate) const KEYS: usize = 100;

/// The key of the large value.
pub(crate) const LARGE_KEY: &str = "large";

const LARGE: usize = 16 * 1024;

/// What an ECHO carries: as the small operations of the original measurements.
const PAYLOAD: usize = 64;

/// How long the server may take to answer a hundred SETs.
const PATIENCE: Duration = Duration::from_secs(10);

/// The key of a small value.
pub(crate) fn key(n: usize) -> String {
    format!("key:{n}")
}

/// A small value: 20 bytes.
pub(crate) fn small(n: usize) -> String {
    format!("value:{n:014}")
}

/// The large value: binary, and different at every place.
pub(crate) fn large() -> Vec<u8> {
    let word = |n: u32| n.wrapping_mul(0x9E37_79B9).to_le_bytes();
    (0..).flat_map(word).take(LARGE).collect()
}

/// What an ECHO carries: binary.
pub(crate) fn payload() -> [u8; PAYLOAD] {
    let mut payload = [0; PAYLOAD];
    for (byte, n) in payload.iter_mut().zip(0_u8..) {
        *byte = n.wrapping_mul(37);
    }
    payload
}

/// Sets all keys.
///
/// # Errors
///
/// When the server is not there or answers something else than OK.
pub(crate) fn sow(address: SocketAddr) -> Result<(), Failure> {
    let io = || Failure::io("giving the server its values");
    let mut socket = TcpStream::connect(address).map_err(io())?;
    socket.set_read_timeout(Some(PATIENCE)).map_err(io())?;
    let mut wire = Vec::new();
    for n in 0..KEYS {
        set(&mut wire, &key(n), small(n).as_bytes());
    }
    set(&mut wire, LARGE_KEY, &large());
    socket.write_all(&wire).map_err(io())?;
    let mut replies = vec![0; (KEYS + 1) * OK.len()];
    socket.read_exact(&mut replies).map_err(io())?;
    if replies.chunks(OK.len()).all(|reply| reply == OK) {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&replies).into_owned();
    Err(Failure::Invalid(format!("the server said {text:?}")))
}

const OK: &[u8] = b"+OK\r\n";

fn set(wire: &mut Vec<u8>, key: &str, value: &[u8]) {
    wire.extend_from_slice(b"*3\r\n");
    for part in [b"SET", key.as_bytes(), value] {
        wire.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
        wire.extend_from_slice(part);
        wire.extend_from_slice(b"\r\n");
    }
}
