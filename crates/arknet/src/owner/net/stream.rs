//! A connection as a source of the owner: its events, in order, to its callbacks or to the task that receives.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use super::endpoint::Endpoint;
use super::handler::Handler;
use super::line::Line;
use super::packed::Packed;
use super::record;
use super::session::{Session, State};
use crate::endpoint::CloseReason;
use crate::owner::core::Core;
use crate::owner::groups::{GroupRef, NONE};
use crate::owner::label::Label;
use crate::owner::source::{Class, Source, Ticket};

/// The name of all of them in journals and reports.
pub(super) const NAME: &str = "session";

/// Where a handler sits: of one session, or of all that follow one another of a client.
pub(super) type Seat<W> = Rc<RefCell<Option<Box<dyn Handler<W>>>>>;

/// Who receives.
pub(super) enum Style<W: 'static> {
    Callbacks(Seat<W>),
    /// The task that waits for the next event, if one does.
    Task(RefCell<Option<Waker>>),
}

/// What comes next.
#[derive(Debug)]
pub(super) enum Next {
    Writable,
    Message,
    Ended,
    Closed(CloseReason),
}

pub(super) struct Stream<W: 'static> {
    pub(super) core: Weak<Core<W>>,
    pub(super) endpoint: Rc<Endpoint<W>>,
    pub(super) session: Session,
    pub(super) line: Arc<Line>,
    pub(super) place: u32,
    group: Option<GroupRef>,
    member: Cell<u32>,
    label: Label,
    style: Style<W>,
    /// Tasks that wait for room to send.
    room: RefCell<Vec<Waker>>,
    ready: RefCell<Packed>,
    writable: Cell<bool>,
    ended: Cell<bool>,
    closed: RefCell<Option<CloseReason>>,
    /// How many of these the owner counts as ready.
    counted: Cell<usize>,
    numbers: Cell<u64>,
    delivered: Cell<(usize, usize)>,
    /// The operation in which the task took something: it takes one in each.
    took_in: Cell<u64>,
    /// Nobody wants more: its group was cancelled, or its task has dropped the connection.
    abandoned: Cell<bool>,
    /// Closed, and told.
    over: Cell<bool>,
    refused: Cell<bool>,
}

impl<W: 'static> Stream<W> {
    pub(super) fn new(
        core: &Rc<Core<W>>,
        endpoint: Rc<Endpoint<W>>,
        session: Session,
        line: Arc<Line>,
        place: u32,
        style: Style<W>,
    ) -> Rc<Self> {
        Rc::new(Self {
            core: Rc::downgrade(core),
            group: endpoint.group,
            label: endpoint.label,
            endpoint,
            session,
            line,
            place,
            member: Cell::new(NONE),
            style,
            room: RefCell::default(),
            ready: RefCell::default(),
            writable: Cell::new(false),
            ended: Cell::new(false),
            closed: RefCell::default(),
            counted: Cell::new(0),
            numbers: Cell::new(0),
            delivered: Cell::new((0, 0)),
            took_in: Cell::new(0),
            abandoned: Cell::new(false),
            over: Cell::new(false),
            refused: Cell::new(false),
        })
    }

    /// Joins its group; it ends with that.
    pub(super) fn join(&self, core: &Core<W>) {
        if let Ok(member) = core.join(self.group, self.place, NOBODY) {
            self.member.set(member);
        }
    }

    /// Takes the handler in that was made for it.
    pub(super) fn sit(&self, handler: Box<dyn Handler<W>>) {
        if let Style::Callbacks(seat) = &self.style {
            if self.abandoned.get() {
                crate::owner::posts::drop_contained([handler]);
            } else {
                *seat.borrow_mut() = Some(handler);
            }
        }
    }

    /// Runs one of the handler's callbacks, if there is a handler. One that panics cuts the session.
    pub(super) fn tell(
        &self,
        core: &Rc<Core<W>>,
        tell: impl FnOnce(&mut dyn Handler<W>, &mut W, &Session),
    ) {
        let Style::Callbacks(seat) = &self.style else {
            return;
        };
        let Some(mut handler) = seat.borrow_mut().take() else {
            return;
        };
        let mut done = false;
        core.call(self.label, self.group, |world| {
            tell(&mut *handler, world, &self.session);
            done = true;
        });
        if !done {
            self.session.abort();
        }
        if self.abandoned.get() {
            core.contain(self.label, self.group, || drop(handler));
        } else {
            *seat.borrow_mut() = Some(handler);
        }
    }
}

