//! What users leave behind.

use crate::redis::Effects;
use crate::redis::exchange::Dirt;

fn after(commands: &[&str]) -> Dirt {
    let mut dirt = Dirt::CLEAN;
    for command in commands {
        dirt.note(Effects::of(command));
    }
    dirt
}

#[test]
fn what_reads_and_writes_leaves_nothing() {
    assert!(after(&["GET", "SET", "BLPOP", "EVAL", "XREAD", "PUBLISH"]).is_clean());
}

#[test]
fn whatever_changes_the_session_stays() {
    for command in [
        "SELECT",
        "SUBSCRIBE",
        "CLIENT SETNAME",
        "HELLO",
        "AUTH",
        "READONLY",
        "NOBODY.KNOWS",
    ] {
        assert!(!after(&[command]).is_clean(), "{command}");
        assert!(
            !after(&[command, "GET", "DISCARD", "UNWATCH"]).is_clean(),
            "{command}"
        );
    }
}

#[test]
fn a_transaction_that_has_ended_leaves_nothing() {
    assert!(!after(&["MULTI"]).is_clean());
    assert!(!after(&["WATCH"]).is_clean());
    assert!(after(&["WATCH", "GET", "MULTI", "SET", "EXEC"]).is_clean());
    assert!(after(&["MULTI", "SET", "DISCARD"]).is_clean());
    assert!(after(&["WATCH", "UNWATCH"]).is_clean());
    assert!(!after(&["MULTI", "UNWATCH"]).is_clean());
    assert!(!after(&["MULTI", "EXEC", "WATCH"]).is_clean());
}

#[test]
fn a_change_within_a_transaction_counts_even_if_it_is_discarded() {
    assert!(!after(&["MULTI", "SELECT", "DISCARD"]).is_clean());
    assert!(!after(&["MULTI", "SELECT", "EXEC"]).is_clean());
}

#[test]
fn it_is_known_what_is_open() {
    let watching = after(&["WATCH"]);
    assert!(watching.is_in_transaction() && !watching.has_open_transaction());
    let open = after(&["WATCH", "MULTI"]);
    assert!(open.is_in_transaction() && open.has_open_transaction());
    assert!(!after(&["SELECT"]).is_in_transaction());
}

#[test]
fn what_is_not_understood_is_dirt() {
    let mut dirt = after(&["MULTI", "EXEC"]);
    dirt.note_unknown();
    assert!(!dirt.is_clean());
}

#[test]
fn whose_replies_are_silenced_cannot_be_reset() {
    assert!(after(&["CLIENT REPLY"]).is_beyond_reset());
    assert!(!after(&["SELECT"]).is_beyond_reset());
}
