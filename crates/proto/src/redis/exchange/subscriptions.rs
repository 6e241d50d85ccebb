//! What a connection is subscribed to, what it is about to be, and what it must be again after a loss.

use std::collections::{BTreeSet, VecDeque};

use bytes::Bytes;

use super::login::Speaks;
use crate::redis::{Command, FrameKind, Reply, ServerError};

/// Names in one command. A server confirms each by itself, so that a long list is no better than several, and what it
/// refuses it refuses as a whole.
const NAMES_PER_COMMAND: usize = 500;

/// Subscriptions of one connection. A server holds some hundred bytes for each.
const MOST_NAMES: usize = 1 << 20;

/// What a name is.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum SubscriptionKind {
    /// A channel, by `SUBSCRIBE`.
    Channel,
    /// A pattern of channels, by `PSUBSCRIBE`.
    Pattern,
    /// A channel of one shard of a cluster, by `SSUBSCRIBE`.
    Shard,
}

/// A message, as a view of its frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Publication<'a> {
    /// Where it was published.
    pub channel: &'a [u8],
    /// The pattern that it came by.
    pub pattern: Option<&'a [u8]>,
    /// What was published.
    pub payload: &'a [u8],
}

/// What a frame was.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Heard<'a> {
    /// A message, to be delivered.
    Message(Publication<'a>),
    /// A message from before everything was subscribed to again: it belongs to the gap.
    Missed,
    /// Nothing for the application. See [`Subscriptions::poll_event`].
    Nothing,
}

/// What has come of what was asked, and what the server did unasked.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum SubscriptionEvent<T> {
    /// The server has confirmed all names of a call.
    Confirmed(T),
    /// The server has refused a call. What was subscribed to before still is.
    Refused(T, ServerError),
    /// After a loss, everything that was subscribed to is so again: from here on nothing is missing.
    Restored,
    /// The server had taken a name away and has given it back: messages in between are missing.
    Resumed(SubscriptionKind, Bytes),
    /// The server has taken a name away, and does not give it back.
    Withdrawn(SubscriptionKind, Bytes, ServerError),
}

/// The server sent what a subscriber's connection does not get.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a reply that nobody asked for")]
pub struct Unexpected;

/// More names than a connection may subscribe to.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("more than {limit} subscriptions")]
pub struct TooManySubscriptions {
    /// How many there may be.
    pub limit: usize,
}

/// The subscriptions of one subscriber, across its connections. `T` says who waits for a confirmation.
///
/// Calls and [`handle_connected`](Self::handle_connected) append to what goes on the wire;
/// [`handle_frame`](Self::handle_frame) takes everything that comes. After each, drain
/// [`poll_event`](Self::poll_event).
///
/// After a loss, [`SubscriptionEvent::Restored`] comes when everything is subscribed to again, before the first message
/// that is delivered. So whoever looks at the state of things when told of the gap, and then takes each message, misses
/// nothing.
#[derive(Debug)]
pub struct Subscriptions<T> {
    /// The version that the connection speaks; none without one.
    speaks: Option<Speaks>,
    /// What the server has confirmed, and is to be restored.
    active: BTreeSet<(SubscriptionKind, Bytes)>,
    /// What was sent, in order.
    flights: VecDeque<Flight<T>>,
    /// Flights that restore what was lost.
    restoring: usize,
    /// What is to be sent when there is a connection.
    held: VecDeque<Call<T>>,
    events: VecDeque<SubscriptionEvent<T>>,
}

#[derive(Debug)]
enum Flight<T> {
    /// What the application wants.
    Call {
        call: Call<T>,
        confirmed: usize,
    },
    /// What is wanted again after a loss.
    Restore {
        kind: SubscriptionKind,
        names: Vec<Bytes>,
        confirmed: usize,
    },
    /// A name that the server has taken away.
    Resume {
        kind: SubscriptionKind,
        name: Bytes,
    },
    Ping,
}

