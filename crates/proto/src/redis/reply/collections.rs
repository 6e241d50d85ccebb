//! Lists, sets and maps.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::rc::Rc;
use std::sync::Arc;

use super::super::error::DecodeError;
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
    let mut elements = elements(reply, "a list")?;
    let mut list = Vec::with_capacity(room::<T>(elements.len()));
    while !elements.is_empty() {
        list.push(one(&mut elements)?);
    }
    Ok(list)
}

/// The next element, as one value.
#[inline]
pub(super) fn one<T: FromReply>(elements: &mut Elements<'_>) -> Result<T, DecodeError> {
    match elements.next() {
        Some(element) => T::from_reply(element),
        None => Err(DecodeError::Malformed),
    }
}

/// The pairs of a reply: a map, a list of pairs, or, as RESP2 writes both, a list of firsts and seconds in
/// turn.
pub(super) struct PairsOf<'a> {
    elements: Elements<'a>,
    /// Every element is a pair itself.
    is_nested: bool,
}

impl<'a> PairsOf<'a> {
    pub(super) fn new(reply: Reply<'a>) -> Result<Self, DecodeError> {
        if let Reply::Map(pairs) = reply {
            return Ok(Self {
                elements: pairs.into_elements(),
                is_nested: false,
            });
        }
        let elements = elements(reply, "a map or a list of pairs")?;
        let is_nested = matches!(elements.peek(), Some(Reply::Array(_)));
        if !is_nested && elements.len() % 2 == 1 {
            return Err(DecodeError::Length {
                expected: elements.len() + 1,
                found: elements.len(),
            });
        }
        Ok(Self {
            elements,
            is_nested,
        })
    }

    /// How many are left.
    pub(super) fn len(&self) -> usize {
        let each = if self.is_nested { 1 } else { 2 };
        self.elements.len() / each
    }

    /// The next one.
    #[inline]
    pub(super) fn next<A: FromReply, B: FromReply>(
        &mut self,
    ) -> Result<Option<(A, B)>, DecodeError> {
        if self.elements.is_empty() {
            return Ok(None);
        }
        if self.is_nested {
            return one(&mut self.elements).map(Some);
        }
        let first = one(&mut self.elements)?;
        Ok(Some((first, one(&mut self.elements)?)))
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
        let mut elements = elements(reply, "a set")?;
        let mut set = Self::with_capacity_and_hasher(room::<T>(elements.len()), S::default());
        while !elements.is_empty() {
            set.insert(one(&mut elements)?);
        }
        Ok(set)
    }
}

impl<T: FromReply + Ord> FromReply for BTreeSet<T> {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        let mut elements = elements(reply, "a set")?;
        let mut set = Self::new();
        while !elements.is_empty() {
            set.insert(one(&mut elements)?);
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
