//! Starting and stopping, again and again, in every lane model, both styles and every transport, leaves nothing.

use arknet_testkit::leak::{Slack, Snapshot};

use crate::support::{At, Carrier, Cell, Model, PATIENCE, Rig, Style};

/// Rounds that something may take to become flat: what a process makes once it makes in the first.
const ROUNDS: usize = 4;

/// Less than what one session takes.
const SLACK: Slack = Slack {
    heap: 1024,
    resident: 0,
};

/// Runs rounds until one of them leaves nothing behind that was not there before it.
///
/// # Panics
///
/// When every round leaves something.
pub(crate) fn until_flat(mut round: impl FnMut()) {
    round();
    for _ in 1..ROUNDS {
        let before = Snapshot::take();
        round();
        let leaks = before.leaks(SLACK);
        if leaks.is_empty() {
            return;
        }
    }
    let before = Snapshot::take();
    round();
    before.assert_no_leaks_beyond(PATIENCE, SLACK);
}

fn cycle(cell: Cell) {
    let rig = Rig::new(cell);
    let server = rig.echo();
    let client = rig.connect(server.local_addr(), rig.client_config(), &[b"hello"]);
    rig.wait_messages(At::Client, &[b"hello"]);
    let report = rig.block_on("the client's end", client.shutdown(PATIENCE));
    assert_eq!((report.closed, report.forced), (1, 0), "{cell:?}");
    let report = rig.block_on("the server's end", server.shutdown(PATIENCE));
    assert_eq!((report.forced, report.stuck), (0, 0), "{cell:?}");
    rig.finish((server, client));
}

fn cycles(model: Model) {
    for carrier in [Carrier::Tcp, Carrier::Tcps, Carrier::Unix] {
        for style in [Style::Callbacks, Style::Async] {
            until_flat(|| cycle(Cell::new(carrier, style, model)));
        }
    }
}

#[test]
fn a_cycle_on_shared_1_has_no_leak() {
    cycles(Model::Shared1);
}

#[test]
fn a_cycle_on_shared_4_has_no_leak() {
    cycles(Model::Shared4);
}

#[test]
fn a_cycle_on_sharded_4_has_no_leak() {
    cycles(Model::Sharded4);
}

#[test]
fn a_cycle_on_manual_has_no_leak() {
    cycles(Model::Manual);
}

#[test]
fn a_cycle_on_current_has_no_leak() {
    cycles(Model::Current);
}
