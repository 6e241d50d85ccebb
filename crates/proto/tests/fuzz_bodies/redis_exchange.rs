//! Any answers to a login and to a reset: a session begins, or is new, exactly if every answer that matters was the right
//! one, nothing secret is told, and a login asks at most twice.
//!
//! | input | meaning |
//! |---|---|
//! | byte | the login: bits for a user, a password, a name, a database, the library's name, RESP2 only, RESP3 only |
//! | byte | even: a login; odd: a reset |
//! | the rest | answers, by their number in [`ANSWERS`] |

use arknet_proto::redis::exchange::{
    Handshake, HandshakeError, Login, Progress, Protocol, Requests, ResetFlight, Resetting, Speaks,
};
use arknet_proto::redis::{FrameKind, ReplyLimits, Scanner};

use super::Input;

const PASSWORD: &str = "hunter2";

/// What a server may say.
const ANSWERS: &[&str] = &[
    "+OK\r\n",
    "+RESET\r\n",
    "%1\r\n$5\r\nproto\r\n:3\r\n",
    "-ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `hunter2`, \r\n",
    "-NOPROTO unsupported protocol version\r\n",
    "-NOAUTH Authentication required.\r\n",
    "-WRONGPASS invalid username-password pair\r\n",
    "-ERR DB index is out of range\r\n",
    ">2\r\n$10\r\ninvalidate\r\n_\r\n",
    "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n",
    "+PONG\r\n",
    "_\r\n",
    ":1\r\n",
    "!11\r\nERR in bulk\r\n",
];

/// Runs one input.
pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    let login = login(input.byte());
    if input.byte() % 2 == 0 {
        logs_in(login, input);
    } else {
        resets(&login, input);
    }
}

fn login(bits: u8) -> Login {
    let has = |bit: u8| bits & (1 << bit) != 0;
    Login {
        protocol: match (has(5), has(6)) {
            (true, _) => Protocol::Resp2,
            (false, true) => Protocol::Resp3,
            (false, false) => Protocol::Resp3WithFallback,
        },
        user: has(0).then(|| "app".to_owned()),
        password: has(1).then(|| PASSWORD.to_owned()),
        client_name: has(2).then(|| "me".to_owned()),
        database: u32::from(has(3)),
        library: has(4).then_some(("arknet", "1.0")),
    }
}

fn next(input: &mut Input<'_>) -> Option<(FrameKind, &'static [u8])> {
    if input.is_empty() {
        return None;
    }
    let answer = ANSWERS[usize::from(input.byte()) % ANSWERS.len()].as_bytes();
    let frame = Scanner::new(ReplyLimits::default()).scan(answer);
    let frame = frame.unwrap().expect("each answer is a whole frame");
    assert_eq!(frame.len, answer.len());
    Some((frame.kind, answer))
}

fn logs_in(login: Login, mut input: Input<'_>) {
    let mut wire = Vec::new();
    let mut handshake = Handshake::probing(login.clone(), &mut wire);
    let mut asked = Requests::new(&wire).count();
    assert_eq!(
        handshake.progress(),
        Progress::Waiting,
        "it asks for something"
    );
    let (mut answered, mut flights) = (0, 1);
    while let Some((kind, frame)) = next(&mut input) {
        wire.clear();
        let was_done = handshake.progress() != Progress::Waiting;
        let progress = handshake.handle_frame(kind, frame, &mut wire);
        assert!(kind != FrameKind::Push || wire.is_empty() && progress.is_ok());
        let error = match progress {
            Ok(progress) => {
                answered += usize::from(kind != FrameKind::Push);
                if !wire.is_empty() {
                    flights += 1;
                    asked += Requests::new(&wire).count();
                }
                assert_eq!(progress == Progress::Waiting, answered < asked);
                assert!(!was_done || kind == FrameKind::Push, "a reply too many");
                continue;
            }
            Err(error) => error,
        };
        let shown = format!("{error} {error:?} {handshake:?}");
        assert!(!shown.contains(PASSWORD), "{shown}");
        assert!(was_done || kind == FrameKind::Error || error == HandshakeError::Unexpected);
        break;
    }
    let most = if login.protocol == Protocol::Resp3WithFallback {
        2
    } else {
        1
    };
    assert!(flights <= most, "{flights} flights");
}

fn resets(login: &Login, mut input: Input<'_>) {
    let speaks = match login.protocol {
        Protocol::Resp2 => Speaks::Resp2,
        _ => Speaks::Resp3,
    };
    let flight = ResetFlight::new(login, speaks);
    assert_eq!(Requests::new(flight.wire()).count(), flight.replies());
    let mut resetting = Resetting::default();
    // Replies that were right, that of RESET included.
    let mut right = 0;
    while let Some((kind, frame)) = next(&mut input) {
        let is_message =
            kind == FrameKind::Push || speaks == Speaks::Resp2 && frame.starts_with(b"*");
        match resetting.handle_frame(&flight, kind, frame) {
            Ok(done) => {
                if right == 0 {
                    assert!(is_message || frame == b"+RESET\r\n");
                    right += usize::from(frame == b"+RESET\r\n");
                } else {
                    assert!(kind != FrameKind::Push, "a push to a new session");
                    right += 1;
                }
                assert_eq!(done, right == flight.replies());
                if done {
                    return;
                }
            }
            Err(_) => {
                assert!(right > 0 || !is_message && frame != b"+RESET\r\n");
                assert!(right == 0 || kind != FrameKind::Reply);
                return;
            }
        }
    }
}
