//! The words that every error of the library has in common: whom it blames, and what became of a request.

/// Whom an error blames, and so who can do something about it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Blame {
    /// The program that called: its arguments or its configuration.
    Caller,
    /// The other end: it broke a rule of the protocol.
    Peer,
    /// The network, the system, or time.
    Network,
    /// A handler or task of the application that panicked, or a fault of this library.
    Bug,
}

/// What became of a request that failed. No request is ever sent twice by the library.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Outcome {
    /// Not one byte of it was handed to the operating system: it had no effect, and may be sent again.
    NotSent,
    /// The server has answered, with an error or with something else than was expected. What the answer says holds.
    Replied,
    /// Anything else: it may have been carried out, or may yet be. Only the caller knows whether it may be repeated.
    Unknown,
}

impl Outcome {
    /// Whether the request had no effect, so that it may be sent again whatever it does.
    pub fn is_safe_to_retry(self) -> bool {
        self == Self::NotSent
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NotSent => "not sent",
            Self::Replied => "replied",
            Self::Unknown => "outcome unknown",
        })
    }
}
