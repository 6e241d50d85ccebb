//! What an owner delivers from: the inside of services, inlets, timers, tasks and posts.

use std::rc::Rc;
use std::time::Instant;

use super::core::Core;
use super::label::Label;

/// The five sources that an update takes in turn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Class {
    Network,
    Databases,
    Timers,
    Tasks,
    Posts,
}

pub(crate) const CLASSES: usize = 5;

impl Class {
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// One operation of a source: a slot of its own, and the generation that tells it from those before and after it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Ticket {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

/// A queue of things that are ready for the owner. All methods run on the owner's thread.
///
/// What becomes ready during an update must not be in the ready queue before [`take_in`](Self::take_in): that is what
/// makes an update end.
pub(crate) trait Source<W> {
    fn name(&self) -> &str;

    /// Moves what has come in since the last call into the ready queue; returns how much that was.
    fn take_in(&self, now: Instant) -> usize;

    /// How much is in the ready queue.
    fn ready(&self) -> usize;

    /// Delivers the first of the ready queue, if there is one. It may turn out to concern nobody any more.
    fn deliver(&self, core: &Rc<Core<W>>) -> bool;

    /// What it had counted as ready, and is no longer, since nobody wants it now; asked after each visit.
    fn withdraw(&self) -> usize {
        0
    }

    /// A visit is over: gives back the room of what was delivered.
    fn settle(&self) {}

    /// For replay: puts the item with this key at the head of the ready queue, making it of `payload` where results are
    /// kept in the journal. False where it has not come yet.
    fn bring_forward(&self, key: u64, payload: Option<&[u8]>) -> bool;

    /// The journal has been replayed to its end: from here on results come from outside again.
    fn live(&self) {}

    /// Takes nothing more from outside of the owner.
    fn refuse(&self) {}

    /// Operations that were accepted and have not been delivered.
    fn unfinished(&self) -> usize;

    /// The labels of those, with how many there are of each, added to `abandoned`.
    fn list_unfinished(&self, abandoned: &mut dyn FnMut(&str, Option<Label>, usize));

    /// Forgets what would be delivered for this operation; called when its group is cancelled.
    fn cancel(&self, ticket: Ticket);

    /// Drops everything. The owner has ended.
    fn end(&self);

    /// Nothing will ever come from it again.
    fn is_over(&self) -> bool {
        false
    }

    /// It is let go because it is over.
    fn over(&self, _: &Core<W>) {}
}
