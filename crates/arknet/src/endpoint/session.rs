//! A session, as its callbacks see it.

mod sending;

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use arknet_proto::buf::Account;
use arknet_proto::framing::Framing;
use arknet_proto::session::{self, Cause, State};

pub(super) use self::sending::Refused;
use super::error::{CloseReason, Error, Peer, SendError};
use super::handle::SessionHandle;
use super::payload::Payload;
use super::shared::{Addresses, Close, Completion, Mail, SessionId, Shared};
use super::timers::{Action, TimerKey, Timers};
use crate::drive::pool;
use crate::drive::stream::HIGH_MARK;
use crate::io::now;
use crate::io::tokio::PeerAddress;
use crate::link::{Transport, TransportError};

/// Looks at a payload before it is queued, once, and may replace it.
pub type SendFilter = Arc<dyn Fn(&[u8]) -> Option<bytes::Bytes> + Send + Sync>;

/// What is the same for all sessions of an endpoint.
#[derive(Clone)]
pub(crate) struct SessionConfig {
    pub(crate) framing: Framing,
    pub(crate) engine: session::Config,
    pub(crate) filter: Option<SendFilter>,
}

/// One connection, lent to its callbacks: sends, closes, sets timers. It runs on its lane and is never called twice at
/// the same time.
///
/// A send appends to the connection's own buffer, without a lock or an atomic operation; what a turn has sent leaves
/// together when the turn ends. From anywhere else use the [`handle`](Self::handle).
pub struct Session {
    transport: Option<Transport>,
    engine: session::Session<Completion>,
    framing: Framing,
    filter: Option<SendFilter>,
    shared: Arc<Shared>,
    fault: Option<Arc<Error>>,
    waker: Option<Waker>,
    reading_paused: bool,
    /// A handle has closed it: a client does not connect again.
    stopped: bool,
    /// A handle has cut it, perhaps after its end: an owner that has not noticed is not waited for.
    cut: bool,
    /// There was mail: an owner elsewhere may have asked for messages.
    inbox_news: bool,
    rare: Option<Box<Rare>>,
}

/// What most sessions never use.
#[derive(Default)]
struct Rare {
    timers: Timers,
    slot: Option<Box<dyn Any + Send>>,
}

impl Session {
    pub(super) fn new(config: &SessionConfig, shared: Arc<Shared>) -> Self {
        Self {
            transport: None,
            engine: session::Session::new(config.engine, now()),
            framing: config.framing.clone(),
            filter: config.filter.clone(),
            shared,
            fault: None,
            waker: None,
            reading_paused: false,
            stopped: false,
            cut: false,
            inbox_news: false,
            rare: None,
        }
    }

    /// The identity of the session.
    pub fn id(&self) -> SessionId {
        self.shared.id
    }

    /// Which connection of its client this is, from 1; a server's sessions have one each.
    pub fn generation(&self) -> u64 {
        self.shared.generation()
    }

    /// A handle that can be cloned, sent to other threads, and outlives the session.
    pub fn handle(&self) -> SessionHandle {
        SessionHandle::new(
            self.shared.clone(),
            self.framing.clone(),
            self.filter.clone(),
        )
    }

    /// The address of this end.
    pub fn local_addr(&self) -> Option<PeerAddress> {
        self.shared.addresses().local
    }

    /// The address of the other end.
    pub fn peer_addr(&self) -> Option<PeerAddress> {
        self.shared.addresses().peer
    }

    /// Whether data can be sent: the session is open and not being closed.
    pub fn is_open(&self) -> bool {
        self.engine.state() == State::Open
    }

    /// What TLS agreed on, on a connection that has it.
    #[cfg(feature = "tls")]
    pub fn tls(&self) -> Option<crate::tls::Info> {
        match &self.transport {
            Some(Transport::Secure(secure)) => secure.info(),
            _ => None,
        }
    }

    /// Payload bytes that this session has sent and that wait for the transport. What handles have sent is not counted
    /// here: they have an account of their own.
    pub fn queued_bytes(&self) -> usize {
        self.engine.queue().bytes()
    }

    /// How many operations of this session's own wait for the transport.
    #[cfg(feature = "owner")]
    pub(crate) fn queued_operations(&self) -> usize {
        self.engine.queue().operations()
    }

