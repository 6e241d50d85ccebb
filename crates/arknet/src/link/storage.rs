//! Storage of what is written for a moment, used again and again: a command that is being built.

use std::cell::RefCell;

/// Commands that one thread holds at a time, mostly: a batch that is being built. More of them allocate.
const MOST_KEPT: usize = 64;

/// A buffer that held a large value is not kept for commands of some ten bytes.
const LARGEST_KEPT: usize = 4 << 10;

/// Room for a command with a key and a short value.
const FIRST_CAPACITY: usize = 128;

thread_local! {
    static KEPT: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// An empty buffer. On a thread that is ending, a new one.
#[inline]
pub(crate) fn lend() -> Vec<u8> {
    let kept = KEPT.try_with(|kept| kept.borrow_mut().pop());
    kept.ok()
        .flatten()
        .unwrap_or_else(|| Vec::with_capacity(FIRST_CAPACITY))
}

/// Keeps a buffer for the next command, unless it is large or there are enough.
#[inline]
pub(crate) fn give_back(mut buffer: Vec<u8>) {
    if buffer.capacity() == 0 || buffer.capacity() > LARGEST_KEPT {
        return;
    }
    buffer.clear();
    // On a thread that is ending there is nowhere to keep it.
    let _ = KEPT.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        if kept.len() < MOST_KEPT {
            kept.push(buffer);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_is_used_again_unless_it_is_large() {
        let mut buffer = lend();
        buffer.extend_from_slice(b"what a command was");
        let address = buffer.as_ptr();
        give_back(buffer);
        let again = lend();
        assert_eq!(again.as_ptr(), address);
        assert!(again.is_empty());

        give_back(Vec::with_capacity(LARGEST_KEPT + 1));
        assert!(lend().capacity() <= LARGEST_KEPT);
    }

    #[test]
    fn no_more_is_kept_than_the_bound() {
        for _ in 0..2 * MOST_KEPT {
            give_back(Vec::with_capacity(1));
        }
        KEPT.with(|kept| assert_eq!(kept.borrow().len(), MOST_KEPT));
    }
}
