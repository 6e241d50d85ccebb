//! Databases: requests of any type, submitted by the owner, done on the lanes by a pool, delivered to the owner.
//!
//! A database is a service whose operations are parcels: the client's way to forget the type of a request on its way and
//! to find it again. The lanes never hold more operations than the pool has connections; what comes after them waits on
//! the lane, so that a connection that is returned is taken for the next request there and then.

use std::any::TypeId;
use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::answer::Answer;
use super::builder::ServiceOptions;
use super::cx::Cx;
use super::dispatch::Ordered;
use super::drain::{Finaliser, PoolClosed};
use super::error::{FromLost, Lost, Rejected};
use super::label::Label;
use super::service::{OnCancel, Service};
use crate::pool::PoolReport;

/// Types of requests whose boxes are kept for the next ones. A program has some dozens of them.
const KINDS_KEPT: usize = 64;

/// Boxes that are kept for each type: as many requests of it as one update sends and delivers, mostly.
const BOXES_KEPT: usize = 256;

pub(crate) mod sealed {
    /// Keeps [`Client`](super::Client) and [`Request`](super::Request) within this crate.
    pub trait Sealed {}
}

/// A pool of connections that does requests for an owner: [`redis::Pool`](crate::redis::Pool).
///
/// It cannot be implemented outside this crate.
pub trait Client: sealed::Sealed + Send + Sync + Sized + 'static {
    /// A request of any type on its way there, and its output on the way back.
    #[doc(hidden)]
    type Parcel: Send + 'static;

    /// Why a request has no answer.
    type Error: 'static;

    /// Does what was asked for at `asked`, on a connection that it acquires for it.
    #[doc(hidden)]
    fn carry(
        &self,
        parcel: Self::Parcel,
        asked: Instant,
    ) -> impl Future<Output = Self::Parcel> + Send;

    /// How many requests it does at once.
    #[doc(hidden)]
    fn at_once(&self) -> usize;

    /// How many bytes a parcel holds.
    #[doc(hidden)]
    fn weigh(parcel: &Self::Parcel) -> usize;

    /// Makes the error of a request that was lost between the owner and the client, without keeping the client.
    #[doc(hidden)]
    fn losses(&self) -> Box<dyn Fn(Lost) -> Self::Error>;

    /// Ends it in good order.
    #[doc(hidden)]
    fn end(&self, within: Duration) -> impl Future<Output = PoolReport> + Send;
}

/// A request to a database with the client `C`: for Redis, everything that is a [`redis::Batch`](crate::redis::Batch).
///
/// It cannot be implemented outside this crate.
pub trait Request<C: Client>: Sized + 'static {
    /// What comes of it.
    type Output: 'static;

    /// Packs it, in a box of the same [kind](Self::kind) if there is one.
    #[doc(hidden)]
    fn pack(self, spare: Option<C::Parcel>) -> C::Parcel;

    #[doc(hidden)]
    fn kind() -> TypeId;

    /// How many bytes it holds, before it is packed.
    #[doc(hidden)]
    fn bytes(&self) -> usize;

    /// How many answers it asks for.
    #[doc(hidden)]
    fn answers(&self) -> usize;

    /// Takes the output out of a parcel that has come back.
    #[doc(hidden)]
    fn unpack(parcel: &mut C::Parcel) -> Option<Self::Output>;

    /// What comes of a request for so many answers that was lost.
    #[doc(hidden)]
    fn lost(answers: usize, error: &C::Error) -> Self::Output;
}

/// What goes to the lanes.
pub(crate) enum Order<C: Client> {
    Carry {
        parcel: C::Parcel,
        /// Waiting for a connection counts, wherever it is done.
        asked: Instant,
    },
    /// Nothing will be asked for any more.
    End { within: Duration },
}

/// What comes back from them.
pub(crate) enum Delivery<C: Client> {
    Parcel(C::Parcel),
    Ended(PoolReport),
    Lost(Lost),
}