#[derive(Debug)]
struct Call<T> {
    verb: Verb,
    kind: SubscriptionKind,
    names: Vec<Bytes>,
    token: T,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Verb {
    Subscribe,
    Unsubscribe,
}

/// A frame, understood.
enum Understood<'a> {
    Message(Publication<'a>),
    Confirmation(Verb, SubscriptionKind, &'a [u8]),
    Pong,
    /// A push of another kind.
    Other,
}

impl<T> Default for Subscriptions<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Subscriptions<T> {
    /// Nothing is subscribed to, and there is no connection.
    pub const fn new() -> Self {
        Self {
            speaks: None,
            active: BTreeSet::new(),
            flights: VecDeque::new(),
            restoring: 0,
            held: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// How many names the server has confirmed.
    pub fn len(&self) -> usize {
        self.active.len()
    }

    /// Whether the server has confirmed none.
    pub fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    /// Whether the server owes an answer.
    pub fn awaits_reply(&self) -> bool {
        !self.flights.is_empty()
    }

    /// All who wait, and whether what they wait for has been sent.
    pub fn tokens_mut(&mut self) -> impl Iterator<Item = (&mut T, bool)> {
        let sent = self.flights.iter_mut().filter_map(|flight| match flight {
            Flight::Call { call, .. } => Some((&mut call.token, true)),
            _ => None,
        });
        sent.chain(self.held.iter_mut().map(|call| (&mut call.token, false)))
    }

    /// Subscribes to names: at once if there is a connection, otherwise as soon as there is one. [`SubscriptionEvent`]
    /// says what came of it.
    ///
    /// # Errors
    ///
    /// [`TooManySubscriptions`], and nothing has changed.
    pub fn subscribe(
        &mut self,
        kind: SubscriptionKind,
        names: impl IntoIterator<Item = Bytes>,
        token: T,
        wire: &mut Vec<u8>,
    ) -> Result<(), TooManySubscriptions> {
        let names = distinct(names);
        let pending: usize = self.calls().map(|call| call.names.len()).sum();
        if self.active.len() + pending + names.len() > MOST_NAMES {
            return Err(TooManySubscriptions { limit: MOST_NAMES });
        }
        self.call(Verb::Subscribe, kind, names, token, wire);
        Ok(())
    }

    /// Takes subscriptions back. Messages that are under way still come.
    pub fn unsubscribe(
        &mut self,
        kind: SubscriptionKind,
        names: impl IntoIterator<Item = Bytes>,
        token: T,
        wire: &mut Vec<u8>,
    ) {
        let names = distinct(names);
        self.forget(kind, &names);
        self.call(Verb::Unsubscribe, kind, names, token, wire);
    }

    fn calls(&self) -> impl Iterator<Item = &Call<T>> {
        let sent = self.flights.iter().filter_map(|flight| match flight {
            Flight::Call { call, .. } => Some(call),
            _ => None,
        });
        sent.chain(&self.held)
    }

    fn call(
        &mut self,
        verb: Verb,
        kind: SubscriptionKind,
        names: Vec<Bytes>,
        token: T,
        wire: &mut Vec<u8>,
    ) {
        // Without a connection nothing is subscribed to, and nothing needs to be taken back; but what waits to be
        // subscribed to stands before it.
        let done = self.speaks.is_none() && verb == Verb::Unsubscribe && self.held.is_empty();
        if names.is_empty() || done {
            self.events.push_back(SubscriptionEvent::Confirmed(token));
            return;
        }
        let call = Call {
            verb,
            kind,
            names,
            token,
        };
        if self.speaks.is_none() {
            self.held.push_back(call);
        } else {
            self.send(call, wire);
        }
    }

    fn send(&mut self, call: Call<T>, wire: &mut Vec<u8>) {
        encode(call.verb, call.kind, &call.names, wire);
        self.flights.push_back(Flight::Call { call, confirmed: 0 });
    }

    /// Asks the server whether it is there.
    pub fn ping(&mut self, wire: &mut Vec<u8>) {
        if self.speaks.is_some() {
            Command::new("PING").encode_to(wire);
            self.flights.push_back(Flight::Ping);
        }
    }

    /// There is a connection: appends what subscribes to everything again, then what was asked meanwhile.
    pub fn handle_connected(&mut self, speaks: Speaks, wire: &mut Vec<u8>) {
        self.speaks = Some(speaks);
        for kind in [
            SubscriptionKind::Channel,
            SubscriptionKind::Pattern,
            SubscriptionKind::Shard,
        ] {
            let names: Vec<Bytes> = self.active_of(kind).collect();
            for names in names.chunks(NAMES_PER_COMMAND) {
                self.restore(kind, names.to_vec(), wire);
            }
        }
        for call in std::mem::take(&mut self.held) {
            self.send(call, wire);
        }
    }

    fn active_of(&self, kind: SubscriptionKind) -> impl Iterator<Item = Bytes> {
        let of_kind = self.active.iter().filter(move |(of, _)| *of == kind);
        of_kind.map(|(_, name)| name.clone())
    }

    fn restore(&mut self, kind: SubscriptionKind, names: Vec<Bytes>, wire: &mut Vec<u8>) {
        encode(Verb::Subscribe, kind, &names, wire);
        self.restoring += 1;
        self.flights.push_back(Flight::Restore {
            kind,
            names,
            confirmed: 0,
        });
    }

    /// The connection is gone. What was under way is asked again on the next one.
    pub fn handle_lost(&mut self) {
        self.speaks = None;
        self.restoring = 0;
        for flight in std::mem::take(&mut self.flights) {
            let Flight::Call { call, .. } = flight else {
                continue;
            };
            if call.verb == Verb::Unsubscribe {
                self.forget(call.kind, &call.names);
                if self.held.is_empty() {
                    self.events
                        .push_back(SubscriptionEvent::Confirmed(call.token));
                    continue;
                }
            }
            self.held.push_back(call);
        }
    }

    fn forget(&mut self, kind: SubscriptionKind, names: &[Bytes]) {
        for name in names {
            self.active.remove(&(kind, name.clone()));
        }
    }

    /// Takes a frame that has come, and appends what is to be sent because of it.
    ///
    /// # Errors
    ///
    /// [`Unexpected`]: the connection is of no use any more.
    #[inline]
    pub fn handle_frame<'a>(
        &mut self,
        kind: FrameKind,
        frame: &'a [u8],
        wire: &mut Vec<u8>,
    ) -> Result<Heard<'a>, Unexpected> {
        match understand(kind, frame).ok_or(Unexpected)? {
            Ok(Understood::Message(_)) if self.restoring > 0 => Ok(Heard::Missed),
            Ok(Understood::Message(publication)) => Ok(Heard::Message(publication)),
            Ok(Understood::Confirmation(verb, kind, name)) => {
                self.handle_confirmation(verb, kind, name, wire);
                Ok(Heard::Nothing)
            }
            Ok(Understood::Pong) => self.handle_pong(),
            Ok(Understood::Other) => Ok(Heard::Nothing),
            Err(error) => self.handle_refusal(error, wire),
        }
    }

    fn handle_pong<'a>(&mut self) -> Result<Heard<'a>, Unexpected> {
        match self.flights.pop_front() {
            Some(Flight::Ping) => Ok(Heard::Nothing),
            _ => Err(Unexpected),
        }
    }

    fn handle_confirmation(
        &mut self,
        verb: Verb,
        kind: SubscriptionKind,
        name: &[u8],
        wire: &mut Vec<u8>,
    ) {
        let belongs = self
            .flights
            .front()
            .is_some_and(|flight| flight.expects(verb, kind, name));
        let key = (kind, Bytes::copy_from_slice(name));
        if belongs {
            match verb {
                Verb::Subscribe => self.active.insert(key),
                Verb::Unsubscribe => self.active.remove(&key),
            };
            self.advance();
        } else if verb == Verb::Unsubscribe && self.active.contains(&key) {
            self.resume(key, wire);
        }
    }

    /// The server has taken a name away: in a cluster the slot has moved. Perhaps it can be had again, unless the
    /// application is about to give it up.
    fn resume(&mut self, key: (SubscriptionKind, Bytes), wire: &mut Vec<u8>) {
        let (kind, name) = &key;
        let given_up = |call: &Call<T>| {
            call.verb == Verb::Unsubscribe && call.kind == *kind && call.names.contains(name)
        };
        if self.calls().any(given_up) {
            self.active.remove(&key);
            return;
        }
        encode(Verb::Subscribe, *kind, std::slice::from_ref(name), wire);
        let (kind, name) = key;
        self.flights.push_back(Flight::Resume { kind, name });
    }

    /// One more name of the first flight is confirmed.
    fn advance(&mut self) {
        let whole = match self.flights.front_mut() {
            Some(Flight::Call { call, confirmed }) => {
                *confirmed += 1;
                *confirmed == call.names.len()
            }
            Some(Flight::Restore {
                names, confirmed, ..
            }) => {
                *confirmed += 1;
                *confirmed == names.len()
            }
            _ => true,
        };
        if !whole {
            return;
        }
        match self.flights.pop_front() {
            Some(Flight::Call { call, .. }) => self
                .events
                .push_back(SubscriptionEvent::Confirmed(call.token)),
            Some(Flight::Restore { .. }) => self.restored(),
            Some(Flight::Resume { kind, name }) => self
                .events
                .push_back(SubscriptionEvent::Resumed(kind, name)),
            _ => {}
        }
    }

    fn restored(&mut self) {
        self.restoring -= 1;
        if self.restoring == 0 {
            self.events.push_back(SubscriptionEvent::Restored);
        }
    }

    fn handle_refusal<'a>(
        &mut self,
        error: ServerError,
        wire: &mut Vec<u8>,
    ) -> Result<Heard<'a>, Unexpected> {
        match self.flights.pop_front().ok_or(Unexpected)? {
            Flight::Call { call, .. } => self
                .events
                .push_back(SubscriptionEvent::Refused(call.token, error)),
            Flight::Restore { kind, names, .. } => self.not_restored(kind, names, error, wire),
            Flight::Resume { kind, name } => self.withdraw(kind, name, error),
            // A server that refuses a ping is there.
            Flight::Ping => {}
        }
        Ok(Heard::Nothing)
    }

