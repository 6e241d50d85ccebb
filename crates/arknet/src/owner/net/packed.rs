//! Byte strings behind one another in one buffer: what one thread hands to another without an allocation for each.

/// Kind and length stand before each item.
const HEAD: usize = 8;

/// Bits of the head that are the kind.
const KIND_BITS: u32 = 8;

/// A queue of byte strings, each with a kind.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    bytes: Vec<u8>,
    read: usize,
    items: usize,
}

impl Packed {
    pub(crate) fn len(&self) -> usize {
        self.items
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items == 0
    }

    /// Bytes that wait, with what stands before each item.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len().saturating_sub(self.read)
    }

    /// What an item counts as.
    pub(crate) fn size_of(item: &[u8]) -> usize {
        item.len().saturating_add(HEAD)
    }

    /// Whether it has no storage.
    pub(crate) fn is_bare(&self) -> bool {
        self.bytes.capacity() == 0
    }

    /// Storage for the items to come; only an empty one takes it.
    pub(crate) fn lend(&mut self, storage: Vec<u8>) {
        if self.is_empty() {
            self.bytes = storage;
            self.bytes.clear();
            self.read = 0;
        }
    }

    /// The storage of an empty one.
    pub(crate) fn reclaim(&mut self) -> Option<Vec<u8>> {
        if !self.is_empty() || self.is_bare() {
            return None;
        }
        self.read = 0;
        Some(std::mem::take(&mut self.bytes))
    }

    #[inline]
    pub(crate) fn push(&mut self, kind: u8, item: &[u8]) {
        // No item has 2^56 bytes.
        let head = ((item.len() as u64) << KIND_BITS) | u64::from(kind);
        self.bytes.extend_from_slice(&head.to_le_bytes());
        self.bytes.extend_from_slice(item);
        self.items += 1;
    }

    /// The first item.
    #[inline]
    pub(crate) fn front(&self) -> Option<(u8, &[u8])> {
        let (head, rest) = self.bytes.get(self.read..)?.split_first_chunk::<HEAD>()?;
        let head = u64::from_le_bytes(*head);
        let kind = u8::try_from(head & ((1 << KIND_BITS) - 1)).ok()?;
        let length = usize::try_from(head >> KIND_BITS).ok()?;
        Some((kind, rest.get(..length)?))
    }

    /// Lets the first item go; returns what it counted as.
    #[inline]
    pub(crate) fn pop(&mut self) -> usize {
        let Some((_, item)) = self.front() else {
            return 0;
        };
        let size = Self::size_of(item);
        self.read += size;
        self.items = self.items.saturating_sub(1);
        if self.items == 0 {
            self.clear();
        }
        size
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.read = 0;
        self.items = 0;
    }

    /// Moves all items of `other` behind its own: the buffers change places where it is empty.
    pub(crate) fn append(&mut self, other: &mut Self) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            std::mem::swap(self, other);
            other.clear();
            return;
        }
        // What has been read is let go now and then, so that a queue that never runs dry does not grow for ever.
        if self.read >= self.bytes.len() / 2 {
            self.bytes.drain(..self.read);
            self.read = 0;
        }
        if let Some(items) = other.bytes.get(other.read..) {
            self.bytes.extend_from_slice(items);
        }
        self.items += other.items;
        other.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(queue: &mut Packed) -> Vec<(u8, Vec<u8>)> {
        let mut all = Vec::new();
        while let Some((kind, item)) = queue.front() {
            all.push((kind, item.to_vec()));
            queue.pop();
        }
        all
    }

    #[test]
    fn items_come_out_as_they_went_in() {
        let mut queue = Packed::default();
        queue.push(0, b"one");
        queue.push(3, b"");
        queue.push(1, &[7; 300]);
        assert_eq!((queue.len(), queue.size()), (3, 303 + 3 * HEAD));
        let expected = vec![(0, b"one".to_vec()), (3, Vec::new()), (1, vec![7; 300])];
        assert_eq!(drained(&mut queue), expected);
        assert_eq!((queue.pop(), queue.len(), queue.size()), (0, 0, 0));
    }

    #[test]
    fn an_empty_one_changes_places_and_a_full_one_copies() {
        let (mut into, mut from) = (Packed::default(), Packed::default());
        from.push(0, b"a");
        let address = from.bytes.as_ptr();
        into.append(&mut from);
        assert_eq!(into.bytes.as_ptr(), address);
        assert!(from.is_empty());
        from.push(0, b"b");
        into.append(&mut from);
        assert_eq!(into.len(), 2);
        assert_eq!(drained(&mut into), [(0, b"a".to_vec()), (0, b"b".to_vec())]);
        assert!(into.reclaim().is_some() && into.is_bare());
    }

    #[test]
    fn one_that_never_runs_dry_stays_small() {
        let (mut into, mut from) = (Packed::default(), Packed::default());
        into.push(0, &[1; 100]);
        for _ in 0..10_000 {
            from.push(0, &[2; 100]);
            into.append(&mut from);
            into.pop();
        }
        assert_eq!(into.len(), 1);
        assert!(into.bytes.capacity() < 4096, "{}", into.bytes.capacity());
    }
}
