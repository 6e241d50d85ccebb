//! What stands between a service and those who do its work, on other threads.

use std::hash::{Hash, Hasher};

use super::source::Ticket;

/// An operation on its way.
pub(crate) struct Job<Op> {
    pub(crate) ticket: Ticket,
    pub(crate) key: Option<u64>,
    pub(crate) operation: Op,
}

/// A result on its way back.
pub(crate) struct Completion<Out> {
    pub(crate) ticket: Ticket,
    pub(crate) output: Out,
    /// How much it holds, against the bound of bytes.
    pub(crate) bytes: usize,
}

impl<Out> Completion<Out> {
    pub(crate) fn new(ticket: Ticket, output: Out, bytes: usize) -> Self {
        Self {
            ticket,
            output,
            bytes,
        }
    }
}

/// Those who do the work: for each job there will be one completion in the service's mailbox, unless the owner has ended.
/// Jobs of one key are done one after the other, in the order in which they came.
///
/// Called on the owner's thread, so that nothing here may wait.
pub(crate) trait Dispatch<Op> {
    /// Takes a job, or gives it back because nobody works any more.
    fn dispatch(&self, job: Job<Op>) -> Result<(), Job<Op>>;

    /// Takes a job back that has not begun; it completes as withdrawn.
    fn withdraw(&self, key: Option<u64>, ticket: Ticket);

    /// Nothing more will come. What is under way is finished.
    fn close(&self);
}

/// What orders operations: numbers as they are, anything else by its hash. Two keys with one hash are in one order, which
/// costs nothing but time.
pub trait Ordered {
    /// The key as a number.
    fn key(&self) -> u64;
}

macro_rules! numbers {
    ($($number:ty),*) => { $(
        impl Ordered for $number {
            fn key(&self) -> u64 {
                #[allow(clippy::cast_sign_loss, clippy::cast_lossless, reason = "any injection does")]
                { *self as u64 }
            }
        }
    )* };
}

numbers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

impl Ordered for str {
    fn key(&self) -> u64 {
        hash_of(self)
    }
}

impl Ordered for &str {
    fn key(&self) -> u64 {
        hash_of(self)
    }
}

impl Ordered for String {
    fn key(&self) -> u64 {
        hash_of(self.as_str())
    }
}

impl Ordered for [u8] {
    fn key(&self) -> u64 {
        hash_of(self)
    }
}

impl<A: Hash, B: Hash> Ordered for (A, B) {
    fn key(&self) -> u64 {
        hash_of(self)
    }
}

/// The same in every run, so that a replay finds the same lane.
fn hash_of<T: Hash + ?Sized>(value: &T) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
