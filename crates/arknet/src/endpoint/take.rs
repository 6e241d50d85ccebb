//! The two ways in which async code takes a message: to own it, or to look at it where it lies.

use super::core::Core;
use super::message::Message;
use super::outbox::Outbox;

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
