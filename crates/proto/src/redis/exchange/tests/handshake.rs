//! How sessions begin.

use super::{HELLO, frames, requests};
use crate::redis::exchange::{Handshake, HandshakeError, Login, Progress, Protocol, Speaks};

fn login() -> Login {
    Login {
        user: Some("app".to_owned()),
        password: Some("s3cret".to_owned()),
        client_name: Some("me".to_owned()),
        database: 2,
        library: Some(("arknet", "1.0")),
        ..Login::default()
    }
}

/// A login and the server's side of it.
struct Story {
    handshake: Handshake,
    wire: Vec<u8>,
}

impl Story {
    fn new(login: Login) -> Self {
        let mut wire = Vec::new();
        let handshake = Handshake::new(login, &mut wire);
        Self { handshake, wire }
    }

    fn probing(login: Login) -> Self {
        let mut wire = Vec::new();
        let handshake = Handshake::probing(login, &mut wire);
        Self { handshake, wire }
    }

    /// What was sent since the last call.
    fn sent(&mut self) -> Vec<String> {
        let sent = requests(&self.wire);
        self.wire.clear();
        sent
    }

    fn hears(&mut self, replies: &str) -> Result<Progress, HandshakeError> {
        let mut progress = self.handshake.progress();
        for (kind, frame) in frames(replies) {
            progress = self.handshake.handle_frame(kind, &frame, &mut self.wire)?;
        }
        Ok(progress)
    }
}

#[test]
fn everything_leaves_in_one_flight() {
    let mut story = Story::new(login());
    assert_eq!(
        story.sent(),
        [
            "HELLO 3 AUTH app s3cret SETNAME me",
            "SELECT 2",
            "CLIENT SETINFO LIB-NAME arknet",
            "CLIENT SETINFO LIB-VER 1.0",
        ]
    );
    assert_eq!(story.hears(HELLO), Ok(Progress::Waiting));
    assert_eq!(
        story.hears("+OK\r\n+OK\r\n+OK\r\n"),
        Ok(Progress::Done(Speaks::Resp3))
    );
    assert!(story.sent().is_empty());
}

#[test]
fn a_plain_login_sends_no_more_than_it_needs() {
    let mut story = Story::new(Login::default());
    assert_eq!(story.sent(), ["HELLO 3"]);
    assert_eq!(story.hears(HELLO), Ok(Progress::Done(Speaks::Resp3)));
}

#[test]
fn a_password_without_a_user_is_the_default_users() {
    let login = Login {
        password: Some("s3cret".to_owned()),
        ..Login::default()
    };
    let mut story = Story::new(login.clone());
    assert_eq!(story.sent(), ["HELLO 3 AUTH default s3cret"]);
    let mut story = Story::new(Login {
        protocol: Protocol::Resp2,
        ..login
    });
    assert_eq!(story.sent(), ["AUTH s3cret"]);
}

#[test]
fn a_user_without_a_password_logs_in_with_an_empty_one() {
    let mut story = Story::new(Login {
        user: Some("app".to_owned()),
        ..Login::default()
    });
    assert_eq!(story.sent(), ["HELLO 3 AUTH app "]);
}

#[test]
fn a_server_that_does_not_know_hello_is_spoken_to_in_resp2() {
    for refusal in [
        "-ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, \r\n",
        "-ERR unknown command 'HELLO'\r\n",
        "-NOPROTO unsupported protocol version\r\n",
        "-NOPROTO sorry, this protocol version is not supported\r\n",
        "-ERR Syntax error in HELLO option 'setname'\r\n",
    ] {
        let mut story = Story::new(login());
        story.sent();
        assert_eq!(story.hears(refusal), Ok(Progress::Waiting), "{refusal}");
        assert_eq!(
            story.sent(),
            [
                "AUTH app s3cret",
                "CLIENT SETNAME me",
                "SELECT 2",
                "CLIENT SETINFO LIB-NAME arknet",
                "CLIENT SETINFO LIB-VER 1.0",
            ]
        );
        // What is left of the first flight means nothing, whatever it says.
        let stale = "-NOAUTH Authentication required.\r\n+OK\r\n-ERR nonsense\r\n";
        assert_eq!(story.hears(stale), Ok(Progress::Waiting));
        assert_eq!(
            story.hears("+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n"),
            Ok(Progress::Done(Speaks::Resp2))
        );
    }
}

#[test]
fn who_insists_on_resp3_is_told_that_there_is_none() {
    let mut story = Story::new(Login {
        protocol: Protocol::Resp3,
        ..login()
    });
    let error = story.hears("-NOPROTO unsupported protocol version\r\n");
    assert!(
        matches!(
            error,
            Err(HandshakeError::Refused {
                command: "HELLO",
                ..
            })
        ),
        "{error:?}"
    );
}

