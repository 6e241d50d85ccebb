//! Scripts and functions.

use arknet::redis::commands::scripts::*;

use crate::harness::Host;

in_both_protocols![a_script_is_loaded_when_it_is_missing, functions];

fn a_script_is_loaded_when_it_is_missing(host: &Host) {
    let script =
        Script::new("redis.call('INCRBY', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])");
    let missing = host.run(script.evalsha::<i64>("n", 1)).unwrap_err();
    assert!(ScriptCall::<i64>::is_missing(&missing), "{missing}");
    let call = || script.call::<i64>("n", 2);
    let run = |call: ScriptCall<i64>| {
        host.lease(async |lease| call.run(async |command| lease.run(command).await).await)
    };
    assert_eq!(run(call()).unwrap(), 2);
    assert_eq!(
        host.run(script_exists([script.sha(), "no sha"])).unwrap(),
        [true, false]
    );
    assert_eq!(run(call()).unwrap(), 4);
    host.run(script_flush()).unwrap();
    assert_eq!(run(call()).unwrap(), 6);
    host.run(script_flush()).unwrap();
    host.run(script.load()).unwrap();
    assert_eq!(host.run(script.evalsha::<i64>("n", 1)).unwrap(), 7);
    assert_eq!(host.run(script.eval::<i64>("n", 1)).unwrap(), 8);
    assert_eq!(
        host.run(script_load("return 1")).unwrap(),
        Script::new("return 1").sha()
    );
    let idle = host.run(script_kill()).unwrap_err();
    assert_eq!(idle.server().unwrap().code(), "NOTBUSY");
}

fn functions(host: &Host) {
    let library = "#!lua name=lib\n\
        redis.register_function('concat', function(keys, args) return keys[1] .. args[1] end)";
    assert_eq!(host.run(function_load(library, false)).unwrap(), "lib");
    assert!(host.run(function_load(library, false)).is_err());
    assert_eq!(host.run(function_load(library, true)).unwrap(), "lib");
    assert_eq!(host.run(fcall::<String>("concat", "a", "b")).unwrap(), "ab");
}
