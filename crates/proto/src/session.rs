//! The life of one connection as an engine: `Connecting → Open → Draining → Closed`.
//!
//! A [`Session`] holds the send queue and the deadlines, and says what is to be done: events for the application, bytes
//! for the transport, the end of the sending direction, the next deadline. What arrives is decoded by
//! [`Inbound`](crate::buf::Inbound), which is apart from it so that a message can be borrowed while the session sends;
//! [`Endpoint`](crate::endpoint::Endpoint) puts the two together where no borrow is needed.
//!
//! Order of draining, after every `handle_*` and every command: [`poll_event`](Session::poll_event),
//! [`queue`](Session::queue) with [`handle_written`](Session::handle_written), completions of the queue, then
//! [`next_deadline`](Session::next_deadline).

use std::time::{Duration, Instant};

use crate::buf::{Full, SendLimits, SendQueue};

/// The silence timeout is checked so many times in its length, so that arriving bytes only set a flag and no clock is
/// read for them: a connection is closed between 1 and 1 + 1/8 timeouts after the last byte, and never before.
const SILENCE_CHECKS: u32 = 8;

/// The least time between two looks at the silence, so that a tiny timeout is no busy loop.
const SILENCE_STEP_MIN: Duration = Duration::from_millis(1);

/// The limits and times of a [`Session`].
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// How much may wait to be sent.
    pub send: SendLimits,
    /// How long the peer may be silent. `None` turns it off. Default 3,600 s.
    pub silence: Option<Duration>,
    /// How long a graceful close may take, from the command to the peer's end of stream. Default 30 s.
    pub close: Duration,
    /// How long it may take to connect, from the resolution of the name to the last handshake. Default 30 s.
    pub connect: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            send: SendLimits::default(),
            silence: Some(Duration::from_secs(3600)),
            close: Duration::from_secs(30),
            connect: Duration::from_secs(30),
        }
    }
}

/// Where a connection is in its life.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum State {
    /// Connecting, or shaking hands.
    Connecting,
    /// Data flows.
    Open,
    /// No new sends; what was accepted is handed over, then the stream is ended on both sides.
    Draining,
    /// Nothing happens any more.
    Closed,
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Cause {
    /// This side asked for a graceful close.
    Local,
    /// This side asked to cut the connection.
    Aborted,
    /// The peer ended the stream.
    Peer,
    /// The peer was silent for too long.
    Silence,
    /// It was not connected in time.
    ConnectTimeout,
    /// The driver met an error, and keeps it.
    Fault,
}

/// What the application is told, in order; `Closed` exactly once and last.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// The connection is open.
    Opened,
    /// The send queue, which had refused something, has drained to half, and has room for it.
    Writable,
    /// The connection has ended.
    Closed {
        /// Why.
        cause: Cause,
        /// Whether it was cut at the close deadline, before both sides had ended their streams.
        forced: bool,
    },
}

/// Why a send was refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The connection is not open, or is being closed.
    #[error("not connected")]
    NotConnected,
    /// There is no room.
    #[error(transparent)]
    Full(#[from] Full),
}

/// One connection, without its socket. `T` is the token of a send that wants to hear of its completion.
#[derive(Debug)]
pub struct Session<T> {
    config: Config,
    state: State,
    queue: SendQueue<T>,
    cause: Cause,
    forced: bool,
    /// The least that was refused for want of room since `Writable` was last told.
    refused: Option<usize>,
    opened_due: bool,
    closed_due: bool,
    /// The sending direction: still open, to be ended, ended.
    sending: Half,
    peer_ended: bool,
    /// Something arrived since the silence was last checked.
    heard: bool,
    silent_since: Option<Instant>,
    silence_check: Option<Instant>,
    /// The connect deadline while connecting, the close deadline while draining.
    deadline: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Half {
    Open,
    Ending,
    Ended,
}

impl<T> Session<T> {
    /// A connection that is being made at `now`.
    pub fn new(config: Config, now: Instant) -> Self {
        Self {
            config,
            state: State::Connecting,
            queue: SendQueue::new(config.send),
            cause: Cause::Local,
            forced: false,
            refused: None,
            opened_due: false,
            closed_due: false,
            sending: Half::Open,
            peer_ended: false,
            heard: false,
            silent_since: None,
            silence_check: None,
            deadline: now.checked_add(config.connect),
        }
    }