impl<W: 'static> Stream<W> {
    /// How many events wait here.
    fn held(&self) -> usize {
        self.ready.borrow().len()
            + usize::from(self.writable.get())
            + usize::from(self.ended.get())
            + usize::from(self.closed.borrow().is_some())
    }

    /// Whether somebody would take one now.
    fn is_wanted(&self) -> bool {
        match &self.style {
            Style::Callbacks(_) => true,
            Style::Task(waker) => self.abandoned.get() || waker.borrow().is_some(),
        }
    }

    /// The next event; a message stays at the front of the queue until it is let go.
    fn next(&self) -> Option<Next> {
        if self.writable.take() {
            return Some(Next::Writable);
        }
        if !self.ready.borrow().is_empty() {
            return Some(Next::Message);
        }
        if self.ended.take() {
            return Some(Next::Ended);
        }
        self.closed.borrow_mut().take().map(Next::Closed)
    }

    /// Lets the message at the front go.
    fn pop(&self) {
        let mut ready = self.ready.borrow_mut();
        let size = ready.pop();
        if let Some(storage) = ready.reclaim() {
            self.line.common.buffers.give_back(storage);
        }
        let (count, bytes) = self.delivered.get();
        self.delivered.set((count + 1, bytes.saturating_add(size)));
    }

    fn record(&self, core: &Core<W>, next: &Next) {
        let number = self.numbers.get();
        self.numbers.set(number + 1);
        if !core.recording.get() {
            return;
        }
        let payload = match next {
            Next::Message => {
                let ready = self.ready.borrow();
                record::message(ready.front().map_or(&[], |(_, message)| message))
            }
            Next::Writable => record::plain(record::WRITABLE),
            Next::Ended => record::plain(record::ENDED),
            Next::Closed(reason) => record::closed(reason),
        };
        let key = record::key(self.session.id().get(), number);
        core.record(Class::Network, NAME, key, Some(self.label), Some(payload));
    }

    /// Ends the source: nothing more comes.
    fn finish(&self) {
        self.session.set_state(State::Closed);
        self.over.set(true);
        self.line.told();
        self.endpoint.forget(self.session.id());
    }

    /// What has come is of no use: it is let go without a word.
    fn drop_next(&self) {
        match self.next() {
            Some(Next::Message) => self.pop(),
            Some(Next::Closed(_)) => self.finish(),
            Some(Next::Writable | Next::Ended) | None => {}
        }
    }

    // The task's side.

    /// The next event for the task, once in each operation of the owner. `take` gets a message where it lies.
    pub(super) fn poll_next<T>(
        &self,
        waker: &Waker,
        take: impl FnOnce(&[u8]) -> T,
    ) -> Option<Event<T>> {
        let Some(core) = self.core.upgrade() else {
            return Some(Event::Over);
        };
        let operation = core.operation.get();
        if self.took_in.get() != operation
            && let Some(next) = self.next()
        {
            self.took_in.set(operation);
            self.record(&core, &next);
            return Some(match next {
                // Told to those who wait for room, in `take_in`.
                Next::Writable => return None,
                Next::Message => {
                    let taken = {
                        let ready = self.ready.borrow();
                        ready.front().map(|(_, message)| take(message))
                    };
                    self.pop();
                    self.settle_now();
                    taken.map_or(Event::Over, Event::Message)
                }
                Next::Ended => Event::Ended,
                Next::Closed(reason) => {
                    self.finish();
                    core.resume(self.place);
                    Event::Closed(reason)
                }
            });
        }
        let held = self.held();
        if self.over.get() || (self.refused.get() && held == 0) {
            return Some(Event::Over);
        }
        self.wait(waker);
        if held > self.counted.get() {
            core.resume(self.place);
        }
        None
    }

    fn wait(&self, waker: &Waker) {
        let Style::Task(waiting) = &self.style else {
            return;
        };
        let mut waiting = waiting.borrow_mut();
        if !waiting.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *waiting = Some(waker.clone());
        }
    }

    /// Waits for room to send.
    pub(super) fn wait_for_room(&self, waker: &Waker) {
        let mut room = self.room.borrow_mut();
        if !room.iter().any(|known| known.will_wake(waker)) {
            room.push(waker.clone());
        }
    }

    /// The task has dropped the connection.
    pub(super) fn abandon(&self) {
        self.session.close();
        self.abandoned.set(true);
        if let Style::Task(waker) = &self.style {
            let waker = waker.borrow_mut().take();
            drop(waker);
        }
        if let Some(core) = self.core.upgrade() {
            core.resume(self.place);
        }
    }

    fn settle_now(&self) {
        let (count, bytes) = self.delivered.take();
        self.line.release(count, bytes);
    }
}

/// What a task is told.
pub(super) enum Event<T> {
    Message(T),
    Ended,
    Closed(CloseReason),
    /// There will be nothing more.
    Over,
}

/// A stream is the only operation of its source.
const NOBODY: Ticket = Ticket {
    slot: 0,
    generation: 0,
};

