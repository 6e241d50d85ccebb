//! How a session begins, in one round trip where the server is of today.

use std::collections::VecDeque;

use super::login::{Login, Protocol, Speaks};
use super::step::{self, Step};
use crate::redis::{Command, FrameKind, ServerError};

/// The beginning of a session on a new connection.
///
/// Everything leaves at once: `HELLO 3` with the credentials and the name, `SELECT`, `CLIENT SETINFO`. A server that
/// does not know `HELLO` gets one more flight, in RESP2, if the login allows it.
///
/// [`new`](Self::new) appends the first flight; then give [`handle_frame`](Self::handle_frame) each frame, and send what
/// it appends, until it says [`Progress::Done`].
#[derive(Debug)]
pub struct Handshake {
    login: Login,
    speaks: Speaks,
    /// What is awaited, oldest first.
    steps: VecDeque<Step>,
    can_reset: bool,
}

/// How far a [`Handshake`] is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Progress {
    /// More replies are awaited.
    Waiting,
    /// The session has begun, in this version of the protocol.
    Done(Speaks),
}

/// Why a session could not begin.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The server does not accept the user or the password, or wants one.
    #[error("authentication was refused: {0}")]
    Auth(ServerError),
    /// The server refused something else.
    #[error("{command} was refused: {error}")]
    Refused {
        /// What was refused.
        command: &'static str,
        /// What the server said.
        error: ServerError,
    },
    /// The server sent a reply that was not asked for.
    #[error("a reply that was not asked for")]
    Unexpected,
}

impl HandshakeError {
    /// What the server said.
    pub fn server(&self) -> Option<&ServerError> {
        match self {
            Self::Auth(error) | Self::Refused { error, .. } => Some(error),
            Self::Unexpected => None,
        }
    }
}

impl Handshake {
    /// Begins a session, and appends the first flight.
    pub fn new(login: Login, wire: &mut Vec<u8>) -> Self {
        let speaks = match login.protocol {
            Protocol::Resp3WithFallback | Protocol::Resp3 => Speaks::Resp3,
            Protocol::Resp2 => Speaks::Resp2,
        };
        let mut handshake = Self {
            login,
            speaks,
            steps: VecDeque::new(),
            can_reset: false,
        };
        handshake.introduce(wire);
        handshake
    }

    /// The same, and asks on the way whether the server knows `RESET`: see [`can_reset`](Self::can_reset).
    pub fn probing(login: Login, wire: &mut Vec<u8>) -> Self {
        Command::new("RESET").encode_to(wire);
        let mut handshake = Self::new(login, wire);
        handshake.steps.push_front(Step::Probe);
        handshake
    }

    /// Whether the server was asked whether it knows `RESET`, and does.
    pub fn can_reset(&self) -> bool {
        self.can_reset
    }

    fn introduce(&mut self, wire: &mut Vec<u8>) {
        let steps = step::introduce(&self.login, self.speaks, wire);
        if !step::shows_who_is_strange(&steps) {
            Command::new("PING").encode_to(wire);
            self.steps.push_back(Step::Check);
        }
        self.steps.extend(steps);
        for set_info in self.login.set_info() {
            set_info.encode_to(wire);
            self.steps.push_back(Step::SetInfo);
        }
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        if self.steps.is_empty() {
            Progress::Done(self.speaks)
        } else {
            Progress::Waiting
        }
    }

    /// Takes a frame, and appends what is to be sent because of it.
    ///
    /// # Errors
    ///
    /// The session cannot begin, and the connection is of no use.
    pub fn handle_frame(
        &mut self,
        kind: FrameKind,
        frame: &[u8],
        wire: &mut Vec<u8>,
    ) -> Result<Progress, HandshakeError> {
        if kind == FrameKind::Push {
            // Nobody has subscribed to anything; what a server pushes unasked is not for a login.
            return Ok(self.progress());
        }
        // An error before anything was asked says why the server is about to hang up.
        let refusal = step::refusal(kind, frame);
        let Some(step) = self.steps.pop_front() else {
            return Err(match refusal {
                Some(error) => HandshakeError::Refused {
                    command: "the connection",
                    error,
                },
                None => HandshakeError::Unexpected,
            });
        };
        match refusal {
            Some(error) => self.refused(step, error, wire)?,
            None => self.can_reset |= step == Step::Probe,
        }
        Ok(self.progress())
    }

    fn refused(
        &mut self,
        step: Step,
        error: ServerError,
        wire: &mut Vec<u8>,
    ) -> Result<(), HandshakeError> {
        // In RESP2 without credentials, an optional command is the first to hear that they are wanted.
        if step != Step::Ignored && error.code() == "NOAUTH" {
            return Err(HandshakeError::Auth(error));
        }
        if step.is_optional() {
            return Ok(());
        }
        let may_fall_back =
            step == Step::Hello && self.login.protocol == Protocol::Resp3WithFallback;
        if may_fall_back && step::is_unknown(&error) {
            self.fall_back(wire);
            return Ok(());
        }
        if matches!(step, Step::Hello | Step::Auth) && step::is_about_credentials(&error) {
            return Err(HandshakeError::Auth(error));
        }
        Err(HandshakeError::Refused {
            command: step.command(),
            error,
        })
    }

    /// Begins again, in RESP2. What the first flight's other commands say means nothing.
    fn fall_back(&mut self, wire: &mut Vec<u8>) {
        self.speaks = Speaks::Resp2;
        self.steps.iter_mut().for_each(|step| *step = Step::Ignored);
        self.introduce(wire);
    }
}
