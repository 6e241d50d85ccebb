//! Slow paths: one byte at a time everything works, and a reader that crawls cannot hold a shutdown.

use std::time::{Duration, Instant};

use arknet_testkit::proxy::{Direction, Plan};

use crate::support::{At, Cell, Rig, Serve, proxy_before};

in_every_cell!(
    one_byte_at_a_time_everything_works,
    a_crawling_reader_is_cut_at_the_deadline,
);

pub(crate) fn one_byte_at_a_time_everything_works(cell: Cell) {
    let rig = Rig::new(cell);
    let server = rig.echo();
    let proxy = proxy_before(&server);
    let dribble = || Plan::pass().one_byte_at_a_time();
    proxy.set_both(dribble(), dribble());
    // Both sides of each boundary between prefixes that a story of this pace can afford.
    let messages = [vec![], vec![1], vec![2; 253], vec![3; 254], vec![4; 1000]];
    let messages: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
    let client = rig.connect(proxy.addr(), rig.client_config(), &messages);
    rig.wait_messages(At::Server, &messages);
    rig.wait_messages(At::Client, &messages);
    let report = rig.block_on(
        "the client's end",
        client.shutdown(crate::support::PATIENCE),
    );
    assert_eq!((report.closed, report.forced), (1, 0));
    let report = rig.block_on(
        "the server's end",
        server.shutdown(crate::support::PATIENCE),
    );
    assert_eq!((report.forced, report.dropped_bytes), (0, 0));
    rig.finish((server, client, proxy));
}

/// More than the buffers on the way hold.
const MESSAGES: usize = 500;
const MESSAGE_BYTES: usize = 16 * 1024;

/// At this pace the rest takes minutes.
const BYTES_PER_SECOND: u64 = 50_000;

const DEADLINE: Duration = Duration::from_millis(300);

/// What a deadline may take longer on a machine that is busy with other tests.
const LATE: Duration = Duration::from_secs(5);

pub(crate) fn a_crawling_reader_is_cut_at_the_deadline(cell: Cell) {
    let rig = Rig::new(cell);
    let config = rig.server_config().socket_buffers(Some(64 * 1024), None);
    let server = rig.serve(config, Serve::Push(MESSAGES, MESSAGE_BYTES));
    let proxy = proxy_before(&server);
    if !cell.is_secure() {
        proxy.set(
            Direction::ToClient,
            Plan::pass().throttled(BYTES_PER_SECOND),
        );
    }
    let client = rig.connect(proxy.addr(), rig.client_config(), &[]);
    rig.wait_opened(At::Client, 1);
    proxy.set(
        Direction::ToClient,
        Plan::pass().throttled(BYTES_PER_SECOND),
    );
    rig.wait_opened(At::Server, 1);
    let began = Instant::now();
    let report = rig.block_on("the report", server.shutdown(DEADLINE));
    let took = began.elapsed();
    assert!(took >= DEADLINE && took < DEADLINE + LATE, "{took:?}");
    assert_eq!((report.closed, report.forced, report.stuck), (0, 1, 0));
    assert!(
        report.dropped_messages > 0 && report.dropped_bytes > 0,
        "{report:?}"
    );
    assert!(report.dropped_messages <= MESSAGES as u64);
    assert!(report.dropped_bytes <= (MESSAGES * MESSAGE_BYTES) as u64);
    rig.finish((server, client, proxy));
}
