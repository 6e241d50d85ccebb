//! The launcher of real MySQL servers: what a test asks for is what it gets, and nothing stays behind.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::io::Read;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use arknet_testkit::need;
use arknet_testkit::process::{Peer, which};
use arknet_testkit::servers::mysql::{MySqlServer, Options, Product};

const SOON: Duration = Duration::from_secs(10);

fn start(product: Product) -> Result<MySqlServer, arknet_testkit::servers::Absent> {
    MySqlServer::start(Options::new(product))
}

/// Its version, its doors, and an account for each plugin.
fn is_whole(server: &MySqlServer, version: &str) {
    assert!(server.version().contains(version), "{}", server.version());
    for mut greeting in [
        Box::new(TcpStream::connect(server.addr()).unwrap()) as Box<dyn Read>,
        Box::new(UnixStream::connect(server.socket()).unwrap()),
    ] {
        let mut header = [0; 5];
        greeting.read_exact(&mut header).unwrap();
        assert_eq!(header[3..], [0, 10], "the first packet, of protocol 10");
    }
    let product = server.product();
    let known = server.sql("SELECT User, plugin FROM mysql.user WHERE Host = '%' ORDER BY User");
    for account in product.accounts() {
        let found = (0..known.rows.len()).find(|row| known.cell(*row, 0) == Some(account.user));
        let plugin = known.named(found.unwrap(), "plugin");
        assert_eq!(plugin, Some(account.plugin), "{}", account.user);
    }
    let others = [
        product.app(),
        product.tls_only(),
        product.certified(),
        product.guest(),
    ];
    assert_eq!(known.rows.len(), product.accounts().len() + others.len());
    assert_eq!(
        server.sql("SHOW CREATE DATABASE test").rows.len(),
        1,
        "the schema for tests"
    );
    assert_eq!(server.try_sql("SELECT nonsense").unwrap_err().code, 1054);
}

#[test]
fn mariadb_starts_with_all_its_accounts() {
    let server = need!(start(Product::MariaDb));
    is_whole(&server, "MariaDB");
    assert_eq!(server.public_key(), None);
}

#[test]
fn mariadb_11_starts_with_all_its_accounts() {
    let server = need!(start(Product::MariaDb11));
    is_whole(&server, "11.");
}

#[test]
fn mysql_starts_with_all_its_accounts_and_a_public_key() {
    let server = need!(start(Product::MySql));
    is_whole(&server, "9.");
    let key = server.public_key().unwrap();
    assert!(key.starts_with("-----BEGIN PUBLIC KEY-----"), "{key}");
    server.forget_passwords();
}

#[test]
fn its_url_encodes_the_password() {
    let server = need!(start(Product::MariaDb));
    assert_eq!(
        server.url(server.product().app()),
        format!(
            "mysql://app:s3cret%3A%20%2F%3F%23%25%40%20%C3%A9@{}/test",
            server.addr()
        )
    );
}

#[test]
fn its_certificate_is_good_where_tls_is_on() {
    let server = need!(start(Product::MariaDb));
    let bare = need!(MySqlServer::start(
        Options::new(Product::MariaDb).without_tls()
    ));
    if which("openssl").is_none() {
        arknet_testkit::skip!("openssl is not installed");
    }
    assert!(speaks_tls(&server));
    assert_eq!(
        bare.sql("SHOW VARIABLES LIKE 'have_ssl'").cell(0, 1),
        Some("DISABLED")
    );
    if let Ok(mysql) = start(Product::MySql) {
        assert!(speaks_tls(&mysql));
    }
}

fn speaks_tls(server: &MySqlServer) -> bool {
    let mut command = Command::new("openssl");
    command.args(["s_client", "-starttls", "mysql", "-verify_return_error"]);
    command.args(["-verify_ip", "127.0.0.1"]);
    command.arg("-CAfile").arg(server.authority_file());
    command.arg("-connect").arg(server.addr().to_string());
    let peer = Peer::spawn(command).unwrap();
    peer.stdout()
        .line_containing("Verify return code: 0 (ok)", SOON)
        .is_ok()
}