    /// Where it is in its life.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether the peer has ended its stream.
    #[inline]
    pub fn peer_has_ended(&self) -> bool {
        self.peer_ended
    }

    /// Whether it ended before both sides had ended their streams, by a command or at the close deadline.
    pub fn is_cut(&self) -> bool {
        self.forced
    }

    /// What waits to be sent.
    #[inline]
    pub fn queue(&self) -> &SendQueue<T> {
        &self.queue
    }

    /// What waits to be sent, for pushing what was admitted and for draining completions.
    #[inline]
    pub fn queue_mut(&mut self) -> &mut SendQueue<T> {
        &mut self.queue
    }

    /// The transport is connected and the handshakes are done.
    pub fn handle_opened(&mut self, now: Instant) {
        if self.state != State::Connecting {
            return;
        }
        self.state = State::Open;
        self.deadline = None;
        self.opened_due = true;
        self.watch_silence(now);
    }

    /// Something arrived.
    #[inline]
    pub fn handle_heard(&mut self) {
        self.heard = true;
    }

    /// The peer has ended its stream. What waits can still be sent; while draining, this is the end that was waited for.
    pub fn handle_peer_ended(&mut self) {
        self.peer_ended = true;
        self.settle();
    }

    /// The transport accepted `count` wire bytes.
    #[inline]
    pub fn handle_written(&mut self, count: usize) {
        self.queue.advance(count);
        if self.state == State::Draining {
            self.settle();
        }
    }

    /// The transport accepted all that waited.
    #[inline]
    pub fn handle_flushed(&mut self) {
        if !self.queue.is_empty() {
            // Operations without bytes, which nothing carries over.
            self.queue.advance(0);
        }
        if self.state == State::Draining {
            self.settle();
        }
    }

    /// The sending direction has been ended, as [`wants_end`](Self::wants_end) asked.
    pub fn handle_ended(&mut self) {
        self.sending = Half::Ended;
        self.settle();
    }

    /// The transport failed, or the driver refuses to go on.
    pub fn handle_fault(&mut self) {
        self.close_now(Cause::Fault);
    }