impl<C: Client> FromLost for Delivery<C> {
    fn from_lost(lost: Lost) -> Self {
        Self::Lost(lost)
    }
}

/// Submits requests to a database, and has their outputs delivered by the owner: see [`Cx::redis`].
///
/// Requests of all types go through one queue, with one limit of count ([`Limits::in_flight`](super::Limits::in_flight)) and
/// one of bytes ([`Limits::bytes`](super::Limits::bytes)). Clones share it. [`ordered`](Self::ordered),
/// [`within`](Self::within) and [`on_cancel`](Self::on_cancel) make one that submits in another way.
///
/// What is accepted is done, also where nobody wants its output any more; a drain waits for it, and closes the pool after
/// it. What the client's request timeout says counts from the submission: a request that has waited for so long without
/// getting a connection has not been sent, and says so.
pub struct Database<W: 'static, C: Client> {
    service: Service<W, Order<C>, Delivery<C>>,
    depot: Rc<Depot<C>>,
}

impl<W: 'static, C: Client> Clone for Database<W, C> {
    fn clone(&self) -> Self {
        self.with(self.service.clone())
    }
}

impl<W: 'static, C: Client> std::fmt::Debug for Database<W, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database")
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

impl<W: 'static, C: Client> Database<W, C> {
    fn with(&self, service: Service<W, Order<C>, Delivery<C>>) -> Self {
        Self {
            service,
            depot: self.depot.clone(),
        }
    }

    /// The same database for one key: a request is begun when the one before of the same key has been answered, and
    /// delivered in that order. A read behind a write of its key sees what was written, on whichever connections they are
    /// done. Across keys nothing is promised.
    #[must_use]
    pub fn ordered(&self, key: impl Ordered) -> Self {
        self.with(self.service.ordered(key))
    }

    /// The same database for a group: callbacks of what is submitted by it are cancelled with that.
    #[must_use]
    pub fn within(&self, cx: &Cx<W>) -> Self {
        self.with(self.service.within(cx))
    }

    /// The same database with another fate for what is cancelled.
    #[must_use]
    pub fn on_cancel(&self, on_cancel: OnCancel) -> Self {
        self.with(self.service.on_cancel(on_cancel))
    }

    /// Submits a request; its output is delivered to `then`, in an update, with the world.
    ///
    /// # Errors
    ///
    /// The request comes back where too many or too large ones are under way, the group has been cancelled, or the owner
    /// has ended.
    #[track_caller]
    pub fn send<R, F>(&self, request: R, then: F) -> Result<(), Rejected<R>>
    where
        R: Request<C>,
        F: FnOnce(&mut W, R::Output) + 'static,
    {
        let (bytes, answers) = (request.bytes(), request.answers());
        let depot = self.depot.clone();
        self.service.send_with(
            request,
            bytes,
            |request| self.depot.pack(request),
            Label::here(),
            move |world, delivery| then(world, depot.unpack::<R>(answers, delivery)),
        )
    }

    /// Submits a request at the first poll, as soon as there is room for it, and waits for its output, in a task.
    ///
    /// Dropping this future is what [`OnCancel`] says.
    #[track_caller]
    pub fn call<R: Request<C>>(&self, request: R) -> Answer<W, C, R> {
        let answers = request.answers();
        let call = self
            .service
            .call_as(self.depot.pack(request), Label::here());
        Answer::new(call, self.depot.clone(), answers)
    }

    /// As [`call`](Self::call), submitted now.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    #[track_caller]
    pub fn try_call<R: Request<C>>(&self, request: R) -> Result<Answer<W, C, R>, Rejected<R>> {
        let (bytes, answers) = (request.bytes(), request.answers());
        let call = self.service.try_call_with(
            request,
            bytes,
            |request| self.depot.pack(request),
            Label::here(),
        )?;
        Ok(Answer::new(call, self.depot.clone(), answers))
    }

    /// How many requests are under way or wait to be delivered.
    pub fn in_flight(&self) -> usize {
        self.service.in_flight()
    }
}

