//! Refused, then accepted; lost, then found: each connection is a generation of its own, with a TLS state of its own.

use std::time::Duration;

use arknet::tcp::ReconnectPolicy;
use arknet::{CloseReason, ErrorKind};

use crate::proxy_cut::assert_lost;
use crate::support::{At, Cell, Rig, Style, Talking, What, proxy_before};

in_every_cell!(
    refused_then_accepted,
    a_lost_connection_is_made_again,
    attempts_have_an_end,
);

/// The time between attempts.
const DELAY: Duration = Duration::from_millis(10);

pub(crate) fn refused_then_accepted(cell: Cell) {
    let rig = Rig::new(cell);
    let server = rig.echo();
    let proxy = proxy_before(&server);
    proxy.refuse();
    let config = rig.client_config().reconnect(ReconnectPolicy::fixed(DELAY));
    let client = rig.connect(proxy.addr(), config, &[b"hello"]);
    rig.wait("two failed attempts", |facts| {
        (failures(facts) >= 2).then_some(())
    });
    assert_eq!(client.handle().generation(), 0);
    assert!(client.send(b"early").is_err_and(|error| error.is_closed()));
    proxy.accept_again();
    rig.wait_messages(At::Client, &[b"hello"]);
    assert_eq!(client.handle().generation(), 1);
    if cell.style == Style::Callbacks {
        rig.log.look(|facts| {
            let told = facts.iter().filter(|fact| match &fact.what {
                What::ConnectFailed(error) => {
                    assert_eq!(error.kind(), ErrorKind::Connect, "{error}");
                    true
                }
                _ => false,
            });
            assert!(told.count() >= 2);
        });
    }
    rig.finish((server, client, proxy));
}

fn failures(facts: &[crate::support::Fact]) -> usize {
    let failed = |fact: &&crate::support::Fact| match &fact.what {
        What::Ended(CloseReason::Error(error)) if fact.at == At::Client => {
            assert_eq!(error.kind(), ErrorKind::Connect, "{error}");
            assert!(
                error.to_string().starts_with("connect to 127.0.0.1:"),
                "{error}"
            );
            true
        }
        _ => false,
    };
    facts.iter().filter(failed).count()
}

pub(crate) fn a_lost_connection_is_made_again(cell: Cell) {
    let talk = Talking::begin_with(
        cell,
        |server| server,
        |client| client.reconnect(ReconnectPolicy::fixed(DELAY)),
    );
    for generation in 2..=4 {
        assert_eq!(talk.client.handle().generation(), generation - 1);
        talk.proxy.cut_all();
        // The greeting of the next generation comes back, through a TLS state that knows nothing of the last one.
        talk.rig.wait_messages(At::Client, &[b"hello"]);
        assert_lost(cell, &talk.rig.wait_ended(At::Client));
        talk.rig.wait_opened(At::Client, 1);
        talk.log().look(|facts| {
            let opened: Vec<_> = facts
                .iter()
                .filter_map(|fact| match &fact.what {
                    What::Opened { generation, tls } if fact.at == At::Client => {
                        Some((*generation, tls.as_ref().map(|tls| tls.resumed)))
                    }
                    _ => None,
                })
                .collect();
            let resumed = cell.is_secure().then_some(true);
            assert_eq!(opened, [(generation, resumed)]);
        });
        talk.rig.wait_ended(At::Server);
        talk.log().clear();
    }
    talk.finish();
}

pub(crate) fn attempts_have_an_end(cell: Cell) {
    let rig = Rig::new(cell);
    let server = rig.echo();
    let proxy = proxy_before(&server);
    proxy.refuse();
    let policy = ReconnectPolicy::fixed(DELAY).attempts(3);
    let client = rig.connect(proxy.addr(), rig.client_config().reconnect(policy), &[]);
    rig.block_on("the client's end", client.handle().closed());
    // The first attempt, and three more.
    assert_eq!(rig.log.look(failures), 4);
    assert!(client.handle().is_closed());
    rig.finish((server, client, proxy));
}
