//! Each fault of the proxy, seen from plain sockets on both sides of it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use arknet_testkit::proxy::{Direction, FaultProxy, Plan, Side};
use socket2::{Domain, SockRef, Socket, Type};

/// Nothing that must happen takes longer, on a machine that does other things as well.
const SOON: Duration = Duration::from_secs(10);

/// How long a test looks that nothing happens.
const A_WHILE: Duration = Duration::from_millis(50);

/// A server's listener behind a proxy.
struct Story {
    server: TcpListener,
    proxy: FaultProxy,
}

impl Story {
    fn begin() -> Self {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = FaultProxy::start(server.local_addr().unwrap()).unwrap();
        Self { server, proxy }
    }

    fn with(direction: Direction, plan: Plan) -> Self {
        let story = Self::begin();
        story.proxy.set(direction, plan);
        story
    }

    fn connect(&self) -> (TcpStream, TcpStream) {
        let client = patient(TcpStream::connect(self.proxy.addr()).unwrap());
        let server = patient(self.server.accept().unwrap().0);
        (client, server)
    }
}

fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.set_write_timeout(Some(SOON)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

fn expect(stream: &mut TcpStream, wanted: &[u8]) {
    let mut bytes = vec![0; wanted.len()];
    stream.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes, wanted);
}

/// Everything until the end of the stream, which must come in order.
fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    bytes
}

fn expect_reset(stream: &mut TcpStream) {
    let error = stream.read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
}

fn expect_silence(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(A_WHILE)).unwrap();
    let error = stream.read(&mut [0]).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        "{error}"
    );
    stream.set_read_timeout(Some(SOON)).unwrap();
}

#[test]
fn without_faults_bytes_and_ends_pass_both_ways() {
    let story = Story::begin();
    let (mut client, mut server) = story.connect();
    let message: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
    thread::scope(|scope| {
        scope.spawn(|| {
            client.write_all(&message).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
        });
        assert!(rest(&mut server) == message, "the server's copy differs");
    });
    server.write_all(b"after the client's end").unwrap();
    drop(server);
    assert_eq!(rest(&mut client), b"after the client's end");
    let counters = story
        .proxy
        .wait_until(SOON, |counters| counters.open == 0)
        .unwrap();
    assert_eq!(
        (counters.accepted, counters.to_server, counters.to_client),
        (1, 1_000_000, 22)
    );
    assert_eq!((counters.swallowed, counters.faults), (0, 0));
}

#[test]
fn without_faults_a_reset_passes() {
    let story = Story::begin();
    let (client, mut server) = story.connect();
    socket_reset(client);
    expect_reset(&mut server);
}

#[test]
fn cut_hands_on_exactly_its_bytes_and_closes_both_sides() {
    let story = Story::with(Direction::ToServer, Plan::cut_after(5));
    let (mut client, mut server) = story.connect();
    client.write_all(b"0123456789").unwrap();
    assert_eq!(rest(&mut server), b"01234");
    assert_eq!(rest(&mut client), b"");
    assert_eq!(story.proxy.counters().faults, 1);
}

#[test]
fn cut_after_nothing_needs_no_byte() {
    let story = Story::with(Direction::ToClient, Plan::cut_after(0));
    let (mut client, mut server) = story.connect();
    assert_eq!((rest(&mut client), rest(&mut server)), (vec![], vec![]));
}

#[test]
fn a_plan_for_open_connections_counts_from_now() {
    let story = Story::begin();
    let (mut client, mut server) = story.connect();
    server.write_all(b"greeting").unwrap();
    expect(&mut client, b"greeting");
    story.proxy.set(Direction::ToClient, Plan::cut_after(3));
    server.write_all(b"farewell").unwrap();
    assert_eq!(rest(&mut client), b"far");
}

#[test]
fn stall_keeps_both_sides_open_until_it_is_resumed() {
    let story = Story::with(Direction::ToServer, Plan::stall_after(4));
    let (mut client, mut server) = story.connect();
    client.write_all(b"12345678").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    expect(&mut server, b"1234");
    expect_silence(&mut server);
    server.write_all(b"the other direction goes on").unwrap();
    expect(&mut client, b"the other direction goes on");
    story.proxy.resume(Direction::ToServer);
    assert_eq!(rest(&mut server), b"5678");
}

