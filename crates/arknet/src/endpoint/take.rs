//! The ways in which async code takes messages: to own one, to look at one where it lies, or to look at all of them.

use std::ops::ControlFlow;

use super::core::Core;
use super::message::Message;
use super::outbox::Outbox;
use crate::drive::stream::MESSAGES_PER_TURN;

/// Takes the next message from a connection.
pub(super) trait Take {
    type Taken;

    /// Takes the next whole message that lies in the receive buffer.
    fn take_buffered(&mut self, core: &mut Core) -> Option<Self::Taken>;

    /// Takes a message that waited in the inbox.
    fn take_queued(&mut self, message: Message, outbox: &mut Outbox<'_>) -> Self::Taken;
}

/// Takes a message to own it.
pub(super) struct Own;

impl Take for Own {
    type Taken = Message;

    #[inline]
    fn take_buffered(&mut self, core: &mut Core) -> Option<Message> {
        core.take_message()
    }

    fn take_queued(&mut self, message: Message, _: &mut Outbox<'_>) -> Message {
        message
    }
}

/// Shows a message to a function, once.
pub(super) struct Look<F, T> {
    function: Option<F>,
    pub(super) output: Option<T>,
}

impl<F: FnOnce(&[u8], &mut Outbox<'_>) -> T, T> Look<F, T> {
    #[inline]
    pub(super) fn new(function: F) -> Self {
        Self {
            function: Some(function),
            output: None,
        }
    }

    #[inline]
    fn show(&mut self, message: &[u8], outbox: &mut Outbox<'_>) {
        if let Some(function) = self.function.take() {
            self.output = Some(function(message, outbox));
        }
    }
}

impl<F: FnOnce(&[u8], &mut Outbox<'_>) -> T, T> Take for Look<F, T> {
    type Taken = ();

    #[inline]
    fn take_buffered(&mut self, core: &mut Core) -> Option<()> {
        let range = core.next_message()?;
        let Core {
            session, inbound, ..
        } = core;
        self.show(inbound.message(range), &mut Outbox::here(session));
        Some(())
    }

    fn take_queued(&mut self, message: Message, outbox: &mut Outbox<'_>) {
        self.show(&message, outbox);
    }
}

/// What a look at all messages came to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Seen {
    /// One message of the inbox; there may be more.
    One,
    /// So many that the others have their turn.
    Enough,
    /// The function has what it wanted.
    Done,
}

/// Shows messages to a function, until it has what it wanted.
pub(super) struct Each<F, T> {
    function: F,
    /// Messages of this turn that may still be shown.
    budget: usize,
    pub(super) output: Option<T>,
}

impl<F: FnMut(&[u8], &mut Outbox<'_>) -> ControlFlow<T>, T> Each<F, T> {
    #[inline]
    pub(super) fn new(function: F) -> Self {
        Self {
            function,
            budget: MESSAGES_PER_TURN,
            output: None,
        }
    }

    #[inline]
    pub(super) fn begin_turn(&mut self) {
        self.budget = MESSAGES_PER_TURN;
    }

    #[inline(always)]
    fn show(&mut self, message: &[u8], outbox: &mut Outbox<'_>) -> Seen {
        self.budget = self.budget.saturating_sub(1);
        match (self.function)(message, outbox) {
            ControlFlow::Continue(()) if self.budget == 0 => Seen::Enough,
            ControlFlow::Continue(()) => Seen::One,
            ControlFlow::Break(output) => {
                self.output = Some(output);
                Seen::Done
            }
        }
    }
}

impl<F: FnMut(&[u8], &mut Outbox<'_>) -> ControlFlow<T>, T> Take for Each<F, T> {
    type Taken = Seen;

    #[inline]
    fn take_buffered(&mut self, core: &mut Core) -> Option<Seen> {
        loop {
            let range = core.next_message()?;
            let Core {
                session, inbound, ..
            } = core;
            let seen = self.show(inbound.message(range), &mut Outbox::here(session));
            if seen != Seen::One {
                return Some(seen);
            }
        }
    }

    fn take_queued(&mut self, message: Message, outbox: &mut Outbox<'_>) -> Seen {
        self.show(&message, outbox)
    }
}
