//! The connection is cut at every interesting byte. The receiver tells an end between two messages from one inside, and
//! under TLS every end without close_notify from a proper one.

use arknet::tcp::FramingError;
use arknet::{CloseReason, Error, ErrorKind, tls};
use arknet_testkit::proxy::{Direction, Plan};

use crate::support::{At, BOTH, Cell, Rig, Serve, Talking, What, proxy_before};

/// A payload whose prefix has three bytes.
const PAYLOAD: [u8; 300] = [3; 300];

in_every_cell!(
    cut_before_anything,
    cut_inside_a_prefix,
    cut_inside_a_payload,
    cut_between_messages,
);
in_every_secure_cell!(cut_inside_the_handshake);

pub(crate) fn cut_before_anything(cell: Cell) {
    for (direction, _) in BOTH {
        let rig = Rig::new(cell);
        let server = rig.serve(rig.server_config(), Serve::Echo);
        let proxy = proxy_before(&server);
        proxy.set(direction, Plan::cut_after(0));
        let client = rig.connect(proxy.addr(), rig.client_config(), &[]);
        for at in [At::Server, At::Client] {
            let reason = rig.wait_ended(at);
            if cell.is_secure() {
                assert_cut_in_handshake(&reason);
            } else {
                assert!(matches!(reason, CloseReason::Peer), "{at:?}: {reason:?}");
            }
        }
        rig.finish((server, client, proxy));
    }
}

pub(crate) fn cut_inside_the_handshake(cell: Cell) {
    // Inside the record header and the body of the ClientHello, and at several places of the server's flight.
    let places = [
        (Direction::ToServer, 1),
        (Direction::ToServer, 5),
        (Direction::ToServer, 100),
        (Direction::ToClient, 1),
        (Direction::ToClient, 6),
        (Direction::ToClient, 100),
        (Direction::ToClient, 600),
    ];
    for (direction, bytes) in places {
        let rig = Rig::new(cell);
        let server = rig.serve(rig.server_config(), Serve::Echo);
        let proxy = proxy_before(&server);
        proxy.set(direction, Plan::cut_after(bytes));
        let client = rig.connect(proxy.addr(), rig.client_config(), &[]);
        for at in [At::Server, At::Client] {
            assert_cut_in_handshake(&rig.wait_ended(at));
        }
        rig.wait("the event of the failed handshake", |facts| {
            facts.iter().find_map(|fact| match &fact.what {
                What::HandshakeFailed { kind, .. } => Some(*kind),
                _ => None,
            })
        });
        rig.log.look(|facts| {
            let opened = facts
                .iter()
                .any(|fact| matches!(fact.what, What::Opened { .. }));
            assert!(!opened, "a session opened without a handshake: {facts:?}");
        });
        rig.finish((server, client, proxy));
    }
}

/// The proxy closes a socket that it has not read to its end, so that a reset is as good an answer as an end.
fn assert_cut_in_handshake(reason: &CloseReason) {
    let error = reason.error().expect("an error");
    match error {
        Error::Tls {
            source: tls::Error::HandshakeTruncated,
            ..
        } => {}
        error => assert_eq!(error.kind(), ErrorKind::Io, "{error}"),
    }
}

pub(crate) fn cut_inside_a_prefix(cell: Cell) {
    cut_inside_a_message(cell, 1);
}

pub(crate) fn cut_inside_a_payload(cell: Cell) {
    cut_inside_a_message(cell, 50);
}

fn cut_inside_a_message(cell: Cell, after: u64) {
    for (direction, receiver) in BOTH {
        let talk = Talking::begin(cell);
        talk.plan(direction, Plan::cut_after(after));
        talk.send(direction, &PAYLOAD);
        let reason = talk.rig.wait_ended(receiver);
        if cell.is_secure() {
            assert_truncated(&reason);
        } else {
            let Some(Error::Framing {
                source: FramingError::UnexpectedEnd { received, .. },
                ..
            }) = reason.error()
            else {
                panic!("{reason:?}");
            };
            assert_eq!(*received as u64, after);
        }
        assert_eq!(talk.log().messages(receiver), Vec::<Vec<u8>>::new());
        assert_lost(cell, &talk.rig.wait_ended(other(receiver)));
        talk.finish();
    }
}

pub(crate) fn cut_between_messages(cell: Cell) {
    for (direction, receiver) in BOTH {
        let talk = Talking::begin(cell);
        talk.plan(direction, Plan::cut_after(talk.wire(PAYLOAD.len())));
        talk.send(direction, &PAYLOAD);
        assert_lost(cell, &talk.rig.wait_ended(receiver));
        assert_lost(cell, &talk.rig.wait_ended(other(receiver)));
        talk.rig.wait_messages(receiver, &[&PAYLOAD]);
        talk.finish();
    }
}

pub(crate) fn other(at: At) -> At {
    match at {
        At::Server => At::Client,
        At::Client => At::Server,
    }
}

/// What an end of the connection that waits for nothing makes of a cut: a plain stream has ended, or was reset because
/// what it had sent was not read; one of TLS was cut.
pub(crate) fn assert_lost(cell: Cell, reason: &CloseReason) {
    match reason {
        CloseReason::Peer if !cell.is_secure() => {}
        CloseReason::Error(error) if error.kind() == ErrorKind::Io => {}
        reason => assert_truncated(reason),
    }
}

pub(crate) fn assert_truncated(reason: &CloseReason) {
    assert!(
        matches!(
            reason.error(),
            Some(Error::Tls {
                source: tls::Error::Truncated,
                ..
            })
        ),
        "{reason:?}"
    );
}
