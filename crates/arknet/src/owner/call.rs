//! An operation as a future.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::error::{FromLost, Lost};
use super::label::Label;
use super::service::{Service, Then};
use super::source::Ticket;

/// The result of an operation, to be awaited by a task of the owner: see [`Service::call`].
pub struct Call<W: 'static, Op: Send + 'static, Out: FromLost + 'static> {
    service: Service<W, Op, Out>,
    label: Label,
    state: State<Op>,
}

enum State<Op> {
    Unsent(Op),
    /// Its number in the queue of those that wait for room.
    Queued(Op, u64),
    Sent(Ticket),
    Done,
}

// Nothing in it is ever pinned.
impl<W, Op: Send, Out: FromLost> Unpin for Call<W, Op, Out> {}

impl<W: 'static, Op: Send + 'static, Out: FromLost + 'static> Call<W, Op, Out> {
    pub(crate) fn new(service: Service<W, Op, Out>, operation: Op, label: Label) -> Self {
        Self {
            service,
            label,
            state: State::Unsent(operation),
        }
    }

    pub(crate) fn sent(service: Service<W, Op, Out>, ticket: Ticket, label: Label) -> Self {
        Self {
            service,
            label,
            state: State::Sent(ticket),
        }
    }

    /// Submits, or waits for room.
    fn submit(&mut self, operation: Op, cx: &Context<'_>) -> Result<Ticket, Option<Out>> {
        if self.service.is_closed() {
            return Err(Some(Out::from_lost(Lost::Refused)));
        }
        let waker = || cx.waker().clone();
        if !self.service.inner().has_room() {
            let number = self.service.inner().queue(waker());
            self.state = State::Queued(operation, number);
            return Err(None);
        }
        let submitted = self
            .service
            .submit(operation, None, self.label, || Then::Wait {
                waker: Some(waker()),
                output: None,
            });
        submitted.map_err(|_| Some(Out::from_lost(Lost::Refused)))
    }
}

impl<W: 'static, Op: Send + 'static, Out: FromLost + 'static> Future for Call<W, Op, Out> {
    type Output = Out;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Out> {
        let operation = match std::mem::replace(&mut self.state, State::Done) {
            State::Sent(ticket) => {
                return match self.service.inner().poll_output(ticket, cx.waker()) {
                    Some(Some(output)) => Poll::Ready(output),
                    Some(None) => {
                        self.state = State::Sent(ticket);
                        Poll::Pending
                    }
                    // The owner has ended.
                    None => Poll::Ready(Out::from_lost(Lost::Ended)),
                };
            }
            // Polled after its end: there is nothing more to come.
            State::Done => return Poll::Pending,
            State::Queued(operation, number) => {
                if self.service.inner().is_queued(number, cx.waker()) && !self.service.is_closed() {
                    self.state = State::Queued(operation, number);
                    return Poll::Pending;
                }
                operation
            }
            // Nobody overtakes those that wait.
            State::Unsent(operation) if !self.service.inner().nobody_waits() => {
                let number = self.service.inner().queue(cx.waker().clone());
                self.state = State::Queued(operation, number);
                return Poll::Pending;
            }
            State::Unsent(operation) => operation,
        };
        match self.submit(operation, cx) {
            Ok(ticket) => {
                self.state = State::Sent(ticket);
                Poll::Pending
            }
            Err(None) => Poll::Pending,
            Err(Some(output)) => Poll::Ready(output),
        }
    }
}

impl<W: 'static, Op: Send + 'static, Out: FromLost + 'static> Drop for Call<W, Op, Out> {
    fn drop(&mut self) {
        match &self.state {
            State::Sent(ticket) => self.service.inner().forget(*ticket),
            State::Queued(_, number) => self.service.inner().leave_queue(*number),
            State::Unsent(_) | State::Done => {}
        }
    }
}

impl<W: 'static, Op: Send + 'static, Out: FromLost + 'static> std::fmt::Debug for Call<W, Op, Out> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call")
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}
