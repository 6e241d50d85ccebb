//! What would change the connection for everybody, or hold it up, is not sent.

use arknet::Outcome;
use arknet::redis::{Client, ErrorKind, cmd};
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Options, RedisServer};

use crate::support::{config, on_a_lane};

#[test]
fn commands_for_one_connection_are_refused_before_anything_is_sent() {
    let server = need!(RedisServer::start(Options::default()));
    on_a_lane(async |lanes| {
        let client = Client::connect(config(server.addr()), lanes).await.unwrap();
        let mut called = false;
        for command in [
            cmd::<()>("MULTI"),
            cmd::<()>("exec"),
            cmd::<()>("WATCH").arg("k"),
            cmd::<()>("SELECT").arg(5),
            cmd::<()>("SUBSCRIBE").arg("c"),
            cmd::<()>("MONITOR"),
            cmd::<()>("CLIENT REPLY").arg("OFF"),
            cmd::<()>("CLIENT").arg("REPLY").arg("OFF"),
            cmd::<()>("HELLO").arg(2),
            cmd::<()>("AUTH").arg("x"),
            cmd::<()>("RESET"),
            cmd::<()>("BLPOP").arg("list").arg(0),
        ] {
            let name = command.name().to_owned();
            let error = client.run(command.clone()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Refused, "{name}");
            assert_eq!(error.outcome(), Outcome::NotSent);
            let error = client.run_with(command, |_| ()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Refused, "{name}");
            called |= client.stats().submitted > 0;
        }
        assert!(!called);
        let info = client.run(cmd::<String>("CLIENT INFO")).await.unwrap();
        assert!(info.contains("db=0") && info.contains("multi=-1"), "{info}");
    });
}
