//! Lists, sets and maps.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::rc::Rc;
use std::sync::Arc;

use super::super::error::DecodeError;
use super::walk::Walk;
use super::{Elements, FromReply, Reply};

/// Bytes that a list takes before its first element is there. What was announced has come, but in bytes of
/// the wire; an element may take many times as much, and the first one may already be of the wrong type.
const RESERVED_AT_ONCE: usize = 1 << 20;

/// Elements to make room for, of `announced` ones.
#[inline]
pub(super) fn room<T>(announced: usize) -> usize {
    announced.min(RESERVED_AT_ONCE / size_of::<T>().max(1))
}

/// The elements of a list.
#[inline]
pub(super) fn elements<'a>(
    reply: Reply<'a>,
    expected: &'static str,
) -> Result<Elements<'a>, DecodeError> {
    match reply {
        Reply::Array(elements) | Reply::Set(elements) | Reply::Push(elements) => Ok(elements),
        other => Err(other.unexpected(expected)),
    }
}

/// A list, element by element.
#[inline]
pub(super) fn vec<T: FromReply>(reply: Reply<'_>) -> Result<Vec<T>, DecodeError> {
    let mut walk = Walk::new(elements(reply, "a list")?);
    let mut list = Vec::with_capacity(room::<T>(walk.len()));
    while !walk.is_empty() {
        list.push(walk.one()?);
    }
    Ok(list)
}

/// The pairs of a reply: a map, a list of pairs, or, as RESP2 writes both, a list of firsts and seconds in
/// turn.
pub(super) struct PairsOf<'a> {
    walk: Walk<'a>,
    /// Every element is a pair itself.
    is_nested: bool,
}

impl<'a> PairsOf<'a> {
    pub(super) fn new(reply: Reply<'a>) -> Result<Self, DecodeError> {
        let (walk, is_nested) = match reply {
            Reply::Map(pairs) => (Walk::new(pairs.into_elements()), false),
            list => {
                let walk = Walk::new(elements(list, "a map or a list of pairs")?);
                let is_nested = matches!(walk.peek(), Some(Reply::Array(_)));
                (walk, is_nested)
            }
        };
        if !is_nested && walk.len() % 2 == 1 {
            return Err(DecodeError::Length {
                expected: walk.len() + 1,
                found: walk.len(),
            });
        }
        Ok(Self { walk, is_nested })
    }

    /// How many are left.
    pub(super) fn len(&self) -> usize {
        let each = if self.is_nested { 1 } else { 2 };
        self.walk.len() / each
    }

    /// The next one.
    #[inline]
    pub(super) fn next<A: FromReply, B: FromReply>(
        &mut self,
    ) -> Result<Option<(A, B)>, DecodeError> {
        if self.walk.is_empty() {
            return Ok(None);
        }
        if self.is_nested {
            return self.walk.one().map(Some);
        }
        Ok(Some((self.walk.one()?, self.walk.one()?)))
    }
}

impl<T: FromReply> FromReply for Vec<T> {
    #[inline]
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        T::vec_from_reply(reply)
    }
}

impl<T: FromReply> FromReply for VecDeque<T> {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        T::vec_from_reply(reply).map(Into::into)
    }
}

impl<T: FromReply> FromReply for Box<[T]> {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        T::vec_from_reply(reply).map(Into::into)
    }
}

impl<T: FromReply, const N: usize> FromReply for [T; N] {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        T::vec_from_reply(reply)?
            .try_into()
            .map_err(|list: Vec<T>| DecodeError::Length {
                expected: N,
                found: list.len(),
            })
    }
}

impl<T: FromReply + Hash + Eq, S: BuildHasher + Default> FromReply for HashSet<T, S> {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        let mut walk = Walk::new(elements(reply, "a set")?);
        let mut set = Self::with_capacity_and_hasher(room::<T>(walk.len()), S::default());
        while !walk.is_empty() {
            set.insert(walk.one()?);
        }
        Ok(set)
    }
}

impl<T: FromReply + Ord> FromReply for BTreeSet<T> {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        let mut walk = Walk::new(elements(reply, "a set")?);
        let mut set = Self::new();
        while !walk.is_empty() {
            set.insert(walk.one()?);
        }
        Ok(set)
    }
}

/// Of a key that comes twice, the last value stays.
impl<K, V, S> FromReply for HashMap<K, V, S>
where
    K: FromReply + Hash + Eq,
    V: FromReply,
    S: BuildHasher + Default,
{
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        let mut pairs = PairsOf::new(reply)?;
        let mut map = Self::with_capacity_and_hasher(room::<(K, V)>(pairs.len()), S::default());
        while let Some((key, value)) = pairs.next()? {
            map.insert(key, value);
        }
        Ok(map)
    }
}

/// Of a key that comes twice, the last value stays.
impl<K: FromReply + Ord, V: FromReply> FromReply for BTreeMap<K, V> {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        let mut pairs = PairsOf::new(reply)?;
        let mut map = Self::new();
        while let Some((key, value)) = pairs.next()? {
            map.insert(key, value);
        }
        Ok(map)
    }
}

impl<T: FromReply> FromReply for Box<T> {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        T::from_reply(reply).map(Self::new)
    }
}

impl<T: FromReply> FromReply for Arc<T> {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        T::from_reply(reply).map(Self::new)
    }
}

impl<T: FromReply> FromReply for Rc<T> {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        T::from_reply(reply).map(Self::new)
    }
}
