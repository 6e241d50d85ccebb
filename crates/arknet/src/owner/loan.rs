//! The world, lent to callbacks and tasks for the time of an update.
//!
//! A task cannot hold `&mut World` across an await, so it asks for it each time, and the borrow ends with the closure
//! that it hands over. The pointer between the two is the one place in the owner that needs `unsafe`: without it the
//! world would have to be moved in and out, or each access would have to be a boxed closure and an await of its own.

use std::cell::Cell;
use std::ptr::NonNull;

/// A place for the world. It is not `Send`, and so never seen by another thread.
pub(crate) struct Loan<W> {
    world: Cell<Option<NonNull<W>>>,
}

impl<W> Loan<W> {
    pub(crate) fn new() -> Self {
        Self {
            world: Cell::new(None),
        }
    }

    /// Lends the world while `during` runs, and takes it back whatever happens.
    pub(crate) fn lend<R>(&self, world: &mut W, during: impl FnOnce() -> R) -> R {
        let _restore = Restore {
            loan: self,
            world: self.world.replace(Some(NonNull::from(world))),
        };
        during()
    }

    /// The world, unless it is not lent, or somebody has it already.
    #[inline]
    pub(crate) fn with<R>(&self, with: impl FnOnce(&mut W) -> R) -> Option<R> {
        let mut world = self.world.take()?;
        let _restore = Restore {
            loan: self,
            world: Some(world),
        };
        // SAFETY: the pointer was made from the `&mut W` that `lend` holds for as long as the pointer can be found here:
        // its `Restore` removes it before that borrow ends. It was taken out of the cell, and comes back only after the
        // closure, so that nobody else has a reference. `Cell` and `NonNull` keep all of it on one thread.
        Some(with(unsafe { world.as_mut() }))
    }
}

/// Puts back what was there, on unwinding too.
struct Restore<'a, W> {
    loan: &'a Loan<W>,
    world: Option<NonNull<W>>,
}

impl<W> Drop for Restore<'_, W> {
    fn drop(&mut self) {
        self.loan.world.set(self.world.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_has_the_world_twice() {
        let loan = Loan::new();
        assert!(loan.with(|_: &mut u32| ()).is_none());
        let mut world = 1;
        loan.lend(&mut world, || {
            loan.with(|world| {
                *world += 1;
                assert!(loan.with(|_| ()).is_none());
            });
            assert_eq!(loan.with(|world| *world), Some(2));
        });
        assert!(loan.with(|_| ()).is_none());
        assert_eq!(world, 2);
    }

    #[test]
    fn the_world_comes_back_after_a_panic() {
        let loan = Loan::new();
        let mut world = 1;
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            loan.lend(&mut world, || {
                loan.with(|_| std::panic::panic_any("expected"));
            });
        }));
        assert!(caught.is_err());
        assert!(loan.with(|_| ()).is_none());
        loan.lend(&mut world, || assert!(loan.with(|_| ()).is_some()));
    }
}
