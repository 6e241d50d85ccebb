//! A session, as async code owns it.

use std::future::{Future, poll_fn};
use std::ops::ControlFlow;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use arknet_proto::session::State;
use bytes::Bytes;
use futures_core::Stream;
use futures_sink::Sink;

use super::attached::{self, Attached};
use super::error::{Error, SendError};
use super::handle::SessionHandle;
use super::inbox::{Inbox, Received};
use super::message::Message;
use super::outbox::Outbox;
use super::payload::Payload;
use super::session::{Refused, Session};
use super::shared::{SessionId, Shared};
use super::take::{Each, Look, Own, Seen, Take};
use crate::io::tokio::PeerAddress;
use crate::lanes::lock;

/// One connection, owned by async code.
///
/// In the task that an endpoint runs for it, receiving reads the socket and sending appends to the connection's buffer
/// directly, and what was sent leaves when the task waits for anything. Moved to another task, it works just as well, one
/// hop away: what was sent leaves with the next turn of its lane.
///
/// Dropping it closes the connection gracefully: what was sent is handed over first.
///
/// It is this one connection, also where a client has made another since: then it has ended, and touches the other in no
/// way.
///
/// ```
/// use std::time::Duration;
/// use arknet::Connection;
/// use tokio::sync::broadcast;
///
/// /// Passes on what the peer says and tells it the news, whichever comes first. The loser of each round is dropped, which
/// /// loses nothing.
/// async fn serve(mut connection: Connection, mut news: broadcast::Receiver<String>) {
///     loop {
///         tokio::select! {
///             message = connection.recv() => match message {
///                 Ok(Some(message)) => println!("{} bytes", message.len()),
///                 Ok(None) => return,
///                 Err(error) => return println!("{error}"),
///             },
///             item = news.recv() => match item {
///                 // Waits for room in the queue, for a second at most.
///                 Ok(item) => match tokio::time::timeout(Duration::from_secs(1), connection.send(item)).await {
///                     Ok(Ok(())) => {}
///                     Ok(Err(_)) => return,
///                     Err(_) => return connection.abort(),
///                 },
///                 Err(broadcast::error::RecvError::Lagged(_)) => {}
///                 Err(broadcast::error::RecvError::Closed) => return connection.close().await,
///             },
///         }
///     }
/// }
/// ```
pub struct Connection {
    handle: SessionHandle,
    /// Which connection of its client it is.
    generation: u64,
    inbox: Arc<Mutex<Inbox>>,
    /// It has been closed from elsewhere.
    closing: bool,
    /// What a sink waits for in another task than the connection's own.
    flushing: Mutex<Option<Waiting>>,
    making_room: Mutex<Option<Waiting>>,
}

/// Whether a message was refused only because there is no room now: it fits the queue as a whole.
#[cold]
fn waits_for_room(refused: &SendError, length: usize) -> bool {
    matches!(refused, SendError::QueueFull { limits, .. } if length <= limits.bytes)
}

/// A future that only its owner touches; the mutex is never locked, and makes the connection `Sync`.
fn slot<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(PoisonError::into_inner)
}

type Waiting = Pin<Box<dyn Future<Output = Result<(), SendError>> + Send>>;

impl Connection {
    /// The session's present connection, and where its lane leaves messages for it.
    pub(super) fn new(handle: &SessionHandle) -> (Self, Arc<Mutex<Inbox>>) {
        let generation = handle.generation();
        let inbox = Arc::<Mutex<Inbox>>::default();
        let connection = Self {
            handle: handle.with_pin(Some(generation)),
            generation,
            inbox: inbox.clone(),
            closing: false,
            flushing: Mutex::default(),
            making_room: Mutex::default(),
        };
        (connection, inbox)
    }

    /// Runs `function` on the connection in its own task; `None` elsewhere.
    #[inline]
    fn attached<T>(&self, function: impl FnOnce(&mut Attached) -> T) -> Option<T> {
        attached::with(self.shared(), self.generation, function)
    }

    fn shared(&self) -> &Arc<Shared> {
        self.handle.shared()
    }

    /// The identity of the session.
    pub fn id(&self) -> SessionId {
        self.handle.id()
    }

    /// A handle that can be cloned and outlives the connection.
    pub fn handle(&self) -> SessionHandle {
        self.handle.with_pin(None)
    }

    /// The address of this end.
    pub fn local_addr(&self) -> Option<PeerAddress> {
        self.handle.local_addr()
    }

