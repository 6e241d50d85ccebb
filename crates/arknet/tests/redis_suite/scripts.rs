//! Scripts and functions: their arguments are any bytes, their replies any type, their errors theirs.

use arknet::redis::{ErrorKind, Value, cmd};

use crate::harness::{Host, bytes};

in_every_cell![
    scripts_return_what_they_say,
    a_script_that_is_not_there_is_said_so,
    functions_are_called
];

fn scripts_return_what_they_say(host: &Host) {
    let eval = |script: &str| cmd::<()>("EVAL").arg(script);
    let key = host.key("script");
    let raw = bytes(500);
    let set = "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])";
    let back: Vec<u8> = host
        .run(eval(set).arg(1).arg(&key).arg(&raw).returning())
        .unwrap();
    assert_eq!(back, raw);
    let mixed = eval("return {1, 'two', {3}, false}").arg(0);
    let (one, two, three, none): (i64, String, Vec<i64>, Option<i64>) =
        host.run(mixed.clone().returning()).unwrap();
    assert_eq!((one, two.as_str(), three, none), (1, "two", vec![3], None));
    let Value::Array(elements) = host.run(mixed.returning()).unwrap() else {
        panic!("a list was expected");
    };
    assert_eq!(elements[3], Value::Null);
    let fine = eval("return redis.status_reply('FINE')").arg(0);
    assert_eq!(host.run(fine.returning::<String>()).unwrap(), "FINE");
    let refusing = eval("return redis.error_reply('MINE it is')").arg(0);
    let refused = host.run(refusing.clone()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Server);
    assert_eq!(refused.server().unwrap().code(), "MINE");
    assert_eq!(refused.server().unwrap().message(), "it is");
    // Whoever asks for whatever comes gets the error as what came.
    let told = host.run(refusing.returning::<Value>()).unwrap();
    assert!(matches!(told, Value::Error(_)), "{told:?}");
    let broken = host.run(eval("this is no script").arg(0)).unwrap_err();
    assert_eq!(broken.server().unwrap().code(), "ERR");
}

fn a_script_that_is_not_there_is_said_so(host: &Host) {
    let script = format!("return '{}'", host.key("of its own"));
    let missing = "0123456789012345678901234567890123456789";
    let error = host
        .run(cmd::<()>("EVALSHA").arg(missing).arg(0))
        .unwrap_err();
    assert_eq!(error.server().unwrap().code(), "NOSCRIPT");
    let sha: String = host.run(cmd("SCRIPT").arg("LOAD").arg(script)).unwrap();
    let there: Vec<bool> = host
        .run(cmd("SCRIPT").arg("EXISTS").arg(&sha).arg(missing))
        .unwrap();
    assert_eq!(there, [true, false]);
    let said: String = host.run(cmd("EVALSHA").arg(&sha).arg(0)).unwrap();
    assert_eq!(said, host.key("of its own"));
}

fn functions_are_called(host: &Host) {
    let name = format!(
        "f{}",
        host.key("")
            .bytes()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    );
    let library = format!(
        "#!lua name={name}\nredis.register_function('{name}', function(keys, args) return args[1] end)"
    );
    let loaded: String = host
        .run(cmd("FUNCTION").args(["LOAD", "REPLACE"]).arg(library))
        .unwrap();
    assert_eq!(loaded, name);
    let said: String = host
        .run(cmd("FCALL").arg(&name).arg(0).arg("hello"))
        .unwrap();
    assert_eq!(said, "hello");
    host.run(cmd::<()>("FUNCTION").arg("DELETE").arg(&name))
        .unwrap();
    assert!(host.run(cmd::<()>("FCALL").arg(&name).arg(0)).is_err());
}
