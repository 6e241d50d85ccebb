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

    fn submit(&mut self, operation: Op, cx: &Context<'_>) -> Poll<Out> {
        let waker = || cx.waker().clone();
        let submitted = self
            .service
            .submit(operation, None, self.label, || Then::Wait {
                waker: Some(waker()),
                output: None,
            });
        match submitted {
            Ok(ticket) => {
                self.state = State::Sent(ticket);
                Poll::Pending
            }
            Err(_) => Poll::Ready(Out::from_lost(Lost::Refused)),
        }
    }
}

impl<W: 'static, Op: Send + 'static, Out: FromLost + 'static> Future for Call<W, Op, Out> {
    type Output = Out;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Out> {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Sent(ticket) => match self.service.inner().poll_output(ticket, cx.waker()) {
                Some(Some(output)) => Poll::Ready(output),
                Some(None) => {
                    self.state = State::Sent(ticket);
                    Poll::Pending
                }
                // The owner has ended.
                None => Poll::Ready(Out::from_lost(Lost::Ended)),
            },
            // Polled after its end: there is nothing more to come.
            State::Done => Poll::Pending,
            State::Queued(operation, number) => {
                let inner = self.service.inner().clone();
                if self.service.is_closed() {
                    inner.leave_queue(number);
                    return Poll::Ready(Out::from_lost(Lost::Refused));
                }
                if !inner.poll_turn(number, cx.waker(), inner.weight_of(&operation)) {
                    self.state = State::Queued(operation, number);
                    return Poll::Pending;
                }
                let submitted = self.submit(operation, cx);
                inner.pass_on();
                submitted
            }
            State::Unsent(operation) => {
                let inner = self.service.inner();
                let has_room =
                    inner.nobody_waits() && inner.has_room_for(inner.weight_of(&operation));
                if !has_room && !self.service.is_closed() {
                    let number = inner.queue(cx.waker().clone());
                    self.state = State::Queued(operation, number);
                    return Poll::Pending;
                }
                self.submit(operation, cx)
            }
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
