//! What the journal keeps of sessions: who came, what they said, how they ended.

use std::io;
use std::sync::Arc;

use crate::endpoint::{CloseReason, Error, Peer};
use crate::io::tokio::PeerAddress;

pub(super) const MESSAGE: u8 = 1;
pub(super) const WRITABLE: u8 = 2;
pub(super) const ENDED: u8 = 3;
const CLOSED: u8 = 4;
const OPENED: u8 = 5;
const CONNECT_FAILED: u8 = 6;

/// Bits of a key that number the events of a session: 68 billion. The rest are the session's number.
const EVENT_BITS: u32 = 36;

/// The journal's key of an event.
pub(super) fn key(session: u64, event: u64) -> u64 {
    (session << EVENT_BITS) | (event & ((1 << EVENT_BITS) - 1))
}

/// Whether an event is of this session.
pub(super) fn is_of(key: u64, session: u64) -> bool {
    key >> EVENT_BITS == session & (u64::MAX >> EVENT_BITS)
}

pub(super) fn message(message: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(message.len() + 1);
    bytes.push(MESSAGE);
    bytes.extend_from_slice(message);
    bytes
}

pub(super) fn plain(kind: u8) -> Vec<u8> {
    vec![kind]
}

pub(super) fn closed(reason: &CloseReason) -> Vec<u8> {
    let (code, text) = match reason {
        CloseReason::Local => (0, String::new()),
        CloseReason::Aborted => (1, String::new()),
        CloseReason::Peer => (2, String::new()),
        CloseReason::Error(error) => (3, error.to_string()),
    };
    let mut bytes = vec![CLOSED, code];
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

pub(super) fn opened(local: Option<&PeerAddress>, peer: Option<&PeerAddress>) -> Vec<u8> {
    let text = |address: Option<&PeerAddress>| address.map(ToString::to_string).unwrap_or_default();
    let mut bytes = vec![OPENED];
    bytes.extend_from_slice(text(local).as_bytes());
    bytes.push(b'\n');
    bytes.extend_from_slice(text(peer).as_bytes());
    bytes
}

pub(super) fn connect_failed(error: &Error) -> Vec<u8> {
    let mut bytes = vec![CONNECT_FAILED];
    bytes.extend_from_slice(error.to_string().as_bytes());
    bytes
}

/// An event of a session, from a journal.
pub(super) enum Recorded<'a> {
    Message(&'a [u8]),
    Writable,
    Ended,
    Closed(CloseReason),
}

pub(super) fn read(payload: &[u8]) -> Option<Recorded<'_>> {
    let (kind, rest) = payload.split_first()?;
    Some(match *kind {
        MESSAGE => Recorded::Message(rest),
        WRITABLE => Recorded::Writable,
        ENDED => Recorded::Ended,
        CLOSED => {
            let (code, text) = rest.split_first()?;
            Recorded::Closed(match *code {
                0 => CloseReason::Local,
                1 => CloseReason::Aborted,
                2 => CloseReason::Peer,
                _ => CloseReason::Error(Arc::new(Error::Io {
                    doing: "replay the end of",
                    peer: Peer::new(None),
                    source: other(text),
                })),
            })
        }
        _ => return None,
    })
}

/// An event of an endpoint, from a journal.
pub(super) enum RecordedArrival {
    Opened {
        local: Option<PeerAddress>,
        peer: Option<PeerAddress>,
    },
    ConnectFailed(Arc<Error>),
}

pub(super) fn read_arrival(payload: &[u8]) -> Option<RecordedArrival> {
    let (kind, rest) = payload.split_first()?;
    let text = String::from_utf8_lossy(rest);
    match *kind {
        OPENED => {
            let (local, peer) = text.split_once('\n')?;
            Some(RecordedArrival::Opened {
                local: address(local),
                peer: address(peer),
            })
        }
        CONNECT_FAILED => Some(RecordedArrival::ConnectFailed(Arc::new(Error::Connect {
            address: "a journal".to_owned(),
            source: other(rest),
        }))),
        _ => None,
    }
}

fn other(text: &[u8]) -> io::Error {
    io::Error::other(String::from_utf8_lossy(text).into_owned())
}

fn address(text: &str) -> Option<PeerAddress> {
    if let Ok(address) = text.parse() {
        return Some(PeerAddress::Ip(address));
    }
    let path = text.strip_prefix("unix:")?;
    Some(PeerAddress::Unix(
        (path != "(unnamed)").then(|| path.into()),
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_can_be_read() {
        assert!(matches!(
            read(&message(b"hello")),
            Some(Recorded::Message(b"hello"))
        ));
        assert!(matches!(
            read(&closed(&CloseReason::Peer)),
            Some(Recorded::Closed(CloseReason::Peer))
        ));
        let reason = CloseReason::Error(Arc::new(Error::Config("torn")));
        let Some(Recorded::Closed(CloseReason::Error(error))) = read(&closed(&reason)) else {
            panic!("an error is an error");
        };
        assert!(error.to_string().contains("torn"), "{error}");
        let peer = PeerAddress::Ip("[::1]:80".parse().unwrap());
        let local = PeerAddress::Unix(None);
        let Some(RecordedArrival::Opened { local: l, peer: p }) =
            read_arrival(&opened(Some(&local), Some(&peer)))
        else {
            panic!("it was opened");
        };
        assert_eq!((l, p), (Some(local), Some(peer)));
        for damaged in [&[][..], &[9], &[CLOSED]] {
            assert!(read(damaged).is_none() && read_arrival(damaged).is_none());
        }
    }

    #[test]
    fn keys_tell_sessions_apart() {
        assert!(is_of(key(7, 1 << 40), 7));
        assert!(!is_of(key(7, 3), 8));
    }
}
