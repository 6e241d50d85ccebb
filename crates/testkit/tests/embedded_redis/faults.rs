//! What the server does wrong is what was asked for, when it was asked for.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use arknet_testkit::redis::{EmbeddedServer, Options, Rule};

use crate::talk::{Client, encode};

const SOON: Duration = Duration::from_secs(10);

fn server() -> EmbeddedServer {
    EmbeddedServer::start(Options::default()).unwrap()
}

#[test]
fn a_swallowed_command_is_not_executed_and_a_swallowed_reply_is() {
    let server = server();
    server.add(Rule::on("INCR").times(1).swallow_command());
    server.add(Rule::on("INCR").times(1).swallow_reply());
    let mut client = Client::connect(server.addr());
    client.send([encode("INCR n"), encode("INCR n")].concat());
    assert_eq!(client.ask("GET n"), "$1\\r\\n1\\r\\n");
    assert_eq!(client.ask("INCR n"), ":2\\r\\n");
    assert_eq!(server.stats().count("INCR"), 3);
}

#[test]
fn a_torn_reply_ends_where_it_was_torn() {
    let server = server();
    server.add(Rule::on("GET").skip(1).tear_reply(3).close());
    let mut client = Client::connect(server.addr());
    client.send(
        [
            encode("SET k v"),
            encode("GET k"),
            encode("GET k"),
            encode("GET k"),
        ]
        .concat(),
    );
    assert_eq!(client.rest(), "+OK\\r\\n$1\\r\\nv\\r\\n$1\\r");
}

#[test]
fn garbage_and_pushes_come_where_they_were_put() {
    let server = server();
    server.add(
        Rule::on("ECHO")
            .times(1)
            .before(">0\r\n")
            .after(">2\r\n+invalidate\r\n_\r\n"),
    );
    server.add(Rule::on("ECHO").times(1).answer("*1000000000\r\n"));
    let mut client = Client::connect(server.addr());
    assert_eq!(client.ask("ECHO a"), ">0\\r\\n");
    assert_eq!(client.frame(), "$1\\r\\na\\r\\n");
    assert_eq!(client.frame(), ">2\\r\\n+invalidate\\r\\n_\\r\\n");
    client.send([encode("ECHO b"), encode("QUIT")].concat());
    assert_eq!(client.rest(), "*1000000000\\r\\n+OK\\r\\n");
}

#[test]
fn a_delayed_reply_holds_back_what_follows_and_nothing_else() {
    let server = server();
    let delay = Duration::from_millis(60);
    server.add(Rule::on("GET").delay(delay));
    let (mut delayed, mut other) = (
        Client::connect(server.addr()),
        Client::connect(server.addr()),
    );
    let began = Instant::now();
    delayed.send([encode("GET k"), encode("PING")].concat());
    server
        .wait_until(SOON, |stats| stats.count("get") == 1)
        .unwrap();
    assert_eq!(other.ask("PING"), "+PONG\\r\\n");
    assert_eq!(delayed.frame(), "$-1\\r\\n");
    assert_eq!(delayed.frame(), "+PONG\\r\\n");
    assert!(began.elapsed() >= delay);
}

#[test]
fn a_rule_can_mean_one_connection() {
    let server = server();
    server.add(Rule::every().connection(1).answer("-ERR not you\r\n"));
    let mut first = Client::connect(server.addr());
    assert_eq!(first.ask("PING"), "+PONG\\r\\n");
    let mut second = Client::connect(server.addr());
    assert_eq!(second.ask("PING"), "-ERR not you\\r\\n");
    server.clear_rules();
    assert_eq!(second.ask("PING"), "+PONG\\r\\n");
}

#[test]
fn a_refused_command_is_unknown() {
    let server = EmbeddedServer::start(Options::default().refuse_command("RESET")).unwrap();
    server.refuse_command("client setinfo");
    let mut client = Client::connect(server.addr());
    assert_eq!(
        client.ask("RESET"),
        "-ERR unknown command \\'RESET\\', with args beginning with: \\r\\n"
    );
    assert_eq!(
        client.ask("CLIENT SETINFO LIB-NAME x"),
        "-ERR unknown subcommand \\'SETINFO\\'. Try CLIENT HELP.\\r\\n"
    );
    assert_eq!(client.ask("CLIENT SETNAME x"), "+OK\\r\\n");
}

#[test]
fn a_loading_server_and_a_read_only_one_say_so() {
    let server = server();
    let mut client = Client::connect(server.addr());
    server.set_loading(true);
    assert!(client.ask("PING").starts_with("-LOADING "));
    assert!(client.ask("GET k").starts_with("-LOADING "));
    assert!(client.ask("HELLO 3").starts_with('%'));
    server.set_loading(false);
    server.set_read_only(true);
    assert!(client.ask("SET k v").starts_with("-READONLY "));
    assert_eq!(client.ask("GET k"), "_\\r\\n");
    server.set_read_only(false);
    assert_eq!(client.ask("SET k v"), "+OK\\r\\n");
}

#[test]
fn connections_are_refused_for_a_time_and_then_accepted() {
    let server = server();
    let mut open = Client::connect(server.addr());
    assert_eq!(open.ask("PING"), "+PONG\\r\\n");
    server.refuse();
    let refused = TcpStream::connect(server.addr()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    assert_eq!(open.ask("PING"), "+PONG\\r\\n");
    server.accept_again();
    assert_eq!(Client::connect(server.addr()).ask("PING"), "+PONG\\r\\n");

    server.refuse_for(Duration::from_millis(50));
    assert!(TcpStream::connect(server.addr()).is_err());
    let end = Instant::now() + SOON;
    while TcpStream::connect(server.addr()).is_err() {
        assert!(Instant::now() < end, "it never accepts again");
        std::thread::yield_now();
    }
}

#[test]
fn a_paused_server_is_silent_until_it_goes_on() {
    let server = server();
    let mut client = Client::connect(server.addr());
    assert_eq!(client.ask("PING"), "+PONG\\r\\n");
    server.pause();
    client.send(encode("PING"));
    assert!(client.is_silent_for(Duration::from_millis(50)));
    server.resume();
    assert_eq!(client.frame(), "+PONG\\r\\n");
}

#[test]
fn clients_are_greeted_pushed_to_and_closed() {
    let server = server();
    server.greet("-ERR maintenance\r\n");
    let mut client = Client::connect(server.addr());
    assert_eq!(client.frame(), "-ERR maintenance\\r\\n");
    server.push(">1\r\n+moving\r\n");
    assert_eq!(client.frame(), ">1\\r\\n+moving\\r\\n");
    assert_eq!(server.close_idle(Duration::from_secs(3600)), 0);
    assert_eq!(server.close_idle(Duration::ZERO), 1);
    assert_eq!(client.rest(), "");
    server.wait_until(SOON, |stats| stats.open == 0).unwrap();
}

#[test]
fn a_reset_is_a_reset() {
    let server = server();
    let mut client = Client::connect(server.addr());
    client.ask("PING");
    assert_eq!(server.reset_all(), 1);
    let mut stream = TcpStream::connect(server.addr()).unwrap();
    drop(client);
    server
        .wait_until(SOON, |stats| stats.accepted == 2)
        .unwrap();
    assert_eq!(server.reset_all(), 1);
    let error = std::io::Read::read(&mut stream, &mut [0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}
