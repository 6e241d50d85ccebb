//! Parameters that were encoded ahead of the command that carries them.

use std::fmt;

use super::Params;
use super::execute::encode_params;

/// The parameters of one execution, in the form in which they travel.
///
/// Encoded once, they can be sent again, with another statement number, and the values that they were made of need not
/// live on. Shown by `Debug` as their number only.
#[derive(Clone, Default)]
pub struct EncodedParams {
    count: usize,
    bytes: Vec<u8>,
}

impl EncodedParams {
    /// Encodes all of `params` into `storage`, whose former contents go.
    #[must_use]
    pub fn new(params: &impl Params, mut storage: Vec<u8>) -> Self {
        storage.clear();
        encode_params(&mut storage, params);
        Self {
            count: params.count(),
            bytes: storage,
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// The storage, for others.
    #[must_use]
    pub fn into_storage(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for EncodedParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EncodedParams({})", self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql::command;

    #[test]
    fn encoded_ahead_they_are_what_they_are_encoded_in_place() {
        let (mut at_once, mut ahead) = (Vec::new(), Vec::new());
        let first = command::execute(&mut at_once, 7, &(1, "x", None::<i64>), 100).unwrap();
        let params = EncodedParams::new(&(1, "x", None::<i64>), b"old".to_vec());
        let second = command::execute_encoded(&mut ahead, 7, &params, 100).unwrap();
        assert_eq!((at_once, first), (ahead, second));
        assert_eq!(format!("{params:?}"), "EncodedParams(3)");
        assert!(command::execute_encoded(&mut Vec::new(), 7, &params, 20).is_err());
    }
}