    /// Whether this session's own sends have drained to half of what may wait.
    #[cfg(feature = "owner")]
    pub(crate) fn has_drained_to_half(&self) -> bool {
        self.engine.queue().is_half_empty()
    }

    /// Counts what was accepted for this session elsewhere and cannot be sent.
    #[cfg(feature = "owner")]
    pub(crate) fn note_dropped(&self, bytes: usize, operations: usize) {
        if operations > 0 {
            self.shared.counters.dropped(bytes, operations);
        }
    }

    /// Closes gracefully: what was accepted is sent, then both directions are ended, within the close timeout. What
    /// still arrives is discarded.
    pub fn close(&mut self) {
        self.engine.close(now());
        self.shared.publish_state(self.engine.state());
    }

    /// Answers the end of the peer's stream: sends what was accepted, then ends this direction too.
    pub fn finish(&mut self) {
        self.engine.finish(now());
        self.shared.publish_state(self.engine.state());
    }

    /// Cuts the connection. What waits is given up, and the peer sees a reset.
    pub fn abort(&mut self) {
        self.engine.abort();
        self.shared.publish_state(self.engine.state());
    }

    /// Stops or resumes reading the socket, so that a peer that sends faster than its messages can be used is slowed
    /// down. While paused, neither its data nor its end is seen.
    pub fn pause_reading(&mut self, pause: bool) {
        self.reading_paused = pause;
        if !pause && let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }

    /// How long the peer may be silent from now on; `None` turns it off. The connection is closed between 1 and 9/8
    /// of this time after its last byte.
    pub fn set_idle_timeout(&mut self, limit: Option<Duration>) {
        self.engine.set_silence(limit, now());
    }

    /// Sets a timer: `Handler::on_timer` is called with the key after this time, once. A timer with the same key is
    /// replaced. There is an example on [`Handler`](super::Handler).
    pub fn set_timer(&mut self, key: impl Into<TimerKey>, after: Duration) {
        self.start_timer(key.into(), after, None, Action::Tell);
    }

    /// Sets a timer that repeats until it is cancelled. Times that were missed are skipped. An interval of zero is one
    /// of a millisecond.
    pub fn set_interval(&mut self, key: impl Into<TimerKey>, every: Duration) {
        let every = every.max(LEAST_INTERVAL);
        self.start_timer(key.into(), every, Some(every), Action::Tell);
    }

    /// Sets a timer that runs a function after this time, once.
    pub fn set_timer_with(
        &mut self,
        key: impl Into<TimerKey>,
        after: Duration,
        function: impl FnOnce(&mut Session) + Send + 'static,
    ) {
        let mut function = Some(function);
        let action = Action::Run(Box::new(move |session| {
            if let Some(function) = function.take() {
                function(session);
            }
        }));
        self.start_timer(key.into(), after, None, action);
    }

    /// Sets a timer that runs a function again and again until it is cancelled.
    pub fn set_interval_with(
        &mut self,
        key: impl Into<TimerKey>,
        every: Duration,
        function: impl FnMut(&mut Session) + Send + 'static,
    ) {
        let every = every.max(LEAST_INTERVAL);
        self.start_timer(
            key.into(),
            every,
            Some(every),
            Action::Run(Box::new(function)),
        );
    }

    fn start_timer(
        &mut self,
        key: TimerKey,
        after: Duration,
        every: Option<Duration>,
        action: Action,
    ) {
        // A time that the clock cannot express is never.
        match now().checked_add(after) {
            Some(at) => self.rare().timers.set(key, at, every, action),
            None => drop(self.cancel_timer(key)),
        }
    }

    /// Cancels a timer, and says whether there was one.
    pub fn cancel_timer(&mut self, key: impl Into<TimerKey>) -> bool {
        let key = key.into();
        self.rare
            .as_mut()
            .is_some_and(|rare| rare.timers.cancel(&key))
    }

    /// Whether there is a timer with this key.
    pub fn has_timer(&self, key: impl Into<TimerKey>) -> bool {
        let key = key.into();
        self.rare
            .as_ref()
            .is_some_and(|rare| rare.timers.contains(&key))
    }

