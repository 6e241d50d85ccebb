//! Pipelines: each command has its own result, whatever becomes of the others, and atomic ones run alone.

use arknet::redis::{Command, ErrorKind, cmd, pipeline};

use crate::harness::Host;

in_every_cell![
    results_are_typed_one_by_one,
    an_error_in_the_middle_is_its_commands_own,
    a_thousand_commands_keep_their_order,
    an_atomic_pipeline_is_carried_out_as_one,
    an_atomic_pipeline_that_is_refused_changes_nothing,
    a_failing_command_does_not_undo_an_atomic_pipeline,
];

fn set(key: &str, value: impl ToString) -> Command<()> {
    cmd("SET").arg(key).arg(value.to_string())
}

fn get<T: arknet::redis::FromReply>(key: &str) -> Command<T> {
    cmd("GET").arg(key)
}

fn results_are_typed_one_by_one(host: &Host) {
    let key = host.key("typed");
    let batch = pipeline()
        .add(set(&key, 7))
        .add(get::<i64>(&key))
        .add(get::<String>(&key))
        .add(get::<Option<Vec<u8>>>("no such key"))
        .add(cmd::<bool>("EXISTS").arg(&key));
    let (set, number, text, none, there) = host.run(batch);
    set.unwrap();
    assert_eq!(number.unwrap(), 7);
    assert_eq!(text.unwrap(), "7");
    assert_eq!(none.unwrap(), None);
    assert!(there.unwrap());
}

fn an_error_in_the_middle_is_its_commands_own(host: &Host) {
    let key = host.key("middle");
    let batch = pipeline()
        .add(set(&key, "text"))
        .add(cmd::<i64>("INCR").arg(&key))
        .add(get::<i64>(&key))
        .add(cmd::<()>("NOSUCHCOMMAND"))
        .add(get::<String>(&key));
    let (set, refused, wrong, unknown, text) = host.run(batch);
    set.unwrap();
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Server);
    assert_eq!(wrong.unwrap_err().kind(), ErrorKind::Decode);
    assert_eq!(unknown.unwrap_err().kind(), ErrorKind::Server);
    assert_eq!(text.unwrap(), "text");
}

fn a_thousand_commands_keep_their_order(host: &Host) {
    let counter = host.key("order");
    let batch = pipeline().extend((0..1_000).map(|_| cmd::<i64>("INCR").arg(&counter)));
    let counted: Vec<i64> = host.run(batch).into_iter().map(Result::unwrap).collect();
    assert!(counted.into_iter().eq(1..=1_000));
}

fn an_atomic_pipeline_is_carried_out_as_one(host: &Host) {
    let (from, to) = (host.key("from"), host.key("to"));
    host.run(set(&from, 100)).unwrap();
    let transfer = pipeline()
        .add(cmd::<i64>("DECRBY").arg(&from).arg(30))
        .add(cmd::<i64>("INCRBY").arg(&to).arg(30))
        .atomic();
    let (left, right) = host.run(transfer).unwrap();
    assert_eq!((left.unwrap(), right.unwrap()), (70, 30));
    assert_eq!(host.run(get::<i64>(&to)).unwrap(), 30);
}

fn an_atomic_pipeline_that_is_refused_changes_nothing(host: &Host) {
    let key = host.key("refused");
    let batch = pipeline()
        .add(set(&key, 1))
        .add(cmd::<()>("SET").arg(&key))
        .atomic();
    let error = host.run(batch).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Server);
    assert_eq!(host.run(get::<Option<i64>>(&key)).unwrap(), None);
}

fn a_failing_command_does_not_undo_an_atomic_pipeline(host: &Host) {
    let key = host.key("failing");
    let batch = pipeline()
        .add(set(&key, "text"))
        .add(cmd::<i64>("INCR").arg(&key))
        .add(cmd::<usize>("APPEND").arg(&key).arg("s"))
        .atomic();
    let (set, failed, appended) = host.run(batch).unwrap();
    set.unwrap();
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Server);
    assert_eq!(appended.unwrap(), 5);
    assert_eq!(host.run(get::<String>(&key)).unwrap(), "texts");
}