#[test]
fn stall_pushes_back_on_the_sender() {
    let story = Story::with(Direction::ToServer, Plan::stall_after(0));
    let (mut client, _server) = story.connect();
    client.set_write_timeout(Some(A_WHILE)).unwrap();
    let block = vec![0; 1024 * 1024];
    // Far more than the buffers of two sockets hold.
    let error = (0..64)
        .find_map(|_| client.write_all(&block).err())
        .expect("nobody pushed back");
    assert!(
        matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        "{error}"
    );
}

#[test]
fn another_plan_ends_a_stall() {
    let story = Story::with(Direction::ToClient, Plan::stall_after(0));
    let (mut client, mut server) = story.connect();
    server.write_all(b"late").unwrap();
    expect_silence(&mut client);
    story.proxy.set(Direction::ToClient, Plan::pass());
    expect(&mut client, b"late");
}

#[test]
fn one_byte_at_a_time_is_read_in_pieces() {
    let slow = Plan::pass()
        .one_byte_at_a_time()
        .delayed(Duration::from_millis(2));
    let story = Story::with(Direction::ToServer, slow);
    let (mut client, mut server) = story.connect();
    let message = b"byte by byte, and each of them a segment";
    client.write_all(message).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let (mut received, mut reads, mut buffer) = (Vec::new(), 0, [0; 64]);
    loop {
        match server.read(&mut buffer).unwrap() {
            0 => break,
            count => received.extend_from_slice(&buffer[..count]),
        }
        reads += 1;
    }
    assert_eq!(received, message);
    // One chunk went in, and would come out as one. How many of its bytes are read together is
    // up to the machine's load, so this asks for a few pieces only.
    assert!(reads >= 4, "{reads} reads for {} bytes", message.len());
}

#[test]
fn one_byte_at_a_time_loses_nothing() {
    let story = Story::with(Direction::ToServer, Plan::pass().one_byte_at_a_time());
    let (mut client, mut server) = story.connect();
    let message: Vec<u8> = (0..20_000_u32).map(|n| (n % 251) as u8).collect();
    client.write_all(&message).unwrap();
    drop(client);
    assert!(rest(&mut server) == message, "the server's copy differs");
}

#[test]
fn reset_reaches_the_chosen_side_only() {
    for side in [Side::Client, Side::Server, Side::Both] {
        let story = Story::begin();
        let (mut client, mut server) = story.connect();
        client.write_all(b"ping").unwrap();
        expect(&mut server, b"ping");
        story
            .proxy
            .set(Direction::ToClient, Plan::reset_after(4, side));
        server.write_all(b"pong").unwrap();
        match side {
            Side::Client => {
                expect_reset(&mut client);
                assert_eq!(rest(&mut server), b"");
            }
            Side::Server => {
                expect_reset(&mut server);
                assert_eq!(rest(&mut client), b"pong");
            }
            Side::Both => {
                expect_reset(&mut client);
                expect_reset(&mut server);
            }
        }
    }
}

#[test]
fn half_close_ends_one_direction_and_keeps_the_other() {
    let story = Story::with(Direction::ToServer, Plan::half_close_after(3));
    let (mut client, mut server) = story.connect();
    client.write_all(b"abcdef").unwrap();
    assert_eq!(rest(&mut server), b"abc");
    server.write_all(b"still here").unwrap();
    expect(&mut client, b"still here");
    client.write_all(b"nobody hears this").unwrap();
    story
        .proxy
        .wait_until(SOON, |counters| counters.swallowed == 3 + 17)
        .unwrap();
    // The end that the server has seen cannot be taken back.
    story.proxy.set(Direction::ToServer, Plan::pass());
    client.write_all(b"nor this").unwrap();
    story
        .proxy
        .wait_until(SOON, |counters| counters.swallowed == 3 + 17 + 8)
        .unwrap();
    drop(client);
    drop(server);
    story
        .proxy
        .wait_until(SOON, |counters| counters.open == 0)
        .unwrap();
}

