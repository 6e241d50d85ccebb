//! Lists, hashes and sets that know how many bytes they hold.
//!
//! Hashes and sets are sorted, so that the same story gives the same replies.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A list; its left end is the first element.
#[derive(Clone, Debug, Default)]
pub(in crate::redis) struct List {
    items: VecDeque<Vec<u8>>,
    bytes: usize,
}

/// Which end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::redis) enum End {
    Left,
    Right,
}

impl List {
    pub(in crate::redis) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(in crate::redis) fn push(&mut self, end: End, item: Vec<u8>) {
        self.bytes += item.len();
        match end {
            End::Left => self.items.push_front(item),
            End::Right => self.items.push_back(item),
        }
    }

    pub(in crate::redis) fn pop(&mut self, end: End) -> Option<Vec<u8>> {
        let item = match end {
            End::Left => self.items.pop_front(),
            End::Right => self.items.pop_back(),
        }?;
        self.bytes -= item.len();
        Some(item)
    }

    pub(in crate::redis) fn get(&self, index: usize) -> Option<&[u8]> {
        self.items.get(index).map(Vec::as_slice)
    }

    /// Replaces an element; false where there is none.
    pub(in crate::redis) fn set(&mut self, index: usize, item: &[u8]) -> bool {
        let Some(place) = self.items.get_mut(index) else {
            return false;
        };
        self.bytes = self.bytes - place.len() + item.len();
        *place = item.to_vec();
        true
    }

    pub(in crate::redis) fn range(
        &self,
        start: usize,
        count: usize,
    ) -> impl Iterator<Item = &[u8]> {
        self.items.iter().skip(start).take(count).map(Vec::as_slice)
    }

    /// Keeps so many elements from `start` on.
    pub(in crate::redis) fn trim(&mut self, start: usize, count: usize) {
        self.items.truncate(start.saturating_add(count));
        self.items.drain(..start.min(self.items.len()));
        self.bytes = self.items.iter().map(Vec::len).sum();
    }

    /// Removes elements that equal `item`, at most so many, counted from `end`; says how many there were.
    pub(in crate::redis) fn remove(&mut self, end: End, most: usize, item: &[u8]) -> usize {
        let mut removed = 0;
        let mut keep = VecDeque::with_capacity(self.items.len());
        while let Some(next) = self.pop(end) {
            if removed < most && next == item {
                removed += 1;
                continue;
            }
            match end {
                End::Left => keep.push_back(next),
                End::Right => keep.push_front(next),
            }
        }
        self.bytes = keep.iter().map(Vec::len).sum();
        self.items = keep;
        removed
    }
}

/// Fields with values.
#[derive(Clone, Debug, Default)]
pub(in crate::redis) struct Hash {
    fields: BTreeMap<Vec<u8>, Vec<u8>>,
    bytes: usize,
}

impl Hash {
    pub(in crate::redis) fn len(&self) -> usize {
        self.fields.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(in crate::redis) fn get(&self, field: &[u8]) -> Option<&[u8]> {
        self.fields.get(field).map(Vec::as_slice)
    }

    /// Says whether the field is new.
    pub(in crate::redis) fn set(&mut self, field: &[u8], value: Vec<u8>) -> bool {
        self.bytes += value.len();
        match self.fields.insert(field.to_vec(), value) {
            Some(old) => {
                self.bytes -= old.len();
                false
            }
            None => {
                self.bytes += field.len();
                true
            }
        }
    }

    pub(in crate::redis) fn remove(&mut self, field: &[u8]) -> bool {
        let Some(old) = self.fields.remove(field) else {
            return false;
        };
        self.bytes -= field.len() + old.len();
        true
    }

    pub(in crate::redis) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.fields
            .iter()
            .map(|(field, value)| (field.as_slice(), value.as_slice()))
    }
}

/// Members without an order that means anything.
#[derive(Clone, Debug, Default)]
pub(in crate::redis) struct Set {
    members: BTreeSet<Vec<u8>>,
    bytes: usize,
}

impl Set {
    pub(in crate::redis) fn len(&self) -> usize {
        self.members.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(in crate::redis) fn contains(&self, member: &[u8]) -> bool {
        self.members.contains(member)
    }

    pub(in crate::redis) fn insert(&mut self, member: &[u8]) -> bool {
        let new = self.members.insert(member.to_vec());
        if new {
            self.bytes += member.len();
        }
        new
    }

    pub(in crate::redis) fn remove(&mut self, member: &[u8]) -> bool {
        let was_there = self.members.remove(member);
        if was_there {
            self.bytes -= member.len();
        }
        was_there
    }

    pub(in crate::redis) fn pop(&mut self) -> Option<Vec<u8>> {
        let member = self.members.pop_first()?;
        self.bytes -= member.len();
        Some(member)
    }

    pub(in crate::redis) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.members.iter().map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: &[&str]) -> List {
        let mut list = List::default();
        for item in items {
            list.push(End::Right, item.as_bytes().to_vec());
        }
        list
    }

    fn items(list: &List) -> Vec<&str> {
        list.range(0, usize::MAX)
            .map(|item| std::str::from_utf8(item).unwrap())
            .collect()
    }

    #[test]
    fn elements_are_removed_from_the_end_that_is_asked_for() {
        let mut from_left = list(&["a", "b", "a", "c", "a"]);
        assert_eq!(from_left.remove(End::Left, 2, b"a"), 2);
        assert_eq!(items(&from_left), ["b", "c", "a"]);
        let mut from_right = list(&["a", "b", "a", "c", "a"]);
        assert_eq!(from_right.remove(End::Right, 2, b"a"), 2);
        assert_eq!(items(&from_right), ["a", "b", "c"]);
    }

    #[test]
    fn a_trimmed_list_keeps_what_lies_between() {
        let mut all = list(&["a", "b", "c", "d"]);
        all.trim(1, 2);
        assert_eq!(items(&all), ["b", "c"]);
        all.trim(5, 1);
        assert_eq!(all.len(), 0);
    }

    #[test]
    fn bytes_are_those_that_are_held() {
        let mut list = list(&["aa", "bbb"]);
        list.set(0, b"cccc");
        list.pop(End::Right);
        assert_eq!(list.bytes(), 4);
        let mut hash = Hash::default();
        hash.set(b"field", b"value".to_vec());
        hash.set(b"field", b"v".to_vec());
        assert_eq!(hash.bytes(), 6);
        hash.remove(b"field");
        assert_eq!(hash.bytes(), 0);
        let mut set = Set::default();
        set.insert(b"abc");
        set.insert(b"abc");
        assert_eq!(set.bytes(), 3);
        set.pop();
        assert_eq!(set.bytes(), 0);
    }
}
