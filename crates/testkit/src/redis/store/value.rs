//! A value of one of the types that the server knows.

use super::{Hash, List, Set};

#[derive(Clone, Debug)]
pub(in crate::redis) enum Value {
    Text(Vec<u8>),
    List(List),
    Hash(Hash),
    Set(Set),
}

impl Value {
    /// The type's name, as `TYPE` gives it.
    pub(in crate::redis) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::List(_) => "list",
            Self::Hash(_) => "hash",
            Self::Set(_) => "set",
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::List(list) => list.bytes(),
            Self::Hash(hash) => hash.bytes(),
            Self::Set(set) => set.bytes(),
        }
    }

    /// An empty collection is no value: its key is removed.
    pub(super) fn is_gone(&self) -> bool {
        match self {
            Self::Text(_) => false,
            Self::List(list) => list.len() == 0,
            Self::Hash(hash) => hash.len() == 0,
            Self::Set(set) => set.len() == 0,
        }
    }
}

/// A type that a key may hold.
pub(in crate::redis) trait Kind: Sized {
    /// The value that a key begins with.
    fn fresh() -> Value;
    fn of(value: &Value) -> Option<&Self>;
    fn of_mut(value: &mut Value) -> Option<&mut Self>;
}

macro_rules! kind {
    ($kind:ty, $variant:ident) => {
        impl Kind for $kind {
            fn fresh() -> Value {
                Value::$variant(Self::default())
            }

            fn of(value: &Value) -> Option<&Self> {
                match value {
                    Value::$variant(inner) => Some(inner),
                    _ => None,
                }
            }

            fn of_mut(value: &mut Value) -> Option<&mut Self> {
                match value {
                    Value::$variant(inner) => Some(inner),
                    _ => None,
                }
            }
        }
    };
}

kind!(Vec<u8>, Text);
kind!(List, List);
kind!(Hash, Hash);
kind!(Set, Set);
