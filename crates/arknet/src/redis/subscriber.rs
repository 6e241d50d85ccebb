//! Publish and subscribe: a connection that listens, and listens again when it was lost.

mod config;
mod connection;
mod driver;
mod event;
mod shared;

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use arknet_proto::redis::exchange::SubscriptionKind;
use bytes::Bytes;
use futures_core::Stream;

pub use self::config::SubscriberConfig;
pub use self::event::{GapReason, SubscriberEvent};

use self::driver::{Last, drive};
use self::event::Sink;
use self::shared::{Shared, Verb};
use super::backlog::{Backlog, Next};
use super::client::Report;
use super::error::Error;
use crate::lanes::{Lanes, Tenant};
use crate::link;

/// Listens to channels and patterns, on a connection of its own. Also a [`Stream`] of events.
///
/// When the connection is lost, it is made again, and everything is subscribed to again. Then comes one
/// [`SubscriberEvent::Gap`], and from there on every message, once and in the order of the server. So whoever keeps a copy
/// of something looks at the whole of it when told of a gap, and then follows the messages, and misses nothing.
///
/// Messages wait for the consumer in a bounded queue; [`SubscriberConfig::overflow`] says what happens when it is full.
/// Dropping the subscriber closes the connection.
///
/// ```no_run
/// use arknet::Lanes;
/// use arknet::redis::{Config, Subscriber, SubscriberEvent};
///
/// # async fn run(lanes: &Lanes) -> Result<(), arknet::redis::Error> {
/// let mut subscriber = Subscriber::new(Config::new("127.0.0.1:6379")?, lanes)?;
/// subscriber.subscribe(["news", "weather"]).await?;
/// while let Some(event) = subscriber.recv().await {
///     match event {
///         SubscriberEvent::Message { channel, payload, .. } => println!("{channel:?}: {payload:?}"),
///         SubscriberEvent::Gap(reason) => println!("messages may be missing: {reason}"),
///         _ => {}
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Subscriber {
    handle: SubscriberHandle,
    backlog: Backlog<SubscriberEvent>,
}

impl Subscriber {
    /// A subscriber that connects in the background, on one of these lanes.
    ///
    /// # Errors
    ///
    /// [`Error::Config`], if the configuration cannot work.
    pub fn new(config: impl Into<SubscriberConfig>, lanes: &Lanes) -> Result<Self, Error> {
        let config = config.into();
        let backlog = Backlog::new(config.bounds());
        let handle = start(config, lanes, Sink::Queue(backlog.clone()))?;
        Ok(Self { handle, backlog })
    }

    /// The same with a function that gets the events, on the connection's lane. If it panics, that event is lost on it, and
    /// nobody else notices. Until it returns, no other event is dealt with.
    ///
    /// The connection is closed when the last clone of the handle is dropped.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with(
        config: impl Into<SubscriberConfig>,
        lanes: &Lanes,
        function: impl FnMut(SubscriberEvent) + Send + 'static,
    ) -> Result<SubscriberHandle, Error> {
        let handle = start(config.into(), lanes, Sink::Function(Box::new(function)))?;
        handle.shared.keep_by_handles();
        Ok(handle)
    }

    /// For subscribing from elsewhere. It does not keep the subscriber alive.
    pub fn handle(&self) -> SubscriberHandle {
        self.handle.clone()
    }

    /// The next event; `None` after the last one: the subscriber has ended, or its queue has, by
    /// [`Overflow::Disconnect`](super::Overflow::Disconnect).
    ///
    /// Dropping this future loses nothing.
    pub async fn recv(&mut self) -> Option<SubscriberEvent> {
        poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<SubscriberEvent>> {
        Poll::Ready(ready!(self.backlog.poll_next(cx)).map(|next| match next {
            Next::Item(event) => event,
            Next::Missed(messages) => SubscriberEvent::Gap(GapReason::Overflowed { messages }),
        }))
    }
}

/// What can be done with a subscriber, from anywhere.
impl std::ops::Deref for Subscriber {
    type Target = SubscriberHandle;

    fn deref(&self) -> &SubscriberHandle {
        &self.handle
    }
}

impl Stream for Subscriber {
    type Item = SubscriberEvent;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<SubscriberEvent>> {
        self.poll(cx)
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.backlog.abandon();
        self.handle.shared.close(link::now());
    }
}

fn start(config: SubscriberConfig, lanes: &Lanes, sink: Sink) -> Result<SubscriberHandle, Error> {
    let shared = Shared::new(config)?;
    let tenant: Weak<dyn Tenant> = Arc::downgrade(&(shared.clone() as Arc<dyn Tenant>));
    lanes.admit(tenant);
    let last = Last::new(shared.clone(), sink);
    lanes.next().spawn(drive(last));
    Ok(SubscriberHandle { shared })
}

