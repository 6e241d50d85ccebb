//! The output of a request as a future.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::call::Call;
use super::database::{Client, Delivery, Depot, Order, Request};

/// The output of a request to a database, to be awaited by a task of the owner: see
/// [`Database::call`](super::Database::call).
pub struct Answer<W: 'static, C: Client, R: Request<C>> {
    call: Call<W, Order<C>, Delivery<C>>,
    depot: Rc<Depot<C>>,
    answers: usize,
    request: PhantomData<fn() -> R>,
}

impl<W: 'static, C: Client, R: Request<C>> Answer<W, C, R> {
    pub(crate) fn new(
        call: Call<W, Order<C>, Delivery<C>>,
        depot: Rc<Depot<C>>,
        answers: usize,
    ) -> Self {
        Self {
            call,
            depot,
            answers,
            request: PhantomData,
        }
    }
}

impl<W: 'static, C: Client, R: Request<C>> Future for Answer<W, C, R> {
    type Output = R::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R::Output> {
        let delivery = Pin::new(&mut self.call).poll(cx);
        delivery.map(|delivery| self.depot.unpack::<R>(self.answers, delivery))
    }
}

impl<W: 'static, C: Client, R: Request<C>> std::fmt::Debug for Answer<W, C, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer")
            .field("call", &self.call)
            .finish_non_exhaustive()
    }
}
