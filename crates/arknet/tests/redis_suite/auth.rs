//! Who may come in, and how soon those who may not are told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arknet::redis::{Config, ErrorKind, ServerError, cmd};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, Product, RedisServer};

use crate::harness::{CELLS, Cell, Host, Transport, configure};

/// Every character that means something in a URL, a configuration file or the protocol.
const PASSWORD: &str = "p@ss:/?#%&+=[] \"'\\é";

/// A wrong password is known at once; a second is what a busy machine may take.
const TOLD_WITHIN: Duration = Duration::from_secs(1);

fn server(product: Product, transport: Transport) -> Option<Arc<RedisServer>> {
    let options = Options::default()
        .product(product)
        .password("root's own")
        .user("app", PASSWORD)
        .user_with(
            "reader",
            "r",
            &["~*", "+get", "+ping", "+hello", "+client|info"],
        );
    let options = match transport {
        Transport::Mtls => options.demand_client_certificates(),
        _ => options,
    };
    RedisServer::start(options).map(Arc::new).ok()
}

/// A case for every cell of each transport's own server, on Redis and where it can be had on Valkey.
fn everywhere(case: impl Fn(Cell, &Arc<RedisServer>)) {
    need!(Product::Redis.find());
    for product in Product::ALL {
        for transport in Transport::ALL {
            let Some(server) = server(product, transport) else {
                continue;
            };
            for cell in CELLS.iter().filter(|cell| cell.transport == transport) {
                case(*cell, &server);
            }
        }
    }
}

#[test]
fn a_user_comes_in_by_url_and_by_builder_alike() {
    everywhere(|cell, server| {
        let url = Config::from_url(&server.url_as(cell.transport, "app", PASSWORD)).unwrap();
        let plain = Config::from_url(&anonymous(server, cell)).unwrap();
        let built = plain.clone().user("app").password(PASSWORD);
        let root = plain.password("root's own");
        for (config, user) in [(url, "app"), (built, "app"), (root, "default")] {
            let config = configure(config, server, cell).database(3);
            let host = Host::with(config, server.clone(), cell);
            assert_eq!(host.run(cmd::<String>("ACL").arg("WHOAMI")).unwrap(), user);
            let info: String = host.run(cmd("CLIENT").arg("INFO")).unwrap();
            assert!(info.contains(" db=3 "), "{info}");
            host.finish();
        }
    });
}

#[test]
fn a_wrong_password_is_told_within_a_second() {
    everywhere(|cell, server| {
        let config = Config::from_url(&anonymous(server, cell)).unwrap();
        for config in [
            config.clone().user("app").password("wr0ng secret"),
            config.clone().user("nobody").password("wr0ng secret"),
            config.clone().password("wr0ng secret"),
            config.clone(),
        ] {
            let began = Instant::now();
            let host = Host::with(configure(config, server, cell), server.clone(), cell);
            let error = host
                .attempt(cmd::<()>("PING"))
                .and_then(|output| output)
                .unwrap_err();
            assert!(
                began.elapsed() < TOLD_WITHIN,
                "{cell:?}: {:?}",
                began.elapsed()
            );
            match error.server().map(ServerError::code) {
                // Without a password RESP2 begins with no command that could be refused.
                Some("NOAUTH") => {}
                _ => assert_eq!(error.kind(), ErrorKind::Auth, "{cell:?}: {error}"),
            }
            let told = format!("{error} {error:?}");
            assert!(!told.contains("wr0ng"), "{told}");
            host.finish();
        }
    });
}

#[test]
fn what_a_user_may_not_do_is_told_as_such() {
    everywhere(|cell, server| {
        let config = Config::from_url(&server.url_as(cell.transport, "reader", "r")).unwrap();
        let host = Host::with(configure(config, server, cell), server.clone(), cell);
        let error = host.run(cmd::<()>("SET").arg("k").arg("v")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Auth);
        assert_eq!(error.server().unwrap().code(), "NOPERM");
        assert_eq!(
            host.run(cmd::<Option<String>>("GET").arg("k")).unwrap(),
            None
        );
        host.finish();
    });
}

/// The URL without the default user's password.
fn anonymous(server: &RedisServer, cell: Cell) -> String {
    let url = server.url(cell.transport);
    match url.split_once('@') {
        Some((scheme, place)) => {
            let scheme = scheme.split_once("://").unwrap().0;
            format!("{scheme}://{place}")
        }
        None => url.split('?').next().unwrap().to_owned(),
    }
}