#[test]
fn a_black_hole_takes_everything_and_answers_nothing() {
    let story = Story::begin();
    story.proxy.set_both(Plan::black_hole(), Plan::black_hole());
    let (mut client, mut server) = story.connect();
    client.write_all(&vec![0; 10_000_000]).unwrap();
    server.write_all(b"greeting").unwrap();
    story
        .proxy
        .wait_until(SOON, |counters| counters.swallowed == 10_000_008)
        .unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    expect_silence(&mut server);
    expect_silence(&mut client);
    let counters = story.proxy.counters();
    assert_eq!(
        (counters.to_server, counters.to_client, counters.open),
        (0, 0, 1)
    );
    drop((client, server));
    story
        .proxy
        .wait_until(SOON, |counters| counters.open == 0)
        .unwrap();
}

#[test]
fn a_black_hole_can_open_after_some_bytes() {
    let story = Story::with(Direction::ToServer, Plan::black_hole_after(2));
    let (mut client, mut server) = story.connect();
    client.write_all(b"abcd").unwrap();
    drop(client);
    expect(&mut server, b"ab");
    expect_silence(&mut server);
}

#[test]
fn a_delay_holds_each_chunk() {
    let delay = Duration::from_millis(40);
    let story = Story::with(Direction::ToServer, Plan::pass().delayed(delay));
    let (mut client, mut server) = story.connect();
    let start = Instant::now();
    client.write_all(b"one").unwrap();
    expect(&mut server, b"one");
    assert!(start.elapsed() >= delay);
    client.write_all(b"two").unwrap();
    expect(&mut server, b"two");
    assert!(start.elapsed() >= 2 * delay);
}