/// What a database needs to pack and to unpack, on the owner's thread.
pub(crate) struct Depot<C: Client> {
    losses: Box<dyn Fn(Lost) -> C::Error>,
    spare: RefCell<Vec<(TypeId, Vec<C::Parcel>)>>,
}

impl<C: Client> Depot<C> {
    fn new(client: &C) -> Self {
        Self {
            losses: client.losses(),
            spare: RefCell::default(),
        }
    }

    fn pack<R: Request<C>>(&self, request: R) -> Order<C> {
        let kind = R::kind();
        let spare = self
            .spare
            .borrow_mut()
            .iter_mut()
            .find(|(known, _)| *known == kind)
            .and_then(|(_, boxes)| boxes.pop());
        Order::Carry {
            parcel: request.pack(spare),
            asked: crate::io::coarse_now(),
        }
    }

    pub(crate) fn unpack<R: Request<C>>(&self, answers: usize, delivery: Delivery<C>) -> R::Output {
        let lost = match delivery {
            Delivery::Parcel(mut parcel) => match R::unpack(&mut parcel) {
                Some(output) => {
                    self.keep(R::kind(), parcel);
                    return output;
                }
                None => Lost::Panicked,
            },
            Delivery::Lost(lost) => lost,
            Delivery::Ended(_) => Lost::Ended,
        };
        R::lost(answers, &(self.losses)(lost))
    }

    fn keep(&self, kind: TypeId, parcel: C::Parcel) {
        let mut spare = self.spare.borrow_mut();
        if let Some((_, boxes)) = spare.iter_mut().find(|(known, _)| *known == kind) {
            if boxes.len() < BOXES_KEPT {
                boxes.push(parcel);
            }
        } else if spare.len() < KINDS_KEPT {
            spare.push((kind, vec![parcel]));
        }
    }
}

impl<W: 'static> Cx<W> {
    /// Makes a database of a client that there is. Its requests run on the owner's lanes, wherever its own work is done.
    ///
    /// A drain of the owner closes the client.
    ///
    /// # Errors
    ///
    /// The client comes back where there are too many sources, or the owner has ended.
    pub fn database<C: Client>(
        &self,
        name: &'static str,
        client: C,
    ) -> Result<Database<W, C>, Rejected<C>> {
        let depot = Rc::new(Depot::new(&client));
        let options = ServiceOptions::default()
            .concurrency(client.at_once())
            .weigh(|delivery| match delivery {
                Delivery::Parcel(parcel) => C::weigh(parcel),
                Delivery::Ended(_) | Delivery::Lost(_) => 0,
            });
        let weigh = |order: &Order<C>| match order {
            Order::Carry { parcel, .. } => C::weigh(parcel),
            Order::End { .. } => 0,
        };
        let room = match self.room_for_service() {
            Ok(room) => room,
            Err(reason) => return Err(Rejected::new(client, reason)),
        };
        let client = Arc::new(client);
        let run = move |order| serve(client.clone(), order);
        let service = self.add_service(room, name, options, weigh, run);
        self.close_at_drain(name, service.clone());
        Ok(Database { service, depot })
    }

    fn close_at_drain<C: Client>(
        &self,
        name: &'static str,
        service: Service<W, Order<C>, Delivery<C>>,
    ) {
        let label = Label::here().named(name);
        let closer = Finaliser::new(label, self.clone(), async move |cx: Self| {
            let within = cx.core.network.left();
            let ended = service.call(Order::End { within }).await;
            if let Delivery::Ended(report) = ended {
                let closed = PoolClosed {
                    database: name,
                    report,
                };
                cx.core.closed_pools.borrow_mut().push(closed);
            }
        });
        self.core.closers.borrow_mut().push_back(closer);
    }
}

async fn serve<C: Client>(client: Arc<C>, order: Order<C>) -> Delivery<C> {
    match order {
        Order::Carry { parcel, asked } => Delivery::Parcel(client.carry(parcel, asked).await),
        Order::End { within } => Delivery::Ended(client.end(within).await),
    }
}