#[test]
fn who_is_not_let_in_is_told_at_once() {
    for refusal in [
        "-WRONGPASS invalid username-password pair or user is disabled.\r\n",
        "-NOAUTH HELLO must be called with the client already authenticated\r\n",
        "-NOPERM this user has no permissions\r\n",
        "-ERR invalid password\r\n",
        "-ERR AUTH <password> called without any password configured for the default user.\r\n",
        "!21\r\nWRONGPASS in a bulk..\r\n",
    ] {
        for protocol in [Protocol::Resp3WithFallback, Protocol::Resp2] {
            let mut story = Story::new(Login {
                protocol,
                ..login()
            });
            let error = story.hears(refusal).unwrap_err();
            assert!(
                matches!(error, HandshakeError::Auth(_)),
                "{refusal}: {error:?}"
            );
        }
    }
}

#[test]
fn in_resp2_a_stranger_is_found_out_without_credentials() {
    let mut story = Story::new(Login {
        protocol: Protocol::Resp2,
        ..Login::default()
    });
    assert_eq!(story.sent(), ["PING"]);
    let error = story.hears("-NOAUTH Authentication required.\r\n");
    assert!(matches!(error, Err(HandshakeError::Auth(_))), "{error:?}");
}

#[test]
fn a_server_that_hangs_up_says_why_first() {
    let mut story = Story::new(login());
    let error = story
        .hears("-ERR max number of clients reached\r\n")
        .unwrap_err();
    assert!(
        error.to_string().contains("max number of clients"),
        "{error}"
    );
}

#[test]
fn no_error_quotes_a_password() {
    let quoting = "-ERR unknown command `AUTH`, with args beginning with: `app`, `s3cret`, \r\n";
    for protocol in [Protocol::Resp3, Protocol::Resp2] {
        let mut story = Story::new(Login {
            protocol,
            ..login()
        });
        let error = story.hears(quoting).unwrap_err();
        let shown = format!("{error} {error:?} {:?}", story.handshake);
        assert!(
            shown.contains("unknown command") && !shown.contains("s3cret"),
            "{shown}"
        );
    }
}

#[test]
fn the_probe_says_whether_a_session_can_be_reset() {
    for (answer, can) in [
        ("+RESET\r\n", true),
        ("-ERR unknown command 'RESET'\r\n", false),
    ] {
        let mut story = Story::probing(Login::default());
        assert_eq!(story.sent(), ["RESET", "HELLO 3"]);
        assert_eq!(story.hears(answer), Ok(Progress::Waiting));
        assert_eq!(story.hears(HELLO), Ok(Progress::Done(Speaks::Resp3)));
        assert_eq!(story.handshake.can_reset(), can);
    }
}

#[test]
fn pushes_are_no_part_of_a_login() {
    let mut story = Story::new(Login::default());
    let push = ">2\r\n$10\r\ninvalidate\r\n_\r\n";
    assert_eq!(story.hears(push), Ok(Progress::Waiting));
    assert_eq!(story.hears(HELLO), Ok(Progress::Done(Speaks::Resp3)));
}

#[test]
fn a_reply_too_many_is_not_taken_for_one() {
    let mut story = Story::new(Login::default());
    story.hears(HELLO).unwrap();
    assert_eq!(story.hears("+OK\r\n"), Err(HandshakeError::Unexpected));
}

/// Each reply of a login, failed in turn: what is needed fails it, what is optional does not.
#[test]
fn every_step_may_fail() {
    let steps = ["RESET", HELLO, "+OK\r\n", "+OK\r\n", "+OK\r\n"];
    let needed = [false, true, true, false, false];
    for (failing, needed) in needed.into_iter().enumerate() {
        let mut story = Story::probing(login());
        let mut ended = Ok(Progress::Waiting);
        for (number, step) in steps.iter().enumerate() {
            let reply = match (number == failing, *step) {
                (true, _) => "-ERR no\r\n",
                (false, "RESET") => "+RESET\r\n",
                (false, step) => step,
            };
            ended = story.hears(reply);
            if ended.is_err() {
                assert_eq!(number, failing);
                break;
            }
        }
        assert_eq!(ended.is_err(), needed, "step {failing}: {ended:?}");
        if !needed {
            assert_eq!(ended, Ok(Progress::Done(Speaks::Resp3)));
        }
    }
}

/// The same after a fallback.
#[test]
fn every_step_of_the_fallback_may_fail() {
    let needed = [true, false, true, false, false];
    for (failing, needed) in needed.into_iter().enumerate() {
        let mut story = Story::new(login());
        story
            .hears("-NOPROTO\r\n-NOAUTH\r\n-NOAUTH\r\n-NOAUTH\r\n")
            .unwrap();
        let mut ended = Ok(Progress::Waiting);
        for number in 0..5 {
            ended = story.hears(if number == failing {
                "-ERR no\r\n"
            } else {
                "+OK\r\n"
            });
            if ended.is_err() {
                break;
            }
        }
        assert_eq!(ended.is_err(), needed, "step {failing}: {ended:?}");
    }
}
