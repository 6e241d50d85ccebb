//! A message that async code owns.

use std::cell::RefCell;
use std::fmt;
use std::ops::Deref;

use bytes::Bytes;

/// Messages up to this size are copied out of the receive buffer. A copy of 1 KiB takes 15 ns; sharing the buffer takes
/// two atomic operations that wait for all stores before them, 45 ns together, and holds 64 KiB for as long as the
/// message lives.
pub(super) const COPIED_MAX: usize = 2 * 1024;

/// Storage that a thread keeps for messages that are copied: what a task holds at a time, with some to spare.
const KEPT: usize = 64;

thread_local! {
    #[allow(clippy::vec_box, reason = "a box is what a message holds: it is handed over, not its contents")]
    static POOL: RefCell<Vec<Box<Storage>>> = const { RefCell::new(Vec::new()) };
}

#[derive(Clone, Default)]
struct Storage {
    copied: Vec<u8>,
    /// What is larger shares the receive buffer.
    shared: Option<Bytes>,
}

/// A received message: bytes, by [`Deref`].
///
/// A small one is a copy in storage that is used again when it is dropped, on whatever thread; a large one shares the
/// receive buffer.
#[derive(Clone)]
pub struct Message(Option<Box<Storage>>);

impl Message {
    /// A copy.
    #[inline]
    pub(super) fn copy(bytes: &[u8]) -> Self {
        let pooled = POOL.with_borrow_mut(Vec::pop);
        let mut storage = pooled.unwrap_or_else(Self::storage);
        storage.copied.extend_from_slice(bytes);
        Self(Some(storage))
    }

    #[cold]
    fn storage() -> Box<Storage> {
        Box::new(Storage {
            copied: Vec::with_capacity(COPIED_MAX),
            shared: None,
        })
    }

    /// Shares the bytes.
    pub(super) fn share(bytes: Bytes) -> Self {
        Self(Some(Box::new(Storage {
            copied: Vec::new(),
            shared: Some(bytes),
        })))
    }

    /// A copy of any size.
    #[cfg(feature = "owner")]
    pub(crate) fn of(bytes: &[u8]) -> Self {
        if bytes.len() <= COPIED_MAX {
            Self::copy(bytes)
        } else {
            Self::share(Bytes::copy_from_slice(bytes))
        }
    }

    /// The bytes, if they are shared.
    #[inline]
    pub(super) fn shared(&self) -> Option<&Bytes> {
        self.0.as_ref()?.shared.as_ref()
    }

    /// The bytes as an owned value that can be cloned without a copy.
    pub fn into_bytes(mut self) -> Bytes {
        let Some(storage) = self.0.take() else {
            return Bytes::new();
        };
        match storage.shared {
            Some(shared) => shared,
            None => storage.copied.into(),
        }
    }

    /// The bytes as a vector.
    pub fn into_vec(self) -> Vec<u8> {
        self.into_bytes().into()
    }
}

impl Deref for Message {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Some(storage) => match &storage.shared {
                None => &storage.copied,
                Some(shared) => shared,
            },
            None => &[],
        }
    }
}

impl Drop for Message {
    #[inline]
    fn drop(&mut self) {
        let Some(mut storage) = self.0.take() else {
            return;
        };
        if storage.copied.capacity() == 0 {
            return;
        }
        storage.copied.clear();
        // While the thread ends there is no pool any more.
        let _ = POOL.try_with(|pool| {
            let mut pool = pool.borrow_mut();
            if pool.len() < KEPT {
                pool.push(storage);
            }
        });
    }
}

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Message> for Bytes {
    fn from(message: Message) -> Self {
        message.into_bytes()
    }
}

impl From<Message> for Vec<u8> {
    fn from(message: Message) -> Self {
        message.into_vec()
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for Message {
    fn eq(&self, other: &T) -> bool {
        **self == *other.as_ref()
    }
}

impl Eq for Message {}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_message_is_a_copy_whose_storage_is_used_again() {
        let first = Message::copy(b"hello");
        let address = first.as_ptr();
        assert_eq!(first, b"hello");
        drop(first);
        let second = Message::copy(b"again");
        assert_eq!((second.as_ptr(), &second[..]), (address, &b"again"[..]));
        assert_eq!(second.clone().into_vec(), b"again");
        assert_eq!(second.into_bytes(), "again");
    }

    #[test]
    fn a_large_message_shares_its_bytes() {
        let bytes = Bytes::from(vec![7; COPIED_MAX + 1]);
        let message = Message::share(bytes.clone());
        assert_eq!(message.as_ptr(), bytes.as_ptr());
        assert_eq!(message.into_bytes().as_ptr(), bytes.as_ptr());
    }

    #[test]
    fn it_is_shown_as_bytes() {
        assert_eq!(format!("{:?}", Message::copy(b"a\n\xff")), r#"b"a\n\xff""#);
    }
}
