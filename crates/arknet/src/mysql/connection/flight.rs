//! Requests on their way: to whom each belongs, and whether any byte of it has left.

use std::collections::VecDeque;

use arknet_proto::mysql::answer::Conversation;
use arknet_proto::mysql::command::Request;

/// To whom an answer belongs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Owner {
    /// To who is waiting: a statement of his is being prepared.
    Prepare,
    /// To who is waiting: the answer to the next of his requests.
    Answer,
    /// To who is waiting: how large a packet may be, which he has to know first.
    Limit,
    /// To a caller who has given up.
    Nobody,
    /// To the reset of the session.
    Reset,
    /// To the end of what a transaction has left behind.
    Undo,
    /// To none: a statement is forgotten by the server.
    Close(u32),
}

impl Owner {
    /// Whether it is the caller's, who can still take it back.
    fn is_caller(self) -> bool {
        matches!(self, Self::Prepare | Self::Answer | Self::Limit)
    }
}

/// What was written and not answered, oldest first.
///
/// A request is told to the [`Conversation`] when its first byte leaves, so that one of which none has left can be taken back.
#[derive(Debug, Default)]
pub(super) struct Flight {
    /// Nothing of these has left.
    waiting: VecDeque<Entry>,
    /// The answers to these are to come.
    begun: VecDeque<Owner>,
    /// Bytes of all requests so far.
    written: u64,
    /// Of which so many have left.
    handed_over: u64,
}

#[derive(Debug)]
struct Entry {
    request: Request,
    owner: Owner,
    /// Where it begins among all bytes.
    from: u64,
}

impl Flight {
    /// A request was written behind all others.
    #[inline]
    pub(super) fn push(&mut self, request: Request, owner: Owner) {
        let from = self.written;
        self.written = from.saturating_add(request.wire_len() as u64);
        self.waiting.push_back(Entry {
            request,
            owner,
            from,
        });
    }

    /// Something was written that is no request, behind all of them.
    pub(super) fn add_bytes(&mut self, bytes: usize) {
        self.written = self.written.saturating_add(bytes as u64);
    }

    /// So many bytes more have left, and `ahead` bytes behind them are bound to.
    #[inline]
    pub(super) fn hand_over(
        &mut self,
        bytes: usize,
        ahead: usize,
        conversation: &mut Conversation,
    ) {
        self.handed_over = self.handed_over.saturating_add(bytes as u64);
        let left = self.handed_over.saturating_add(ahead as u64);
        while let Some(entry) = self.waiting.pop_front_if(|entry| entry.from < left) {
            conversation.submit(entry.request);
            if entry.request.is_answered() {
                self.begun.push_back(entry.owner);
            }
        }
    }

    /// To whom the next answer belongs; `None` if none is to come.
    #[inline]
    pub(super) fn front(&self) -> Option<Owner> {
        self.begun.front().copied()
    }

    /// An answer is complete.
    #[inline]
    pub(super) fn pop(&mut self) {
        self.begun.pop_front();
    }

    /// Whether nothing is to be sent or answered.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.begun.is_empty() && self.waiting.is_empty()
    }

    /// Those whose answers are to come, or that wait to be sent.
    pub(super) fn owners(&self) -> impl DoubleEndedIterator<Item = Owner> {
        let waiting = self.waiting.iter().map(|entry| entry.owner);
        self.begun.iter().copied().chain(waiting)
    }

    /// Whether something of a caller is there still.
    pub(super) fn has_callers(&self) -> bool {
        self.owners().any(Owner::is_caller)
    }

    /// How many of the caller's requests the server may have.
    pub(super) fn begun_answers(&self) -> usize {
        let answers = self.begun.iter().filter(|owner| **owner == Owner::Answer);
        answers.count()
    }

    /// Takes back what the caller has written last and nothing of has left. Statements that were to be forgotten with it are
    /// given to `closes`. Returns how many bytes are to be taken off the end.
    pub(super) fn retract(&mut self, mut closes: impl FnMut(u32)) -> u64 {
        let before = self.written;
        while let Some(entry) = self.waiting.back() {
            match entry.owner {
                Owner::Close(statement) => closes(statement),
                owner if owner.is_caller() => {}
                _ => break,
            }
            self.written = entry.from;
            self.waiting.pop_back();
        }
        before - self.written
    }

    /// The caller has given up: what comes for him is nobody's.
    pub(super) fn disown(&mut self) {
        let begun = self.begun.iter_mut();
        for owner in begun.filter(|owner| owner.is_caller()) {
            *owner = Owner::Nobody;
        }
    }
}