    /// One of the names is refused, and so all are: each is asked for by itself.
    fn not_restored(
        &mut self,
        kind: SubscriptionKind,
        names: Vec<Bytes>,
        error: ServerError,
        wire: &mut Vec<u8>,
    ) {
        match <[Bytes; 1]>::try_from(names) {
            Ok([name]) => self.withdraw(kind, name, error),
            Err(names) => {
                for name in names {
                    self.restore(kind, vec![name], wire);
                }
            }
        }
        self.restored();
    }

    fn withdraw(&mut self, kind: SubscriptionKind, name: Bytes, error: ServerError) {
        self.active.remove(&(kind, name.clone()));
        self.events
            .push_back(SubscriptionEvent::Withdrawn(kind, name, error));
    }

    /// Gives up what waits for a connection, and says who waited.
    pub fn give_up_held(&mut self) -> impl Iterator<Item = T> + use<T> {
        std::mem::take(&mut self.held)
            .into_iter()
            .map(|call| call.token)
    }

    /// What has happened. Drain it after every call.
    pub fn poll_event(&mut self) -> Option<SubscriptionEvent<T>> {
        self.events.pop_front()
    }
}

impl<T> Flight<T> {
    /// Whether this is the confirmation that it waits for next: a server confirms in the order of the names.
    fn expects(&self, verb: Verb, kind: SubscriptionKind, name: &[u8]) -> bool {
        let (own_verb, own_kind, next) = match self {
            Self::Call { call, confirmed } => (call.verb, call.kind, call.names.get(*confirmed)),
            Self::Restore {
                kind,
                names,
                confirmed,
            } => (Verb::Subscribe, *kind, names.get(*confirmed)),
            Self::Resume { kind, name } => (Verb::Subscribe, *kind, Some(name)),
            Self::Ping => return false,
        };
        own_verb == verb && own_kind == kind && next.is_some_and(|next| next == name)
    }
}