    /// Keeps a value with the session; it replaces the last one. It is dropped with the session.
    pub fn set_data<T: Send + 'static>(&mut self, value: T) {
        self.rare().slot = Some(Box::new(value));
    }

    /// The value that the session keeps, if it is of this type.
    pub fn data<T: 'static>(&self) -> Option<&T> {
        self.rare.as_ref()?.slot.as_ref()?.downcast_ref()
    }

    /// The value that the session keeps, if it is of this type.
    pub fn data_mut<T: 'static>(&mut self) -> Option<&mut T> {
        self.rare.as_mut()?.slot.as_mut()?.downcast_mut()
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    // The driver's side.

    #[inline]
    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    #[inline]
    pub(super) fn engine(&self) -> &session::Session<Completion> {
        &self.engine
    }

    #[inline]
    pub(super) fn engine_mut(&mut self) -> &mut session::Session<Completion> {
        &mut self.engine
    }

    #[inline]
    pub(super) fn transport_mut(&mut self) -> Option<&mut Transport> {
        self.transport.as_mut()
    }

    /// Whether it was cut, or a handle wanted it so after its end.
    pub(super) fn is_cut(&self) -> bool {
        self.cut || self.engine.is_cut()
    }

    /// Whether a handle has closed it.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Nothing will read the mail any more: what is left of it completes, and new mail is refused.
    pub(super) fn end_mail(&mut self) {
        for mail in self.shared.end_mail() {
            if let Mail::Send {
                generation,
                payload,
                completion,
            } = mail
            {
                self.refuse(
                    payload.len(),
                    completion,
                    SendError::ConnectionLost { generation },
                );
            }
        }
    }

    /// Whether there was mail since the last call.
    pub(super) fn take_inbox_news(&mut self) -> bool {
        std::mem::take(&mut self.inbox_news)
    }

    #[inline]
    pub(super) fn is_reading_paused(&self) -> bool {
        self.reading_paused
    }

    pub(super) fn set_transport(&mut self, transport: Transport) {
        self.transport = Some(transport);
    }

    /// Lets everybody know both ends: errors of a handshake name the peer too.
    pub(super) fn introduce(&self, transport: &Transport) {
        self.shared.publish_addresses(Addresses {
            local: transport.socket().local_address().ok(),
            peer: transport.socket().peer_address().ok(),
        });
    }

    /// A new connection has been made: a new generation of the session is open.
    pub(super) fn opened(&mut self) {
        self.shared.publish_generation();
        self.engine.handle_opened(now());
        self.shared.publish_state(self.engine.state());
    }

    /// Begins anew for another connection of the same client. Timers and the slot stay.
    pub(super) fn renew(&mut self, config: session::Config) {
        self.transport = None;
        self.fault = None;
        self.reading_paused = false;
        self.engine = session::Session::new(config, now());
        self.shared.publish_state(State::Connecting);
    }

    /// Remembers the task, for handles to wake it.
    #[inline]
    pub(super) fn remember_waker(&mut self, cx: &Context<'_>) {
        if !self.is_own_waker(cx) {
            self.replace_waker(cx);
        }
    }

    #[cold]
    fn replace_waker(&mut self, cx: &Context<'_>) {
        self.waker = Some(cx.waker().clone());
        self.shared.set_waker(cx.waker());
    }

    /// Whether `cx` wakes the connection's task itself, not a part of it.
    #[inline]
    pub(super) fn is_own_waker(&self, cx: &Context<'_>) -> bool {
        self.waker
            .as_ref()
            .is_some_and(|waker| waker.will_wake(cx.waker()))
    }

    /// Hands over what waits, ends the direction when the engine asks, and keeps the fault if there is one.
    #[inline]
    pub(super) fn flush(&mut self, cx: &mut Context<'_>) {
        if self.is_flushed() && !self.engine.wants_end() {
            return;
        }
        self.flush_waiting(cx);
    }

    // Out of line: a turn asks three times, and has something once.
    #[inline(never)]
    fn flush_waiting(&mut self, cx: &mut Context<'_>) {
        let Some(transport) = &mut self.transport else {
            return;
        };
        match transport.poll_flush(cx, self.engine.queue_mut()) {
            Poll::Ready(Ok(())) => {}
            Poll::Ready(Err(error)) => return self.fail("send to", error),
            Poll::Pending => return,
        }
        self.engine.handle_flushed();
        if let Some(storage) = self.engine.queue_mut().reclaim() {
            pool::return_send(storage);
        }
        if self.engine.wants_end() {
            self.end(cx);
        }
    }

    /// Runs `completion` once everything accepted so far has been handed to the transport: an operation of no bytes
    /// that takes its place in the queue.
    pub(super) fn when_flushed(&mut self, completion: Completion) {
        let queue = self.engine.queue();
        // Sends are bounded by their accounts, the session's own and its handles'; what goes beyond waits for a flush.
        let sends = queue.limits().operations.saturating_mul(2);
        if queue.tokens() >= sends.saturating_add(FLUSHES) {
            return completion(self, Err(SendError::TooManyPosts { limit: FLUSHES }));
        }
        if self.engine.state() == State::Open || self.engine.state() == State::Draining {
            self.engine
                .queue_mut()
                .push(&[], &[], Account::Unaccounted, Some(completion));
        } else {
            let generation = self.shared.generation();
            completion(self, Err(SendError::ConnectionLost { generation }));
        }
    }

    /// Whether everything accepted has been handed to the transport.
    #[inline]
    pub(super) fn is_flushed(&self) -> bool {
        let own = self
            .transport
            .as_ref()
            .is_some_and(Transport::has_own_bytes);
        self.engine.queue().is_empty() && !own
    }

    fn end(&mut self, cx: &mut Context<'_>) {
        let Some(transport) = &mut self.transport else {
            return;
        };
        match transport.poll_end(cx) {
            Poll::Ready(Ok(())) => self.engine.handle_ended(),
            // The peer is gone already: that is an end as well.
            Poll::Ready(Err(TransportError::Io(error)))
                if error.kind() == io::ErrorKind::NotConnected =>
            {
                self.engine.handle_ended();
                self.engine.handle_peer_ended();
            }
            Poll::Ready(Err(error)) => self.fail("close", error),
            Poll::Pending => {}
        }
    }

    /// Keeps a failure of the transport, and ends the session. A failure after both sides have said all they had to say
    /// is none.
    #[cold]
    pub(super) fn fail(&mut self, doing: &'static str, error: TransportError) {
        self.fault(self.error(doing, error));
    }

    /// A failure of the transport, in public words.
    pub(super) fn error(&self, doing: &'static str, error: TransportError) -> Error {
        let peer = self.peer();
        match error {
            TransportError::Io(source) => Error::Io {
                doing,
                peer,
                source,
            },
            #[cfg(feature = "tls")]
            TransportError::Tls(source) => Error::Tls { peer, source },
        }
    }

    /// Keeps an error, and ends the session.
    #[cold]
    pub(super) fn fault(&mut self, error: Error) {
        self.fault.get_or_insert_with(|| Arc::new(error));
        self.engine.handle_fault();
    }

    pub(super) fn peer(&self) -> Peer {
        Peer(self.shared.addresses().peer)
    }

    /// The public words for the engine's cause.
    pub(super) fn reason(&self, cause: Cause) -> CloseReason {
        if let Some(fault) = &self.fault {
            return CloseReason::Error(fault.clone());
        }
        let peer = self.peer();
        match cause {
            Cause::Local => CloseReason::Local,
            Cause::Aborted => CloseReason::Aborted,
            Cause::Peer => CloseReason::Peer,
            Cause::Silence => CloseReason::Error(Arc::new(Error::Silence {
                peer,
                limit: self.engine.silence().unwrap_or_default(),
            })),
            Cause::ConnectTimeout | Cause::Fault => {
                CloseReason::Error(Arc::new(Error::Closed { peer }))
            }
        }
    }

    /// Takes what has come from outside.
    pub(super) fn read_mail(&mut self) {
        let (queue, close) = self.shared.take_mail();
        self.inbox_news = true;
        for mail in queue {
            match mail {
                Mail::Send {
                    generation,
                    payload,
                    completion,
                } => {
                    self.take_send(generation, payload, completion);
                }
                Mail::Post(post) => self.run_guarded(post),
            }
        }
        #[cfg(feature = "owner")]
        if let Some(called) = self.shared.take_call() {
            self.run_guarded(|session| called.called(session));
        }
        self.stopped |= close.is_some();
        match close {
            None => {}
            Some(Close::Graceful) => self.engine.close(now()),
            Some(Close::By(deadline)) => self.engine.close_by(now(), deadline),
            Some(Close::Abort) => {
                self.cut = true;
                self.engine.abort();
            }
        }
        self.shared.publish_state(self.engine.state());
    }

    fn take_send(
        &mut self,
        generation: u64,
        payload: bytes::Bytes,
        completion: Option<Completion>,
    ) {
        let sendable = matches!(self.engine.state(), State::Open);
        let length = payload.len();
        match self.framing.prefix(length) {
            Ok(prefix) if sendable && generation == self.shared.generation() => {
                self.lend();
                let queue = self.engine.queue_mut();
                queue.push_bytes(prefix.as_slice(), &payload, Account::Remote, completion);
                self.keep_below_mark();
            }
            Ok(_) => self.refuse(length, completion, SendError::ConnectionLost { generation }),
            Err(error) => self.refuse(length, completion, error.into()),
        }
    }

    fn refuse(&mut self, bytes: usize, completion: Option<Completion>, error: SendError) {
        self.shared.account.release(bytes, 1);
        self.shared.counters.dropped(bytes, 1);
        if let Some(completion) = completion {
            // In order: what was handed over earlier in this turn completes before what cannot be any more.
            self.complete();
            self.run_guarded(|session| completion(session, Err(error)));
        }
    }

    /// Gives reservations back and runs completions; says whether any ran.
    #[inline]
    pub(super) fn complete(&mut self) -> bool {
        self.engine.queue().has_completions() && self.run_completions()
    }

    #[inline(never)]
    fn run_completions(&mut self) -> bool {
        if let Some((bytes, operations)) = self.engine.queue_mut().take_released() {
            self.shared.account.release(bytes, operations);
        }
        let mut ran = false;
        while let Some(done) = self.engine.queue_mut().poll_completion() {
            ran = true;
            self.run_guarded(|session| (done.token)(session, Ok(done.bytes)));
        }
        ran
    }

    /// Completes everything that can no longer be sent, and forgets the transport.
    pub(super) fn abandon(&mut self) {
        let generation = self.shared.generation();
        let abandoned = self.engine.queue_mut().abandon();
        if let Some((bytes, operations)) = self.engine.queue_mut().take_released() {
            self.shared.account.release(bytes, operations);
        }
        self.shared
            .counters
            .dropped(abandoned.bytes, abandoned.operations);
        self.shared.publish_queued(0);
        let cut = self.engine.is_cut() || abandoned.operations != 0;
        self.shared.counters.set_cut(cut);
        if let Some(transport) = self.transport.take()
            && cut
        {
            transport.socket().cut_on_drop();
        }
        self.complete();
        for completion in abandoned.tokens {
            let lost = SendError::ConnectionLost { generation };
            self.run_guarded(|session| completion(session, Err(lost)));
        }
    }

    /// Runs a function of the application. One that panics ends the session, and keeps nothing else from being run.
    pub(super) fn run_guarded(&mut self, function: impl FnOnce(&mut Session)) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| function(self))) {
            self.panicked(&*panic);
        }
    }

    /// Something of the application panicked.
    #[cold]
    pub(super) fn panicked(&mut self, panic: &(dyn Any + Send)) {
        let message = panic_message(panic);
        let peer = self.peer();
        tracing::error!(session = %self.id(), %peer, message, "handler panicked");
        self.fault(Error::Panic { peer, message });
    }

    /// When a timer of the engine or the application is due.
    #[inline]
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let engine = self.engine.next_deadline();
        let Some(rare) = &self.rare else {
            return engine;
        };
        // Timers run as long as the session does; one that stays due would be looked at for ever.
        if self.engine.state() == State::Closed {
            return None;
        }
        match (engine, rare.timers.next_deadline()) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// The next timer of the application that is due.
    pub(super) fn poll_timer(
        &mut self,
        at: Instant,
    ) -> Option<(TimerKey, Action, Option<Duration>)> {
        self.rare.as_mut()?.timers.poll(at)
    }

    pub(super) fn keep_timer(&mut self, key: &TimerKey, action: Action) {
        if let Some(rare) = &mut self.rare {
            rare.timers.keep(key, action);
        }
    }
}

/// A lane that ends drops its sessions in the middle of their lives: what they accepted completes all the same.
impl Drop for Session {
    fn drop(&mut self) {
        if self.engine.state() != State::Closed {
            self.engine.handle_fault();
            self.abandon();
        }
        self.end_mail();
    }
}

/// Flushes that may wait beside the sends: more are of somebody who gives up waiting and asks again, before a peer that
/// does not read.
const FLUSHES: usize = 1024;

/// The shortest interval of a repeating timer.
const LEAST_INTERVAL: Duration = Duration::from_millis(1);

/// What a panic said.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.shared.fmt(f)
    }
}
