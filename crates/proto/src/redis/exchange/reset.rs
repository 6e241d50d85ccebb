//! How a session that somebody has used is made new, without waiting for it.

use super::login::{Login, Speaks};
use super::step::{self, Step};
use crate::redis::{Command, FrameKind, ServerError};

/// The bytes that make a session new: `RESET`, then what a login does, in one flight. One serves all connections that
/// have the same login and version.
///
/// `RESET` ends transactions, watched keys, subscriptions, tracking and `MONITOR`, and also logs out, forgets the name
/// and falls back to RESP2, so all that is done again.
#[derive(Clone)]
pub struct ResetFlight {
    wire: Vec<u8>,
    steps: Box<[Step]>,
    speaks: Speaks,
}

/// How far the reset of one connection is. Give it each frame that comes behind the replies to earlier requests.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Resetting {
    /// Replies that have come, that of `RESET` included.
    replies: usize,
}

/// Why a session is not new. The connection is to be closed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ResetError {
    /// The server does not know `RESET`: others of its connections need not try.
    #[error("the server does not know RESET")]
    Unsupported,
    /// It refused a step.
    #[error("{command} was refused: {error}")]
    Refused {
        /// What was refused.
        command: &'static str,
        /// What the server said.
        error: ServerError,
    },
    /// What came is not what a reset is answered with.
    #[error("a reply that does not belong to a reset")]
    Unexpected,
}

impl ResetFlight {
    /// The flight for sessions that began with this login and speak this version.
    pub fn new(login: &Login, speaks: Speaks) -> Self {
        let mut wire = Vec::new();
        Command::new("RESET").encode_to(&mut wire);
        let steps = step::introduce(login, speaks, &mut wire).into();
        Self {
            wire,
            steps,
            speaks,
        }
    }

    /// What to send.
    pub fn wire(&self) -> &[u8] {
        &self.wire
    }

    /// How many replies it has.
    pub fn replies(&self) -> usize {
        self.steps.len() + 1
    }
}

/// It holds a password.
impl std::fmt::Debug for ResetFlight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResetFlight")
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}

impl Resetting {
    /// Takes a frame, and says whether the session is new.
    ///
    /// # Errors
    ///
    /// The session is not new, and will not be.
    pub fn handle_frame(
        &mut self,
        flight: &ResetFlight,
        kind: FrameKind,
        frame: &[u8],
    ) -> Result<bool, ResetError> {
        let Some(done) = self.replies.checked_sub(1) else {
            return self.handle_before_reset(flight, kind, frame);
        };
        if kind == FrameKind::Push {
            // The old session is over: nothing is pushed to a new one.
            return Err(ResetError::Unexpected);
        }
        let step = *flight.steps.get(done).ok_or(ResetError::Unexpected)?;
        if let Some(error) = step::refusal(kind, frame)
            && !step.is_optional()
        {
            return Err(ResetError::Refused {
                command: step.command(),
                error,
            });
        }
        self.replies += 1;
        Ok(self.is_done(flight))
    }

    fn handle_before_reset(
        &mut self,
        flight: &ResetFlight,
        kind: FrameKind,
        frame: &[u8],
    ) -> Result<bool, ResetError> {
        if let Some(error) = step::refusal(kind, frame) {
            return Err(if step::is_unknown(&error) {
                ResetError::Unsupported
            } else {
                ResetError::Refused {
                    command: "RESET",
                    error,
                }
            });
        }
        if frame == b"+RESET\r\n" {
            self.replies = 1;
            return Ok(self.is_done(flight));
        }
        // What the old session had subscribed to; in RESP2 such messages are arrays.
        let is_message = kind == FrameKind::Push
            || (flight.speaks == Speaks::Resp2 && frame.first() == Some(&b'*'));
        if is_message {
            Ok(false)
        } else {
            Err(ResetError::Unexpected)
        }
    }

    fn is_done(self, flight: &ResetFlight) -> bool {
        self.replies == flight.replies()
    }
}