/// Each name once, in their order.
fn distinct(names: impl IntoIterator<Item = Bytes>) -> Vec<Bytes> {
    let mut seen = BTreeSet::new();
    let mut names: Vec<Bytes> = names.into_iter().collect();
    names.retain(|name| seen.insert(name.clone()));
    names
}

fn encode(verb: Verb, kind: SubscriptionKind, names: &[Bytes], wire: &mut Vec<u8>) {
    let name = match (verb, kind) {
        (Verb::Subscribe, SubscriptionKind::Channel) => "SUBSCRIBE",
        (Verb::Subscribe, SubscriptionKind::Pattern) => "PSUBSCRIBE",
        (Verb::Subscribe, SubscriptionKind::Shard) => "SSUBSCRIBE",
        (Verb::Unsubscribe, SubscriptionKind::Channel) => "UNSUBSCRIBE",
        (Verb::Unsubscribe, SubscriptionKind::Pattern) => "PUNSUBSCRIBE",
        (Verb::Unsubscribe, SubscriptionKind::Shard) => "SUNSUBSCRIBE",
    };
    let mut command = Command::new(name);
    for name in names {
        command.push(name);
    }
    command.encode_to(wire);
}

/// What a frame says; none if a subscriber's connection does not get such.
#[inline]
fn understand(kind: FrameKind, frame: &[u8]) -> Option<Result<Understood<'_>, ServerError>> {
    let mut elements = match Reply::parse(frame).ok()? {
        Reply::Error(text) => return Some(Err(ServerError::new(text))),
        Reply::Simple(b"PONG") => return Some(Ok(Understood::Pong)),
        Reply::Push(elements) | Reply::Array(elements) => elements,
        _ => return None,
    };
    let mut text = || match elements.next()? {
        Reply::Bulk(text) | Reply::Simple(text) | Reply::Verbatim { text, .. } => Some(text),
        _ => None,
    };
    let understood = match text() {
        Some(b"message" | b"smessage") => Understood::Message(Publication {
            channel: text()?,
            pattern: None,
            payload: text()?,
        }),
        Some(b"pmessage") => Understood::Message(Publication {
            pattern: Some(text()?),
            channel: text()?,
            payload: text()?,
        }),
        Some(b"subscribe") => confirmation(Verb::Subscribe, SubscriptionKind::Channel, text()?),
        Some(b"psubscribe") => confirmation(Verb::Subscribe, SubscriptionKind::Pattern, text()?),
        Some(b"ssubscribe") => confirmation(Verb::Subscribe, SubscriptionKind::Shard, text()?),
        Some(b"unsubscribe") => confirmation(Verb::Unsubscribe, SubscriptionKind::Channel, text()?),
        Some(b"punsubscribe") => {
            confirmation(Verb::Unsubscribe, SubscriptionKind::Pattern, text()?)
        }
        Some(b"sunsubscribe") => confirmation(Verb::Unsubscribe, SubscriptionKind::Shard, text()?),
        Some(b"pong") => Understood::Pong,
        _ if kind == FrameKind::Push => Understood::Other,
        _ => return None,
    };
    Some(Ok(understood))
}

fn confirmation(verb: Verb, kind: SubscriptionKind, name: &[u8]) -> Understood<'_> {
    Understood::Confirmation(verb, kind, name)
}

#[cfg(test)]
mod tests;
