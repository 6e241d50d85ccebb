//! How sessions are made new.

use super::{HELLO, frames, requests};
use crate::redis::exchange::{Login, ResetError, ResetFlight, Resetting, Speaks};

fn login() -> Login {
    Login {
        password: Some("s3cret".to_owned()),
        client_name: Some("me".to_owned()),
        database: 2,
        library: Some(("arknet", "1.0")),
        ..Login::default()
    }
}

/// Whether the session is new after these replies, and how many of them it took.
fn hears(flight: &ResetFlight, replies: &str) -> Result<(bool, usize), ResetError> {
    let mut resetting = Resetting::default();
    let frames = frames(replies);
    for (number, (kind, frame)) in frames.iter().enumerate() {
        if resetting.handle_frame(flight, *kind, frame)? {
            return Ok((true, number + 1));
        }
    }
    Ok((false, frames.len()))
}

fn resp3() -> ResetFlight {
    ResetFlight::new(&login(), Speaks::Resp3)
}

#[test]
fn one_flight_undoes_all_and_does_what_a_login_does() {
    let flight = resp3();
    assert_eq!(
        requests(flight.wire()),
        [
            "RESET",
            "HELLO 3 AUTH default s3cret SETNAME me",
            "SELECT 2"
        ]
    );
    assert_eq!(flight.replies(), 3);
    let flight = ResetFlight::new(&login(), Speaks::Resp2);
    assert_eq!(
        requests(flight.wire()),
        ["RESET", "AUTH s3cret", "CLIENT SETNAME me", "SELECT 2"]
    );
    let shown = format!("{flight:?}");
    assert!(!shown.contains("s3cret"), "{shown}");
}

#[test]
fn a_session_is_new_with_the_last_reply_and_not_before() {
    let replies = format!("+RESET\r\n{HELLO}+OK\r\n:1\r\n");
    assert_eq!(hears(&resp3(), &replies), Ok((true, 3)));
    assert_eq!(hears(&resp3(), "+RESET\r\n"), Ok((false, 1)));
    let plain = ResetFlight::new(&Login::default(), Speaks::Resp2);
    assert_eq!(hears(&plain, "+RESET\r\n"), Ok((true, 1)));
}

#[test]
fn messages_of_the_old_session_are_passed_over() {
    let push = ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n";
    let replies = format!("{push}{push}+RESET\r\n{HELLO}+OK\r\n");
    assert_eq!(hears(&resp3(), &replies), Ok((true, 5)));
    // In RESP2 they are arrays.
    let flight = ResetFlight::new(&login(), Speaks::Resp2);
    let message = "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n";
    let replies = format!("{message}+RESET\r\n+OK\r\n+OK\r\n+OK\r\n");
    assert_eq!(hears(&flight, &replies), Ok((true, 5)));
    assert_eq!(hears(&resp3(), message), Err(ResetError::Unexpected));
}

#[test]
fn a_message_to_the_new_session_is_none_of_ours() {
    let replies = format!("+RESET\r\n{HELLO}>1\r\n+x\r\n");
    assert_eq!(hears(&resp3(), &replies), Err(ResetError::Unexpected));
}

#[test]
fn a_server_without_reset_is_known_by_what_it_says() {
    for refusal in [
        "-ERR unknown command 'RESET', with args beginning with: \r\n",
        "-ERR unknown command `RESET`\r\n",
        "-ERR unsupported command 'reset'\r\n",
    ] {
        assert_eq!(
            hears(&resp3(), refusal),
            Err(ResetError::Unsupported),
            "{refusal}"
        );
    }
    let refused = hears(&resp3(), "-NOPERM no permissions\r\n").unwrap_err();
    assert!(matches!(
        refused,
        ResetError::Refused {
            command: "RESET",
            ..
        }
    ));
}

#[test]
fn what_is_no_answer_to_reset_is_none() {
    for reply in [
        "+OK\r\n",
        "$5\r\nRESET\r\n",
        "+QUEUED\r\n",
        ":0\r\n",
        "_\r\n",
    ] {
        assert_eq!(
            hears(&resp3(), reply),
            Err(ResetError::Unexpected),
            "{reply:?}"
        );
    }
}

/// Each reply, failed in turn: nobody gets a session that is not new.
#[test]
fn every_step_may_fail() {
    for (flight, steps) in [
        (resp3(), vec!["+RESET\r\n", HELLO, "+OK\r\n"]),
        (
            ResetFlight::new(&login(), Speaks::Resp2),
            vec!["+RESET\r\n", "+OK\r\n", "optional", "+OK\r\n"],
        ),
    ] {
        for failing in 0..steps.len() {
            let optional = steps[failing] == "optional";
            let replies: String = steps
                .iter()
                .enumerate()
                .map(|(number, step)| match *step {
                    _ if number == failing => "-ERR no\r\n",
                    "optional" => "+OK\r\n",
                    step => step,
                })
                .collect();
            let ended = hears(&flight, &replies);
            assert_eq!(ended.is_ok(), optional, "step {failing}: {ended:?}");
        }
    }
}
