//! What reports call a piece of work: a name that its author gave it, or the place in the source that made it.

use std::fmt;
use std::panic::Location;

/// The name of a piece of work in reports: given by its author, or the place that asked for it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Label {
    name: Option<&'static str>,
    place: &'static Location<'static>,
}

impl Label {
    /// The place of the caller.
    #[track_caller]
    pub(crate) fn here() -> Self {
        Self {
            name: None,
            place: Location::caller(),
        }
    }

    pub(crate) fn named(self, name: &'static str) -> Self {
        Self {
            name: Some(name),
            ..self
        }
    }

    /// The name, if one was given.
    pub fn name(&self) -> Option<&'static str> {
        self.name
    }

    /// Where it was asked for.
    pub fn place(&self) -> &'static Location<'static> {
        self.place
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => write!(f, "{name} ({})", self.place),
            None => write!(f, "{}", self.place),
        }
    }
}