    /// Does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            match self.state {
                State::Connecting => return self.close_now(Cause::ConnectTimeout),
                State::Draining => {
                    self.forced = true;
                    return self.close_now(self.cause);
                }
                State::Open | State::Closed => self.deadline = None,
            }
        }
        if self.silence_check.is_some_and(|check| check <= now) {
            self.check_silence(now);
        }
    }

    fn check_silence(&mut self, now: Instant) {
        let Some(limit) = self.config.silence else {
            self.silence_check = None;
            return;
        };
        if std::mem::take(&mut self.heard) {
            self.silent_since = Some(now);
        }
        let since = self.silent_since.unwrap_or(now);
        if now.saturating_duration_since(since) >= limit {
            return self.close_now(Cause::Silence);
        }
        // The last look is at the limit itself, which need not be a whole number of steps away.
        let due = since.checked_add(limit.max(SILENCE_STEP_MIN));
        let next = now.checked_add(silence_step(limit));
        self.silence_check = [due, next].into_iter().flatten().min();
    }

    /// How long the peer may be silent.
    pub fn silence(&self) -> Option<Duration> {
        self.config.silence
    }

    /// Changes the silence timeout, counted from `now`. `None` turns it off.
    pub fn set_silence(&mut self, silence: Option<Duration>, now: Instant) {
        self.config.silence = silence;
        self.watch_silence(now);
    }

    fn watch_silence(&mut self, now: Instant) {
        self.heard = false;
        self.silent_since = Some(now);
        self.silence_check = match self.config.silence {
            Some(limit) if self.state == State::Open => now.checked_add(silence_step(limit)),
            _ => None,
        };
    }

    /// Whether a payload of `bytes` may be queued now. On refusal for want of room, `Writable` follows once there is.
    #[inline]
    pub fn admit(&mut self, bytes: usize) -> Result<(), Refusal> {
        if self.state != State::Open {
            return Err(Refusal::NotConnected);
        }
        self.queue
            .admits(bytes)
            .inspect_err(|_| self.remember_refused(bytes))?;
        Ok(())
    }

    /// What is larger than the whole queue is not remembered: there will never be room for it.
    #[cold]
    fn remember_refused(&mut self, bytes: usize) {
        if bytes <= self.config.send.bytes {
            self.refused = Some(self.refused.map_or(bytes, |least| least.min(bytes)));
        }
    }

    /// Whether what was refused would be admitted now. Half of the queue is not enough for a message that is larger: who
    /// tries again at each `Writable` would be told for ever, and hold the lane.
    #[inline]
    fn is_writable_again(&self) -> bool {
        self.refused.is_some_and(|least| {
            self.state == State::Open
                && self.queue.is_half_empty()
                && self.queue.admits(least).is_ok()
        })
    }

    /// Starts a graceful close: what was accepted is sent, both directions are ended. Idempotent.
    pub fn close(&mut self, now: Instant) {
        match self.state {
            State::Connecting => self.close_now(Cause::Local),
            State::Open => {
                let cause = if self.peer_ended {
                    Cause::Peer
                } else {
                    Cause::Local
                };
                self.drain(cause, now.checked_add(self.config.close));
            }
            State::Draining | State::Closed => {}
        }
    }

    /// Cuts a close that is under way at `deadline`, if that is earlier.
    pub fn close_by(&mut self, now: Instant, deadline: Instant) {
        self.close(now);
        if self.state == State::Draining {
            self.deadline = Some(self.deadline.map_or(deadline, |set| set.min(deadline)));
        }
    }

    /// Answers the end of the peer's stream: sends what waits, then ends this direction too.
    pub fn finish(&mut self, now: Instant) {
        if self.state == State::Open {
            self.drain(Cause::Peer, now.checked_add(self.config.close));
        }
    }

    /// Ends at once; what waits is given up.
    pub fn abort(&mut self) {
        self.forced |= self.state != State::Closed;
        self.close_now(Cause::Aborted);
    }

    fn drain(&mut self, cause: Cause, deadline: Option<Instant>) {
        self.state = State::Draining;
        self.cause = cause;
        self.deadline = deadline;
        self.silence_check = None;
        self.settle();
    }

    fn close_now(&mut self, cause: Cause) {
        if self.state == State::Closed {
            return;
        }
        self.state = State::Closed;
        self.cause = cause;
        self.deadline = None;
        self.silence_check = None;
        self.closed_due = true;
    }

    /// Moves a draining session on: the queue first, then this side's end, then the peer's.
    fn settle(&mut self) {
        if self.state != State::Draining {
            return;
        }
        if self.sending == Half::Open && self.queue.is_empty() {
            self.sending = Half::Ending;
        }
        if self.sending == Half::Ended && self.peer_ended {
            self.close_now(self.cause);
        }
    }

    /// Whether everything accepted has been handed over and the sending direction is to be ended now. Answer with
    /// [`handle_ended`](Self::handle_ended).
    #[inline]
    pub fn wants_end(&self) -> bool {
        self.sending == Half::Ending && self.state == State::Draining
    }

    /// Whether [`poll_event`](Self::poll_event) or a completion of the queue has something.
    #[inline]
    pub fn has_news(&self) -> bool {
        self.opened_due
            || self.closed_due
            || self.queue.has_completions()
            || self.is_writable_again()
    }

    /// The next event, in order.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        if self.opened_due {
            self.opened_due = false;
            return Some(Event::Opened);
        }
        if self.is_writable_again() {
            self.refused = None;
            return Some(Event::Writable);
        }
        if self.closed_due {
            self.closed_due = false;
            return Some(Event::Closed {
                cause: self.cause,
                forced: self.forced,
            });
        }
        None
    }

    /// When [`handle_timeout`](Self::handle_timeout) is wanted next.
    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        match (self.deadline, self.silence_check) {
            (Some(deadline), Some(check)) => Some(deadline.min(check)),
            (deadline, check) => deadline.or(check),
        }
    }
}