    /// The address of the other end.
    pub fn peer_addr(&self) -> Option<PeerAddress> {
        self.handle.peer_addr()
    }

    /// What TLS agreed on. It is known in the connection's own task only; elsewhere, ask with
    /// [`dispatch`](Self::dispatch).
    #[cfg(feature = "tls")]
    pub fn tls(&self) -> Option<crate::tls::Info> {
        self.attached(|attached| attached.core.session.tls())
            .flatten()
    }

    /// Waits for the next message. `None` is the end of the peer's stream, or that this side has closed.
    ///
    /// A large message shares the receive buffer: drop it soon, or copy it.
    ///
    /// Dropping this future loses nothing.
    ///
    /// # Errors
    ///
    /// The error that ended the connection, again at every call.
    pub async fn recv(&mut self) -> Result<Option<Message>, Arc<Error>> {
        poll_fn(|cx| self.poll_recv(cx, &mut Own)).await
    }

    /// Waits for the next message, and shows it to a function where it lies in the receive buffer, without a copy. What
    /// the function sends leaves when the task waits. `None` is the end of the peer's stream, or that this side has
    /// closed; the function has not run then.
    ///
    /// This is the way for those who count nanoseconds: in the connection's own task a message costs no copy and no
    /// atomic operation, as in a callback.
    ///
    /// ```
    /// use arknet::Connection;
    ///
    /// async fn echo(mut connection: Connection) {
    ///     let mut sent = Ok(Some(Ok(())));
    ///     while let Ok(Some(Ok(()))) = sent {
    ///         sent = connection.recv_with(|message, outbox| outbox.send(message)).await;
    ///     }
    /// }
    /// ```
    ///
    /// Dropping this future loses nothing: the function has run, or the message is still there.
    ///
    /// # Errors
    ///
    /// The error that ended the connection, again at every call.
    #[inline]
    pub async fn recv_with<T>(
        &mut self,
        function: impl FnOnce(&[u8], &mut Outbox<'_>) -> T,
    ) -> Result<Option<T>, Arc<Error>> {
        let mut look = Look::new(function);
        poll_fn(|cx| self.poll_recv(cx, &mut look)).await?;
        Ok(look.output)
    }

    /// Shows each message to a function where it lies in the receive buffer, until the function breaks with a value.
    /// `None` is the end of the peer's stream, or that this side has closed. What the function sends leaves when the
    /// messages that have arrived have been shown.
    ///
    /// The loop over [`recv_with`](Self::recv_with), at the price of a callback: the task is not asked anew for each of
    /// the messages that arrived together.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use arknet::Connection;
    ///
    /// /// Echoes until the peer says goodbye; `Ok(None)` when it ends without it.
    /// async fn echo(mut connection: Connection) {
    ///     let ended = connection.recv_each(|message, outbox| match message {
    ///         b"goodbye" => ControlFlow::Break(Ok(())),
    ///         message => match outbox.send(message) {
    ///             Ok(()) => ControlFlow::Continue(()),
    ///             Err(refused) => ControlFlow::Break(Err(refused)),
    ///         },
    ///     });
    ///     drop(ended.await);
    /// }
    /// ```
    ///
    /// Dropping this future loses nothing: a message has been shown, or is still there.
    ///
    /// # Errors
    ///
    /// The error that ended the connection, again at every call.
    #[inline]
    pub async fn recv_each<T>(
        &mut self,
        function: impl FnMut(&[u8], &mut Outbox<'_>) -> ControlFlow<T>,
    ) -> Result<Option<T>, Arc<Error>> {
        let mut each = Each::new(function);
        poll_fn(|cx| {
            each.begin_turn();
            loop {
                match ready!(self.poll_recv(cx, &mut each))? {
                    Some(Seen::One) => {}
                    Some(Seen::Done) | None => return Poll::Ready(Ok::<_, Arc<Error>>(())),
                    Some(Seen::Enough) => {
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                }
            }
        })
        .await?;
        Ok(each.output)
    }

    #[inline]
    fn poll_recv<R: Take>(
        &mut self,
        cx: &mut Context<'_>,
        take: &mut R,
    ) -> Poll<Received<R::Taken>> {
        if let Some(taken) = attached::take_message(self.shared(), self.generation, take) {
            return Poll::Ready(Ok(Some(taken)));
        }
        match self.attached(|attached| attached.poll_receive(cx, take)) {
            Some(polled) => polled,
            None => {
                let queued = ready!(self.poll_inbox(cx))?;
                let mut outbox = Outbox::elsewhere(&self.handle);
                Poll::Ready(Ok(
                    queued.map(|message| take.take_queued(message, &mut outbox))
                ))
            }
        }
    }

    fn poll_inbox(&self, cx: &mut Context<'_>) -> Poll<Received> {
        let (polled, tell) = lock(&self.inbox).poll_receive(cx);
        if tell {
            self.shared().notify();
        }
        polled
    }

    /// Sends a message: waits until it is admitted to the send queue. It is handed to the transport when the task waits
    /// next, or earlier; [`flush`](Self::flush) waits for that.
    ///
    /// Dropping this future before it is ready queues nothing; afterwards the message stands.
    ///
    /// # Errors
    ///
    /// [`SendError::NotConnected`] if the connection is closed or closes meanwhile, [`SendError::Framing`] if the framing
    /// cannot carry the message, [`SendError::QueueFull`] if it is larger than the whole queue.
    pub async fn send<'a>(&mut self, payload: impl Into<Payload<'a>>) -> Result<(), SendError> {
        let payload = payload.into();
        let direct = poll_fn(|cx| self.poll_send_direct(cx, &payload)).await;
        match direct {
            Some(result) => result.map_err(|refused| *refused),
            None => self.handle.send_when_possible(payload).await,
        }
    }

    /// Sends in the connection's own task; `None` elsewhere.
    #[inline]
    fn poll_send_direct(
        &self,
        cx: &mut Context<'_>,
        payload: &Payload<'_>,
    ) -> Poll<Option<Result<(), Refused>>> {
        let polled = self.attached(
            |attached| match attached.core.session.submit(payload, None) {
                Err(refused) if waits_for_room(&refused, payload.len()) => {
                    attached.wait(cx);
                    Poll::Pending
                }
                result => Poll::Ready(result),
            },
        );
        match polled {
            Some(Poll::Ready(result)) => Poll::Ready(Some(result)),
            Some(Poll::Pending) => Poll::Pending,
            None => Poll::Ready(None),
        }
    }

    /// Sends a message, or refuses it at once.
    ///
    /// # Errors
    ///
    /// As [`Session::send`].
    #[inline]
    pub fn try_send<'a>(&mut self, payload: impl Into<Payload<'a>>) -> Result<(), SendError> {
        let payload = payload.into();
        match self.attached(|attached| attached.core.session.submit(&payload, None)) {
            Some(result) => result.map_err(|refused| *refused),
            None => self.handle.send(payload),
        }
    }

    /// Sends a message of exactly `length` bytes that `write` produces straight in the send buffer, or refuses it at once.
    ///
    /// # Errors
    ///
    /// As [`Session::send_in_place`].
    #[inline]
    pub fn try_send_in_place(
        &mut self,
        length: usize,
        write: impl FnOnce(&mut arknet_proto::buf::MessageWriter<'_>),
    ) -> Result<(), SendError> {
        let mut write = Some(write);
        let sent = self.attached(|attached| {
            write
                .take()
                .map(|write| attached.core.session.submit_in_place(length, write))
        });
        match (sent.flatten(), write) {
            (Some(result), _) => result.map_err(|refused| *refused),
            (None, Some(write)) => self.handle.send_built(length, write),
            (None, None) => Ok(()),
        }
    }

    /// Sends a message, and runs `completion` once it has been handed to the transport, as [`Session::send_with`] does.
    ///
    /// # Errors
    ///
    /// As [`Session::send_with`].
    pub fn send_with<'a>(
        &mut self,
        payload: impl Into<Payload<'a>>,
        completion: impl FnOnce(&mut Session, Result<usize, SendError>) + Send + 'static,
    ) -> Result<(), SendError> {
        let payload = payload.into();
        let mut completion = Some(completion);
        let sent = self.attached(|attached| {
            let completion = completion.take()?;
            Some(
                attached
                    .core
                    .session
                    .submit(&payload, Some(Box::new(completion))),
            )
        });
        match (sent.flatten(), completion) {
            (Some(result), _) => result.map_err(|refused| *refused),
            (None, Some(completion)) => self.handle.send_with(payload, completion),
            (None, None) => Ok(()),
        }
    }

    /// Waits until everything sent so far has been handed to the transport.
    ///
    /// Dropping this future changes nothing about what was sent.
    ///
    /// # Errors
    ///
    /// [`SendError::ConnectionLost`] or [`SendError::NotConnected`] if the connection ended before.
    pub async fn flush(&mut self) -> Result<(), SendError> {
        poll_fn(|cx| self.poll_flush_all(cx)).await
    }

    fn poll_flush_all(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        if let Some(polled) = self.attached(|attached| attached.poll_flush(cx)) {
            *slot(&mut self.flushing) = None;
            return polled;
        }
        let handle = &self.handle;
        let waiting = slot(&mut self.flushing);
        let flushing = waiting.get_or_insert_with(|| {
            let handle = handle.clone();
            Box::pin(async move { handle.flush().await })
        });
        let flushed = ready!(flushing.as_mut().poll(cx));
        *waiting = None;
        Poll::Ready(flushed)
    }

    /// Runs a function on the session: at once in the connection's own task, otherwise on its lane, soon.
    ///
    /// # Errors
    ///
    /// [`SendError::NotConnected`] if the connection is gone, [`SendError::TooManyPosts`] if too many functions wait.
    pub fn dispatch(
        &mut self,
        function: impl FnOnce(&mut Session) + Send + 'static,
    ) -> Result<(), SendError> {
        self.handle.dispatch(function)
    }

    /// Whether data can be sent.
    pub fn is_open(&self) -> bool {
        match self.attached(|attached| attached.core.state()) {
            Some(state) => state == State::Open,
            None => self.handle.is_open(),
        }
    }

    /// Closes gracefully, and waits until both sides have ended their streams, or the close timeout has passed.
    ///
    /// Dropping this future leaves the close under way.
    pub async fn close(mut self) {
        self.start_close();
        poll_fn(|cx| self.poll_closed(cx)).await;
    }

    fn start_close(&mut self) {
        let direct = self.attached(|attached| attached.core.session.close());
        if direct.is_none() && !std::mem::replace(&mut self.closing, true) {
            let close = Box::new(Session::close);
            self.shared().post_last(self.generation, close);
        }
    }

    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let direct = self.attached(|attached| {
            if attached.ended().is_some() {
                return Poll::Ready(());
            }
            attached.wait(cx);
            Poll::Pending
        });
        match direct {
            Some(polled) => polled,
            // What still arrives in the inbox is of no use any more.
            None => loop {
                match ready!(self.poll_inbox(cx)) {
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => return Poll::Ready(()),
                }
            },
        }
    }

