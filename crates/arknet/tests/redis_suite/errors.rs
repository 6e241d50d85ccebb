//! What the server refuses is told as what it is, and costs nothing but the request.

use arknet::redis::{ErrorKind, cmd};
use arknet::{Blame, Outcome};

use crate::harness::Host;

in_every_cell![
    an_error_is_typed_and_leaves_the_connection_as_it_was,
    a_reply_of_another_type_costs_one_request
];

fn an_error_is_typed_and_leaves_the_connection_as_it_was(host: &Host) {
    let key = host.key("typed");
    host.run(cmd::<()>("SET").arg(&key).arg("v")).unwrap();
    for (command, code) in [
        (cmd::<i64>("LLEN").arg(&key), "WRONGTYPE"),
        (cmd::<i64>("GET"), "ERR"),
        (cmd::<i64>("NOSUCHCOMMAND").arg("\r\n"), "ERR"),
        (
            cmd::<i64>("XGROUP")
                .arg("CREATE")
                .arg(&key)
                .args(["g", "$"]),
            "WRONGTYPE",
        ),
        (cmd::<i64>("EVALSHA").arg("0").arg(0), "NOSCRIPT"),
    ] {
        let error = host.run(command).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Server, "{error}");
        assert_eq!(error.server().unwrap().code(), code);
        assert_eq!(error.outcome(), Outcome::Replied);
        assert_eq!(error.blame(), Blame::Caller, "{error}");
        assert_eq!(
            host.run(cmd::<String>("ECHO").arg("still there")).unwrap(),
            "still there"
        );
    }
}

fn a_reply_of_another_type_costs_one_request(host: &Host) {
    let key = host.key("other");
    host.run(cmd::<()>("RPUSH").arg(&key).args(["a", "b"]))
        .unwrap();
    let error = host
        .run(cmd::<i64>("LRANGE").arg(&key).arg(0).arg(-1))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert_eq!(error.outcome(), Outcome::Replied);
    let error = host
        .run(cmd::<(String,)>("LRANGE").arg(&key).arg(0).arg(-1))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    let both: (String, String) = host.run(cmd("LRANGE").arg(&key).arg(0).arg(-1)).unwrap();
    assert_eq!(both, ("a".to_owned(), "b".to_owned()));
}
