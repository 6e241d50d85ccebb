//! Bytes that nobody may read by accident.

use std::fmt;

/// A password, or what would give one away. Never shown by `Debug`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Keeps these bytes.
    #[must_use]
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes themselves.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// Whether there are none: an account without a password.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bytes behind a zero, as plugins send a password that is sent as it is.
    pub(crate) fn with_zero(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len() + 1);
        bytes.extend_from_slice(&self.0);
        bytes.push(0);
        bytes
    }
}

impl From<crate::uri::Secret> for Secret {
    fn from(secret: crate::uri::Secret) -> Self {
        Self::new(secret.expose())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() {
            "Secret(empty)"
        } else {
            "Secret(..)"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_does_not_tell() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "Secret(..)");
        assert_eq!(format!("{:?}", Secret::default()), "Secret(empty)");
    }
}
