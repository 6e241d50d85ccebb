//! What the launchers of all servers do alike.

use std::fmt::Write;
use std::path::Path;

use super::keeper::Keeper;
use crate::certs::{Authority, Error, Files, Identity, Usage};

/// The names in every server's certificate. `db.test` leads nowhere: it is for clients that are told
/// which name to expect.
pub(super) const NAMES: &[&str] = &["localhost", "db.test", "127.0.0.1", "::1"];

/// Makes an authority, and puts the certificates of a server and a client into `dir`.
pub(super) fn certify(dir: &Path) -> Result<(Authority, Identity, Files), Error> {
    let authority = Authority::new("arknet test servers")?;
    authority.write_to(dir, "authority")?;
    authority
        .issue(NAMES, Usage::Server)?
        .write_to(dir, "server")?;
    let client = authority.issue(&["client"], Usage::Client)?;
    let files = client.write_to(dir, "client")?;
    Ok((authority, client, files))
}

pub(super) fn printed(keeper: &Keeper) -> String {
    let peer = keeper.peer();
    format!(
        "it printed:\n{}{}",
        peer.stdout().text(),
        peer.stderr().text()
    )
}

/// Percent-encoded, as the part of a URL before `@` and a query's value need it (RFC 3986 section 2.3).
pub(super) fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            other => {
                let _ = write!(encoded, "%{other:02X}");
            }
        }
    }
    encoded
}