    /// Cuts the connection. What waits is given up, and the peer sees a reset.
    pub fn abort(self) {
        if self
            .attached(|attached| attached.core.session.abort())
            .is_none()
        {
            let abort = Box::new(Session::abort);
            self.shared().post_last(self.generation, abort);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.start_close();
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.shared().fmt(f)
    }
}

/// Messages as they arrive; ends with the peer's stream, and after an error.
impl Stream for Connection {
    type Item = Result<Message, Arc<Error>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut()
            .poll_recv(cx, &mut Own)
            .map(Result::transpose)
    }
}

/// Messages to send. An item is admitted in `start_send`; `poll_ready` waits until there is room for one.
impl Sink<Bytes> for Connection {
    type Error = SendError;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        let direct = self.attached(
            |attached| match attached.core.session.engine_mut().admit(0) {
                Ok(()) => Poll::Ready(Ok(())),
                Err(arknet_proto::session::Refusal::Full(_)) => {
                    attached.wait(cx);
                    Poll::Pending
                }
                Err(arknet_proto::session::Refusal::NotConnected) => {
                    Poll::Ready(Err(SendError::NotConnected))
                }
            },
        );
        if let Some(polled) = direct {
            return polled;
        }
        let this = self.get_mut();
        let handle = &this.handle;
        let waiting = slot(&mut this.making_room);
        let making_room = waiting.get_or_insert_with(|| {
            let handle = handle.clone();
            Box::pin(async move { handle.room().await })
        });
        let made = ready!(making_room.as_mut().poll(cx));
        *waiting = None;
        Poll::Ready(made)
    }

    fn start_send(self: Pin<&mut Self>, item: Bytes) -> Result<(), SendError> {
        self.get_mut().try_send(item)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        self.get_mut().poll_flush_all(cx)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        let this = self.get_mut();
        this.start_close();
        let mut closed = pin!(poll_fn(|cx| this.poll_closed(cx)));
        closed.as_mut().poll(cx).map(Ok)
    }
}