/// Subscribes and takes back, for a [`Subscriber`] that is elsewhere. Clones are for the same subscriber.
///
/// Every call is done when the server has confirmed it, within
/// [`Config::request_timeout`](super::Config::request_timeout). Without a connection it waits for one. Dropping its future
/// takes nothing back: it is only not told any more.
pub struct SubscriberHandle {
    shared: Arc<Shared>,
}

impl SubscriberHandle {
    /// Subscribes to channels.
    ///
    /// # Errors
    ///
    /// [`Error::Server`] if the server does not allow one of them, and then none of the new ones is subscribed to;
    /// [`Error::Timeout`], after which the subscription may still come about; [`Error::Full`] beyond a million names;
    /// [`Error::Closed`].
    pub async fn subscribe<N: AsRef<[u8]>>(
        &self,
        channels: impl IntoIterator<Item = N>,
    ) -> Result<(), Error> {
        self.call(Verb::Subscribe, SubscriptionKind::Channel, channels)
            .await
    }

    /// Subscribes to patterns of channels, such as `news.*`.
    ///
    /// # Errors
    ///
    /// As [`subscribe`](Self::subscribe).
    pub async fn psubscribe<N: AsRef<[u8]>>(
        &self,
        patterns: impl IntoIterator<Item = N>,
    ) -> Result<(), Error> {
        self.call(Verb::Subscribe, SubscriptionKind::Pattern, patterns)
            .await
    }

    /// Subscribes to channels of the server's shard; of a cluster, all must belong to one slot of this server.
    ///
    /// # Errors
    ///
    /// As [`subscribe`](Self::subscribe).
    pub async fn ssubscribe<N: AsRef<[u8]>>(
        &self,
        channels: impl IntoIterator<Item = N>,
    ) -> Result<(), Error> {
        self.call(Verb::Subscribe, SubscriptionKind::Shard, channels)
            .await
    }

    /// Takes subscriptions to channels back. Messages that are under way still come until it is done.
    ///
    /// # Errors
    ///
    /// As [`subscribe`](Self::subscribe).
    pub async fn unsubscribe<N: AsRef<[u8]>>(
        &self,
        channels: impl IntoIterator<Item = N>,
    ) -> Result<(), Error> {
        self.call(Verb::Unsubscribe, SubscriptionKind::Channel, channels)
            .await
    }

    /// Takes subscriptions to patterns back.
    ///
    /// # Errors
    ///
    /// As [`subscribe`](Self::subscribe).
    pub async fn punsubscribe<N: AsRef<[u8]>>(
        &self,
        patterns: impl IntoIterator<Item = N>,
    ) -> Result<(), Error> {
        self.call(Verb::Unsubscribe, SubscriptionKind::Pattern, patterns)
            .await
    }

    /// Takes subscriptions to channels of the shard back.
    ///
    /// # Errors
    ///
    /// As [`subscribe`](Self::subscribe).
    pub async fn sunsubscribe<N: AsRef<[u8]>>(
        &self,
        channels: impl IntoIterator<Item = N>,
    ) -> Result<(), Error> {
        self.call(Verb::Unsubscribe, SubscriptionKind::Shard, channels)
            .await
    }

    async fn call<N: AsRef<[u8]>>(
        &self,
        verb: Verb,
        kind: SubscriptionKind,
        names: impl IntoIterator<Item = N>,
    ) -> Result<(), Error> {
        let names = names
            .into_iter()
            .map(|name| Bytes::copy_from_slice(name.as_ref()))
            .collect();
        let confirmed = self.shared.call(verb, kind, names)?;
        confirmed.await.unwrap_or(Err(Error::Closed))
    }

    /// How many names the server has confirmed.
    pub fn subscriptions(&self) -> usize {
        self.shared.subscriptions()
    }

    /// Whether there is a connection at this moment.
    pub fn is_connected(&self) -> bool {
        self.shared.is_connected()
    }

    /// Closes the connection, within this time, and ends the subscriber. Events that wait can still be received.
    pub async fn close(&self, within: Duration) -> Report {
        self.shared.close(link::after(within));
        self.shared.end().await
    }
}

impl Clone for SubscriberHandle {
    fn clone(&self) -> Self {
        self.shared.add_handle();
        Self {
            shared: self.shared.clone(),
        }
    }
}

impl Drop for SubscriberHandle {
    fn drop(&mut self) {
        self.shared.drop_handle();
    }
}

impl fmt::Debug for SubscriberHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubscriberHandle")
            .field("address", self.shared.address())
            .finish_non_exhaustive()
    }
}
