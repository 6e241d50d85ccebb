//! A text that is not shown.

use std::fmt;

/// A password or a token. It has no `Display`, and its `Debug` does not show it.
///
/// ```
/// use arknet_proto::uri::Secret;
///
/// let secret = Secret::new("p@ss");
/// assert_eq!(format!("{secret:?}"), "Secret(***)");
/// assert_eq!(secret.expose(), "p@ss");
/// ```
#[derive(Clone, Eq, PartialEq)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Shows it, to whom it is meant for.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}