impl<W: 'static> Source<W> for Stream<W> {
    fn name(&self) -> &str {
        NAME
    }

    fn take_in(&self, _: Instant) -> usize {
        let taken = self.line.take(&mut self.ready.borrow_mut());
        if taken.writable || taken.closed.is_some() {
            for waker in self.room.borrow_mut().drain(..) {
                waker.wake();
            }
        }
        if taken.writable && matches!(self.style, Style::Callbacks(_)) {
            self.writable.set(true);
        }
        if taken.ended {
            self.ended.set(true);
        }
        if let Some(reason) = taken.closed {
            // What is sent from here on would be lost.
            self.session.set_state(State::Closed);
            *self.closed.borrow_mut() = Some(reason);
        }
        if !self.is_wanted() {
            return 0;
        }
        let more = self.held().saturating_sub(self.counted.get());
        self.counted.set(self.counted.get() + more);
        more
    }

    fn ready(&self) -> usize {
        self.counted.get()
    }

    fn deliver(&self, core: &Rc<Core<W>>) -> bool {
        let counted = self.counted.get();
        if counted == 0 || !self.is_wanted() {
            return false;
        }
        self.counted.set(counted - 1);
        if self.abandoned.get() {
            self.drop_next();
            return true;
        }
        if let Style::Task(waiting) = &self.style {
            let waker = waiting.borrow_mut().take();
            if let Some(waker) = waker {
                core.wake_now(waker);
            }
            return true;
        }
        let Some(next) = self.next() else {
            return true;
        };
        match next {
            // Closed from this side: what else has arrived is discarded, the end is told.
            Next::Message if self.session.state() == State::Closing => self.pop(),
            Next::Message => {
                self.record(core, &Next::Message);
                let ready = self.ready.borrow();
                if let Some((_, message)) = ready.front() {
                    self.tell(core, |handler, world, session| {
                        handler.on_message(world, session, message);
                    });
                }
                drop(ready);
                self.pop();
            }
            Next::Writable => {
                self.record(core, &Next::Writable);
                self.tell(core, |handler, world, session| {
                    handler.on_writable(world, session);
                });
            }
            Next::Ended => {
                self.record(core, &Next::Ended);
                if self.session.state() != State::Closing {
                    self.tell(core, |handler, world, session| {
                        handler.on_end(world, session);
                    });
                }
            }
            Next::Closed(reason) => {
                self.record(core, &Next::Closed(reason.clone()));
                self.session.set_state(State::Closed);
                self.tell(core, |handler, world, session| {
                    handler.on_close(world, session, &reason);
                });
                self.finish();
            }
        }
        true
    }

    fn settle(&self) {
        self.settle_now();
    }

    fn withdraw(&self) -> usize {
        let wanted = if self.is_wanted() { self.held() } else { 0 };
        let excess = self.counted.get().saturating_sub(wanted);
        self.counted.set(self.counted.get() - excess);
        excess
    }

    fn bring_forward(&self, key: u64, payload: Option<&[u8]>) -> bool {
        if self.over.get() || !record::is_of(key, self.session.id().get()) {
            return false;
        }
        match payload.and_then(record::read) {
            Some(record::Recorded::Message(message)) => {
                self.ready.borrow_mut().push(0, message);
            }
            Some(record::Recorded::Writable) => self.writable.set(true),
            Some(record::Recorded::Ended) => self.ended.set(true),
            Some(record::Recorded::Closed(reason)) => {
                *self.closed.borrow_mut() = Some(reason);
            }
            None => return false,
        }
        self.counted.set(self.counted.get() + 1);
        true
    }

    fn live(&self) {
        // Replayed, it has no other end: it ends as if it had been cut.
        if self.line.handle.is_none() {
            self.line.close(CloseReason::Aborted);
        }
    }

    fn refuse(&self) {
        self.refused.set(true);
        self.line.refuse();
        if let Style::Task(waiting) = &self.style {
            let waker = waiting.borrow_mut().take();
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    fn unfinished(&self) -> usize {
        // A task that receives is waited for by itself.
        if matches!(self.style, Style::Task(_)) || self.abandoned.get() {
            return 0;
        }
        let waiting = self.line.count().saturating_sub(self.delivered.get().0);
        waiting.max(self.held())
    }

    fn list_unfinished(&self, abandoned: &mut dyn FnMut(&str, Option<Label>, usize)) {
        let count = Source::<W>::unfinished(self);
        if count > 0 {
            abandoned(NAME, Some(self.label), count);
        }
    }

    fn cancel(&self, _: Ticket) {
        self.member.set(NONE);
        self.abandoned.set(true);
        self.session.close();
        self.line.discard();
        if let Style::Callbacks(seat) = &self.style {
            // Taken out while it runs: then it is dropped when it comes back.
            let handler = seat.try_borrow_mut().ok().and_then(|mut seat| seat.take());
            crate::owner::posts::drop_contained(handler);
        }
        if let Some(core) = self.core.upgrade() {
            core.resume(self.place);
        }
    }

    fn end(&self) {
        if !self.over.get() {
            self.session.abort();
        }
        self.session.set_state(State::Closed);
        Source::<W>::cancel(self, NOBODY);
        self.room.borrow_mut().clear();
        if let Style::Task(waiting) = &self.style {
            let waker = waiting.borrow_mut().take();
            drop(waker);
        }
    }

    fn is_over(&self) -> bool {
        self.over.get() && self.counted.get() == 0
    }

    fn over(&self, core: &Core<W>) {
        core.leave(self.member.replace(NONE));
        if let Style::Callbacks(seat) = &self.style
            && !self.endpoint.in_turn()
        {
            let handler = seat.borrow_mut().take();
            core.contain(self.label, self.group, || drop(handler));
        }
    }
}
