//! The connection is reset. The side that meets it says so; what was accepted and not handed over completes, once, as
//! lost.

use std::io;
use std::time::Duration;

use arknet::tcp::ReconnectPolicy;
use arknet::{CloseReason, Error, SendError};
use arknet_testkit::proxy::{Direction, Plan, Side};

use crate::proxy_cut::{assert_truncated, other};
use crate::support::{At, BOTH, Cell, Talking, What};

in_every_cell!(
    reset_inside_a_payload,
    reset_of_both_ends_while_idle,
    sends_that_wait_complete_once_as_lost,
);

/// Far from both ends of a message.
const INSIDE: u64 = 50;

pub(crate) fn reset_inside_a_payload(cell: Cell) {
    for (direction, receiver) in BOTH {
        let talk = Talking::begin(cell);
        // The sender meets the reset, the receiver an end inside a message.
        let sender = match direction {
            Direction::ToServer => Side::Client,
            Direction::ToClient => Side::Server,
        };
        talk.plan(direction, Plan::reset_after(INSIDE, sender));
        talk.send(direction, &[3; 300]);
        let reason = talk.rig.wait_ended(receiver);
        if cell.is_secure() {
            assert_truncated(&reason);
        } else {
            assert!(
                matches!(reason.error(), Some(Error::Framing { .. })),
                "{reason:?}"
            );
        }
        assert_reset(&talk.rig.wait_ended(other(receiver)));
        talk.finish();
    }
}

pub(crate) fn reset_of_both_ends_while_idle(cell: Cell) {
    let talk = Talking::begin(cell);
    talk.proxy.reset_all(Side::Both);
    for at in [At::Server, At::Client] {
        assert_reset(&talk.rig.wait_ended(at));
    }
    talk.finish();
}

fn assert_reset(reason: &CloseReason) {
    let Some(Error::Io { source, .. }) = reason.error() else {
        panic!("{reason:?}");
    };
    assert_eq!(source.kind(), io::ErrorKind::ConnectionReset, "{reason}");
}

/// More than the kernel's buffers hold on their way to a proxy that does not read.
const SENDS: usize = 60;
const SEND_BYTES: usize = 256 * 1024;

pub(crate) fn sends_that_wait_complete_once_as_lost(cell: Cell) {
    let talk = Talking::begin_with(
        cell,
        |server| server,
        |client| {
            client
                .reconnect(ReconnectPolicy::fixed(Duration::from_millis(10)))
                .socket_buffers(Some(64 * 1024), None)
        },
    );
    talk.plan(Direction::ToServer, Plan::stall_after(1000));
    for _ in 0..SENDS {
        let log = talk.log().clone();
        let send = talk
            .client
            .handle()
            .send_with(vec![9; SEND_BYTES], move |_, result| {
                log.add(At::Client, What::Completed(result));
            });
        send.unwrap();
    }
    // The first generation ends only once it had the sends; on the second everything passes.
    let handle = talk.client.handle().clone();
    talk.rig
        .wait_until("sends on the lane", || handle.queued_bytes() > 0);
    talk.proxy.set_nth(1, Direction::ToServer, Plan::pass());
    talk.proxy.reset_all(Side::Both);
    talk.rig.wait_opened(At::Client, 1);
    // The greeting of the second generation comes back: whatever was to reach the server before it has.
    talk.rig.wait_messages(At::Client, &[b"hello"]);
    talk.rig.wait("all completions", |facts| {
        (completions(facts).len() >= SENDS).then_some(())
    });
    let completions = talk.log().look(completions);
    assert_eq!(completions.len(), SENDS);
    let lost = completions.iter().filter(|result| result.is_err());
    assert!(lost.clone().count() > 0, "nothing waited");
    for result in lost {
        assert!(
            matches!(result, Err(SendError::ConnectionLost { generation: 1 })),
            "{result:?}"
        );
    }
    // Nothing of the first generation was sent on the second.
    let foreign = talk.log().messages(At::Server);
    let whole = foreign.iter().filter(|bytes| bytes.len() == SEND_BYTES);
    assert_eq!(whole.count(), 0, "the stall let nothing whole pass");
    assert!(foreign.iter().any(|bytes| bytes == b"hello"));
    let reason = talk.rig.wait_ended(At::Client);
    assert!(
        matches!(reason.error(), Some(Error::Io { .. })),
        "{reason:?}"
    );
    talk.rig.wait_ended(At::Server);
    talk.finish();
}

fn completions(facts: &[crate::support::Fact]) -> Vec<Result<usize, SendError>> {
    facts
        .iter()
        .filter_map(|fact| match &fact.what {
            What::Completed(result) => Some(result.clone()),
            _ => None,
        })
        .collect()
}
