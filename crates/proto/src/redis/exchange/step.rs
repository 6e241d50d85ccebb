//! One command of a session's beginning, and what its answer means.

use super::login::{Login, Speaks};
use crate::redis::{Command, FrameKind, ServerError};

/// A command of a flight whose reply is awaited.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Step {
    /// `RESET` on a session that is new anyway, to see whether the server knows it.
    Probe,
    Hello,
    Auth,
    SetName,
    Select,
    SetInfo,
    /// Nothing was asked that needs a login: whether one is needed shows here.
    Check,
    /// Whatever it was, its answer means nothing any more.
    Ignored,
}

impl Step {
    pub(super) fn command(self) -> &'static str {
        match self {
            Self::Probe => "RESET",
            Self::Hello => "HELLO",
            Self::Auth => "AUTH",
            Self::SetName => "CLIENT SETNAME",
            Self::Select => "SELECT",
            Self::SetInfo => "CLIENT SETINFO",
            Self::Check => "PING",
            Self::Ignored => "a command",
        }
    }

    /// Whether the session is good without it: names are for people, and managed servers and proxies refuse them.
    pub(super) fn is_optional(self) -> bool {
        matches!(
            self,
            Self::Probe | Self::SetName | Self::SetInfo | Self::Check | Self::Ignored
        )
    }
}

/// Appends the commands that make a new session the user's own, and says which they are.
pub(super) fn introduce(login: &Login, speaks: Speaks, wire: &mut Vec<u8>) -> Vec<Step> {
    let mut steps = Vec::with_capacity(5);
    let mut append = |step, command: Command| {
        command.encode_to(wire);
        steps.push(step);
    };
    match speaks {
        Speaks::Resp3 => append(Step::Hello, login.hello()),
        Speaks::Resp2 => {
            if let Some(auth) = login.auth() {
                append(Step::Auth, auth);
            }
            if let Some(set_name) = login.set_name() {
                append(Step::SetName, set_name);
            }
        }
    }
    if let Some(select) = login.select() {
        append(Step::Select, select);
    }
    steps
}

/// Whether the server was asked for something that it refuses to strangers.
pub(super) fn shows_who_is_strange(steps: &[Step]) -> bool {
    let shows = |step| matches!(step, Step::Hello | Step::Auth | Step::Select);
    steps.iter().copied().any(shows)
}

/// What the server said, if the frame is an error; without anything that the login holds secret.
pub(super) fn refusal(kind: FrameKind, frame: &[u8]) -> Option<ServerError> {
    (kind == FrameKind::Error).then(|| ServerError::new(without_arguments(error_text(frame))))
}

/// The text of an error frame, of a line (`-`) or a bulk (`!`).
fn error_text(frame: &[u8]) -> &[u8] {
    let (first, text) = match frame.split_first() {
        Some((first, rest)) => (*first, rest),
        None => return frame,
    };
    let text = text.strip_suffix(b"\r\n").unwrap_or(text);
    if first != b'!' {
        return text;
    }
    let line = text.windows(2).position(|pair| pair == b"\r\n");
    line.and_then(|end| text.get(end + 2..)).unwrap_or(text)
}

/// A server that does not know a command quotes its arguments, and with them a password.
fn without_arguments(text: &[u8]) -> &[u8] {
    const QUOTED: &[u8] = b", with args beginning with";
    let end = text
        .windows(QUOTED.len())
        .position(|window| window == QUOTED);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Whether the server does not know the command at all, or not in this form.
pub(super) fn is_unknown(error: &ServerError) -> bool {
    let message = error.message().to_ascii_lowercase();
    error.code() == "NOPROTO"
        || (error.code() == "ERR"
            && (message.starts_with("unknown command")
                || message.starts_with("unknown subcommand")
                || message.starts_with("syntax error in hello")
                || message.starts_with("unsupported command")
                || message.starts_with("wrong number of arguments")))
}

/// Whether the error is about who logs in.
pub(super) fn is_about_credentials(error: &ServerError) -> bool {
    match error.code() {
        "WRONGPASS" | "NOAUTH" | "NOPERM" => true,
        // Before access control lists, and a server that has no password where one is given.
        "ERR" => {
            let message = error.message().to_ascii_lowercase();
            message.starts_with("invalid password")
                || message.starts_with("client sent auth")
                || message.starts_with("auth <password> called")
                || message.starts_with("invalid username-password")
        }
        _ => false,
    }
}