#[test]
fn a_throttle_bounds_the_rate() {
    let story = Story::with(Direction::ToClient, Plan::pass().throttled(50_000));
    let (mut client, mut server) = story.connect();
    let start = Instant::now();
    server.write_all(&[7; 10_000]).unwrap();
    drop(server);
    assert_eq!(rest(&mut client), [7; 10_000]);
    // The first slice, a fiftieth of a second's worth, passes at once.
    assert!(
        start.elapsed() >= Duration::from_millis(180),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_plan_for_the_nth_connection_meets_that_one_only() {
    let story = Story::with(Direction::ToServer, Plan::cut_after(1));
    story.proxy.set_nth(1, Direction::ToServer, Plan::pass());
    let received: Vec<_> = (0..3)
        .map(|_| {
            let (mut client, mut server) = story.connect();
            client.write_all(b"abc").unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            rest(&mut server)
        })
        .collect();
    assert_eq!(received, [&b"a"[..], b"abc", b"a"]);
}

#[test]
fn a_general_plan_leaves_the_nth_connection_alone() {
    let story = Story::begin();
    let (mut first, mut first_server) = story.connect();
    let (mut second, mut second_server) = story.connect();
    story.proxy.set_nth(0, Direction::ToServer, Plan::pass());
    story.proxy.set(Direction::ToServer, Plan::cut_after(0));
    assert_eq!(
        (rest(&mut second), rest(&mut second_server)),
        (vec![], vec![])
    );
    first.write_all(b"alive").unwrap();
    expect(&mut first_server, b"alive");
}

#[test]
fn refuses_and_accepts_again_on_the_same_port() {
    let story = Story::begin();
    let (mut client, mut server) = story.connect();
    story.proxy.refuse();
    story.proxy.refuse();
    let error = TcpStream::connect(story.proxy.addr()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    client.write_all(b"open ones go on").unwrap();
    expect(&mut server, b"open ones go on");
    story.proxy.accept_again();
    story.proxy.accept_again();
    let (mut client, mut server) = story.connect();
    client.write_all(b"again").unwrap();
    expect(&mut server, b"again");
}

#[cfg(target_os = "linux")]
#[test]
fn keeps_its_port_while_it_refuses() {
    let story = Story::begin();
    story.proxy.refuse();
    // Without SO_REUSEADDR, so that only a port that nobody has is given.
    let stranger = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    let error = stranger.bind(&story.proxy.addr().into()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
}

#[test]
fn all_connections_can_be_cut_or_reset_now() {
    let story = Story::begin();
    let mut pairs: Vec<_> = (0..3).map(|_| story.connect()).collect();
    story
        .proxy
        .wait_until(SOON, |counters| counters.open == 3)
        .unwrap();
    story.proxy.cut_all();
    assert_eq!(story.proxy.counters().open, 0);
    for (client, server) in &mut pairs {
        assert_eq!((rest(client), rest(server)), (vec![], vec![]));
    }
    let (mut client, mut server) = story.connect();
    client.write_all(b"x").unwrap();
    expect(&mut server, b"x");
    story.proxy.reset_all(Side::Both);
    expect_reset(&mut client);
    expect_reset(&mut server);
}

#[test]
fn a_server_that_refuses_resets_the_client_and_can_be_replaced() {
    let story = Story::begin();
    let nobody = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    story.proxy.retarget(nobody);
    let mut client = patient(TcpStream::connect(story.proxy.addr()).unwrap());
    expect_reset(&mut client);
    let counters = story
        .proxy
        .wait_until(SOON, |counters| counters.open == 0)
        .unwrap();
    assert_eq!((counters.accepted, counters.unreachable), (1, 1));
    story.proxy.retarget(story.server.local_addr().unwrap());
    let (mut client, mut server) = story.connect();
    client.write_all(b"found").unwrap();
    expect(&mut server, b"found");
}

#[test]
fn many_connections_pass_at_once() {
    let story = Story::begin();
    let mut pairs: Vec<_> = (0..50).map(|_| story.connect()).collect();
    for (number, (client, server)) in pairs.iter_mut().enumerate() {
        let message = format!("message of {number}");
        client.write_all(message.as_bytes()).unwrap();
        expect(server, message.as_bytes());
    }
    assert_eq!(story.proxy.counters().open, 50);
}

#[test]
fn one_connection_too_many_is_turned_away() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = FaultProxy::start_bounded(server.local_addr().unwrap(), 2).unwrap();
    let story = Story { server, proxy };
    let (first, second) = (story.connect(), story.connect());
    let mut third = patient(TcpStream::connect(story.proxy.addr()).unwrap());
    assert_eq!(rest(&mut third), b"");
    let counters = story.proxy.counters();
    assert_eq!(
        (counters.accepted, counters.open, counters.turned_away),
        (2, 2, 1)
    );
    drop((first, second));
    story
        .proxy
        .wait_until(SOON, |counters| counters.open == 0)
        .unwrap();
    story.connect();
}

#[test]
fn ends_with_the_value_that_owns_it() {
    let story = Story::with(Direction::ToServer, Plan::stall_after(0));
    let (mut client, mut server) = story.connect();
    let addr = story.proxy.addr();
    drop(story.proxy);
    assert_eq!((rest(&mut client), rest(&mut server)), (vec![], vec![]));
    assert_eq!(
        TcpStream::connect(addr).unwrap_err().kind(),
        ErrorKind::ConnectionRefused
    );
}

#[test]
fn works_over_ipv6() {
    let server = match TcpListener::bind("[::1]:0") {
        Ok(server) => server,
        Err(error) => arknet_testkit::skip!("this machine has no IPv6 loopback: {error}"),
    };
    let proxy = FaultProxy::start(server.local_addr().unwrap()).unwrap();
    assert!(proxy.addr().is_ipv6());
    let story = Story { server, proxy };
    let (mut client, mut server) = story.connect();
    client.write_all(b"six").unwrap();
    expect(&mut server, b"six");
}

#[test]
fn leads_to_this_machine_only() {
    let elsewhere: SocketAddr = "192.0.2.1:80".parse().unwrap();
    let error = FaultProxy::start(elsewhere).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("192.0.2.1:80"), "{error}");
}

#[test]
fn a_wait_that_fails_shows_the_counters() {
    let story = Story::begin();
    let error = story
        .proxy
        .wait_until(A_WHILE, |counters| counters.accepted == 1)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("accepted: 0"), "{error}");
}

fn socket_reset(stream: TcpStream) {
    SockRef::from(&stream)
        .set_linger(Some(Duration::ZERO))
        .unwrap();
}