#[test]
fn arguments_of_the_test_override_ours() {
    let options = Options::new(Product::MariaDb)
        .argument("--character-set-server=latin1")
        .argument("--max-connections=17");
    let server = need!(MySqlServer::start(options));
    let table = server.sql("SELECT @@GLOBAL.character_set_server, @@GLOBAL.max_connections");
    assert_eq!(
        (table.cell(0, 0), table.cell(0, 1)),
        (Some("latin1"), Some("17"))
    );
}

#[test]
fn clients_are_listed_and_killed() {
    let server = need!(start(Product::MariaDb));
    assert_eq!(server.processes(), []);
    let mut client = TcpStream::connect(server.addr()).unwrap();
    client.set_read_timeout(Some(SOON)).unwrap();
    // It is there when it is greeted.
    client.read_exact(&mut [0; 20]).unwrap();
    let listed = server.processes();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].user, "unauthenticated user");

    assert_eq!(server.kill_clients(), 1);
    let mut rest = Vec::new();
    client.read_to_end(&mut rest).unwrap();
    while !server.processes().is_empty() {
        std::thread::yield_now();
    }
}

#[test]
fn what_was_committed_outlives_a_crash_on_the_same_port() {
    let products = Product::ALL;
    for product in products {
        let Ok(server) = start(product) else { continue };
        server.sql("CREATE TABLE test.kept (n INT PRIMARY KEY)");
        assert_eq!(
            server
                .sql("INSERT INTO test.kept VALUES (1), (2)")
                .affected_rows,
            2
        );
        server.sql("BEGIN");
        server.sql("INSERT INTO test.kept VALUES (3)");
        let addr = server.addr();
        server.stop();
        assert!(TcpStream::connect(addr).is_err());
        server.restart();
        assert_eq!(
            server.sql("SELECT COUNT(*) FROM test.kept").cell(0, 0),
            Some("2")
        );
        assert_eq!(server.addr(), addr);
    }
}

#[test]
fn a_frozen_server_keeps_connections_and_answers_when_thawed() {
    let server = need!(start(Product::MariaDb));
    server.freeze();
    let mut client = TcpStream::connect(server.addr()).unwrap();
    client
        .set_read_timeout(Some(Duration::from_millis(50)))
        .unwrap();
    assert!(client.read(&mut [0]).is_err());
    server.thaw();
    client.set_read_timeout(Some(SOON)).unwrap();
    client.read_exact(&mut [0; 5]).unwrap();
    assert_eq!(server.sql("SELECT 1").cell(0, 0), Some("1"));
}

#[test]
fn tests_of_a_process_share_a_server_while_one_holds_it() {
    let first = need!(MySqlServer::shared(Product::MariaDb));
    let again = need!(MySqlServer::shared(Product::MariaDb));
    assert!(Arc::ptr_eq(&first, &again));
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_outlives_the_thread_that_asked_for_it_and_leaves_nothing_behind() {
    let server = std::thread::spawn(|| start(Product::MariaDb))
        .join()
        .unwrap();
    let server = need!(server);
    let folder = server.socket().parent().unwrap().to_owned();
    let id = std::fs::read_to_string(folder.join("pid")).unwrap();
    let process = std::path::PathBuf::from(format!("/proc/{}", id.trim()));
    assert!(process.exists());
    drop(server);
    assert!(!process.exists());
    assert!(!folder.exists());
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let options = Options::new(Product::MariaDb).argument("--no-such-option");
    let started = std::panic::catch_unwind(|| MySqlServer::start(options).map(drop));
    let Err(panic) = started else {
        need!(started.unwrap());
        panic!("it started with an option that is none");
    };
    let said = panic.downcast_ref::<String>().unwrap();
    assert!(said.contains("no-such-option"), "{said}");
}
