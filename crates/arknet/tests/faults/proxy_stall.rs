//! Nothing comes any more, and nothing says so: each wait has a deadline of its own, and a typed error.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use arknet::{CloseReason, Error, ErrorKind};
use arknet_testkit::proxy::{Direction, Plan};

use crate::support::{At, Cell, Rig, Serve, Talking, What, proxy_before};

in_every_cell!(
    silence_meets_the_idle_timeout,
    a_black_hole_meets_the_idle_timeout,
    a_stalled_close_meets_the_close_timeout,
    a_stalled_peer_is_cut_at_the_deadline_of_a_shutdown,
);
in_every_plain_cell!(a_port_that_does_not_answer_meets_the_connect_timeout);
in_every_secure_cell!(
    a_stalled_handshake_meets_its_timeouts,
    a_black_hole_meets_the_timeouts_of_the_handshake,
);

/// The deadline of a story: short, and long beside a turn of a busy machine.
const LIMIT: Duration = Duration::from_millis(200);

/// What a deadline may take longer on a machine that is busy with other tests.
const LATE: Duration = Duration::from_secs(5);

pub(crate) fn silence_meets_the_idle_timeout(cell: Cell) {
    silence(cell, Plan::stall_after(0));
}

pub(crate) fn a_black_hole_meets_the_idle_timeout(cell: Cell) {
    silence(cell, Plan::black_hole());
}

fn silence(cell: Cell, plan: Plan) {
    let talk = Talking::begin_with(
        cell,
        |server| server.idle_timeout(LIMIT),
        |client| client.idle_timeout(LIMIT),
    );
    talk.proxy.set_both(plan.clone(), plan);
    for at in [At::Server, At::Client] {
        let reason = talk.rig.wait_ended(at);
        let Some(Error::Silence { limit, .. }) = reason.error() else {
            panic!("{at:?}: {reason:?}");
        };
        assert_eq!(*limit, LIMIT);
        assert!(reason.error().is_some_and(Error::is_timeout));
    }
    talk.finish();
}

pub(crate) fn a_stalled_close_meets_the_close_timeout(cell: Cell) {
    let talk = Talking::begin_with(cell, |server| server, |client| client.close_timeout(LIMIT));
    talk.proxy
        .set_both(Plan::stall_after(0), Plan::stall_after(0));
    let began = Instant::now();
    talk.client.handle().close();
    let reason = talk.rig.wait_ended(At::Client);
    let took = began.elapsed();
    assert!(matches!(reason, CloseReason::Local), "{reason:?}");
    assert!(took >= LIMIT && took < LIMIT + LATE, "{took:?}");
    talk.finish();
}

pub(crate) fn a_stalled_peer_is_cut_at_the_deadline_of_a_shutdown(cell: Cell) {
    let talk = Talking::begin(cell);
    talk.proxy
        .set_both(Plan::stall_after(0), Plan::stall_after(0));
    let began = Instant::now();
    let shutdown = talk.server.shutdown(LIMIT);
    let report = talk.rig.block_on("the report", shutdown);
    let took = began.elapsed();
    assert!(took >= LIMIT && took < LIMIT + LATE, "{took:?}");
    // All that was accepted had been handed over; the peer has only not agreed to the end.
    assert_eq!(
        (
            report.closed,
            report.forced,
            report.dropped_messages,
            report.stuck
        ),
        (0, 1, 0, 0)
    );
    talk.finish();
}

pub(crate) fn a_stalled_handshake_meets_its_timeouts(cell: Cell) {
    for (direction, bytes) in [(Direction::ToServer, 50), (Direction::ToClient, 50)] {
        handshake_times_out(cell, direction, Plan::stall_after(bytes));
    }
}

pub(crate) fn a_black_hole_meets_the_timeouts_of_the_handshake(cell: Cell) {
    handshake_times_out(cell, Direction::ToServer, Plan::black_hole());
}

fn handshake_times_out(cell: Cell, direction: Direction, plan: Plan) {
    let rig = Rig::new(cell);
    let server = rig.serve(rig.server_config().handshake_timeout(LIMIT), Serve::Echo);
    let proxy = proxy_before(&server);
    proxy.set(direction, plan);
    // The end of either must not be what the other one meets.
    proxy.set(
        match direction {
            Direction::ToServer => Direction::ToClient,
            Direction::ToClient => Direction::ToServer,
        },
        match direction {
            Direction::ToServer => Plan::stall_after(0),
            Direction::ToClient => Plan::pass(),
        },
    );
    let config = rig.client_config().connect_timeout(LIMIT);
    let address = proxy.addr();
    let client = rig.connect(address, config, &[]);
    let reason = rig.wait_ended(At::Client);
    assert_connect_timeout(&reason, address);
    let failed = rig.wait("the event of the failed handshake", |facts| {
        facts.iter().find_map(|fact| match &fact.what {
            What::HandshakeFailed { kind, text, .. } => Some((*kind, text.clone())),
            _ => None,
        })
    });
    // A client that gave up first has ended its stream, which passes where its direction does.
    match direction {
        Direction::ToServer => assert_eq!(failed.0, ErrorKind::Timeout, "{}", failed.1),
        Direction::ToClient => assert!(
            matches!(
                failed.0,
                ErrorKind::Timeout | ErrorKind::Tls | ErrorKind::Io
            ),
            "{}",
            failed.1
        ),
    }
    rig.finish((server, client, proxy));
}

fn assert_connect_timeout(reason: &CloseReason, wanted: SocketAddr) {
    let Some(Error::ConnectTimeout { address, within }) = reason.error() else {
        panic!("{reason:?}");
    };
    assert_eq!(
        (address.as_str(), *within),
        (wanted.to_string().as_str(), LIMIT)
    );
}

pub(crate) fn a_port_that_does_not_answer_meets_the_connect_timeout(cell: Cell) {
    let rig = Rig::new(cell);
    let (listener, queued) = full_listener();
    let address = listener.local_addr().unwrap();
    let began = Instant::now();
    let client = rig.connect(address, rig.client_config().connect_timeout(LIMIT), &[]);
    assert_connect_timeout(&rig.wait_ended(At::Client), address);
    assert!(began.elapsed() >= LIMIT);
    rig.finish((client, listener, queued));
}

/// A listener whose queue is full, so that the system answers no further connection.
fn full_listener() -> (TcpListener, Vec<TcpStream>) {
    use socket2::{Domain, Socket, Type};
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    socket.bind(&any.into()).unwrap();
    socket.listen(0).unwrap();
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().unwrap();
    let mut queued = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, LIMIT) {
        queued.push(stream);
        assert!(queued.len() < 64, "the queue never fills");
    }
    (listener, queued)
}