/// How long until the silence is looked at again.
fn silence_step(limit: Duration) -> Duration {
    (limit / SILENCE_CHECKS).max(SILENCE_STEP_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buf::Account;

    const SECOND: Duration = Duration::from_secs(1);

    #[expect(
        clippy::disallowed_methods,
        reason = "an Instant can be had from a clock only"
    )]
    fn opened(config: Config) -> (Session<u32>, Instant) {
        let now = Instant::now();
        let mut session = Session::new(config, now);
        session.handle_opened(now);
        assert_eq!(session.poll_event(), Some(Event::Opened));
        (session, now)
    }

    fn closed(cause: Cause, forced: bool) -> Option<Event> {
        Some(Event::Closed { cause, forced })
    }

    #[test]
    fn who_is_refused_more_than_half_of_the_queue_is_told_when_there_is_room() {
        let (mut session, _) = opened(Config {
            send: SendLimits {
                bytes: 100,
                operations: 10,
            },
            ..Config::default()
        });
        session.queue_mut().push(b"", &[0; 40], Account::Own, None);
        assert!(session.admit(80).is_err());
        assert!(!session.has_news());
        assert_eq!(session.poll_event(), None, "60 bytes are free");
        session.handle_written(40);
        assert_eq!(session.poll_event(), Some(Event::Writable));
        assert!(session.admit(80).is_ok());
        assert!(session.admit(101).is_err());
        assert_eq!(session.poll_event(), None, "it never fits");
    }

    #[test]
    fn a_silence_that_is_no_whole_number_of_steps_ends_at_its_limit() {
        let limit = SECOND + Duration::from_nanos(1);
        let (mut session, start) = opened(Config {
            silence: Some(limit),
            ..Config::default()
        });
        let mut looks = 0;
        while let Some(next) = session.next_deadline() {
            session.handle_timeout(next);
            looks += 1;
            assert!(next <= start + limit);
        }
        assert_eq!(session.poll_event(), closed(Cause::Silence, false));
        assert_eq!(looks, SILENCE_CHECKS + 1);
    }

    #[test]
    fn a_tiny_silence_is_no_busy_loop() {
        let (mut session, mut now) = opened(Config {
            silence: Some(Duration::from_nanos(1)),
            ..Config::default()
        });
        for _ in 0..100 {
            session.handle_heard();
            let next = session.next_deadline().unwrap();
            assert!(next >= now + SILENCE_STEP_MIN);
            now = next;
            session.handle_timeout(now);
        }
        assert_eq!(session.state(), State::Open);
    }

    #[test]
    fn the_earliest_of_several_deadlines_cuts_a_close() {
        let (mut session, now) = opened(Config::default());
        session.close_by(now, now + 90 * SECOND);
        assert_eq!(session.next_deadline(), Some(now + 30 * SECOND));
        session.close_by(now, now + 2 * SECOND);
        session.close_by(now, now + 5 * SECOND);
        session.close(now);
        assert_eq!(session.next_deadline(), Some(now + 2 * SECOND));
        session.handle_timeout(now + 2 * SECOND);
        assert_eq!(session.poll_event(), closed(Cause::Local, true));
        assert_eq!(session.poll_event(), None);
    }

    #[test]
    fn the_peers_end_is_the_cause_when_it_is_answered() {
        let answers: [fn(&mut Session<u32>, Instant); 2] = [Session::finish, Session::close];
        for answer in answers {
            let (mut session, now) = opened(Config::default());
            session.handle_peer_ended();
            assert_eq!(session.state(), State::Open);
            session.queue_mut().push(b"", b"rest", Account::Own, None);
            answer(&mut session, now);
            assert!(!session.wants_end());
            session.handle_written(4);
            assert!(session.wants_end());
            session.handle_ended();
            assert_eq!(session.poll_event(), closed(Cause::Peer, false));
        }
    }

    #[test]
    fn nothing_changes_how_a_connection_has_ended() {
        let (mut session, now) = opened(Config::default());
        session.handle_fault();
        session.abort();
        session.close(now);
        session.finish(now);
        session.handle_opened(now);
        session.handle_timeout(now + 10_000 * SECOND);
        session.handle_peer_ended();
        assert_eq!(session.poll_event(), closed(Cause::Fault, false));
        assert_eq!(session.poll_event(), None);
        assert!(!session.is_cut() && !session.has_news());
    }

    #[test]
    fn news_are_announced_as_long_as_there_are_any() {
        let (mut session, _) = opened(Config {
            send: SendLimits {
                bytes: 10,
                operations: 10,
            },
            ..Config::default()
        });
        session.queue_mut().push(b"", &[0; 10], Account::Own, None);
        assert!(session.admit(1).is_err() && !session.has_news());
        session.handle_written(10);
        assert!(session.has_news());
        assert_eq!(session.poll_event(), Some(Event::Writable));
        assert!(!session.has_news());
        session.abort();
        assert!(session.has_news());
        assert_eq!(session.poll_event(), closed(Cause::Aborted, true));
        assert!(!session.has_news());
    }
}
