//! Who subscribes to what.

use std::collections::{BTreeMap, BTreeSet};

use super::store::matches;

/// Channels, patterns and sharded channels with their subscribers, by client id.
#[derive(Debug, Default)]
pub(super) struct Hub {
    channels: Topics,
    patterns: Topics,
    shards: Topics,
}

/// A kind of subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    Channel,
    Pattern,
    Shard,
}

type Topics = BTreeMap<Vec<u8>, BTreeSet<u64>>;

/// A message for a client, and the pattern that it came by.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Delivery {
    pub(super) client: u64,
    pub(super) pattern: Option<Vec<u8>>,
}

impl Hub {
    pub(super) fn subscribe(&mut self, topic: Topic, name: &[u8], client: u64) {
        self.topics_mut(topic)
            .entry(name.to_vec())
            .or_default()
            .insert(client);
    }

    pub(super) fn unsubscribe(&mut self, topic: Topic, name: &[u8], client: u64) {
        let topics = self.topics_mut(topic);
        if let Some(clients) = topics.get_mut(name) {
            clients.remove(&client);
            if clients.is_empty() {
                topics.remove(name);
            }
        }
    }

    /// Ends every subscription of a client.
    pub(super) fn forget(&mut self, client: u64) {
        for topics in [&mut self.channels, &mut self.patterns, &mut self.shards] {
            topics.retain(|_, clients| {
                clients.remove(&client);
                !clients.is_empty()
            });
        }
    }

    /// Who gets a message on `channel`: its subscribers, then those of patterns that match.
    pub(super) fn receivers(&self, channel: &[u8]) -> Vec<Delivery> {
        let direct = self.channels.get(channel).into_iter().flatten();
        let mut receivers: Vec<_> = direct
            .map(|client| Delivery {
                client: *client,
                pattern: None,
            })
            .collect();
        for (pattern, clients) in &self.patterns {
            if matches(pattern, channel) {
                receivers.extend(clients.iter().map(|client| Delivery {
                    client: *client,
                    pattern: Some(pattern.clone()),
                }));
            }
        }
        receivers
    }

    /// Who gets a message on a sharded channel.
    pub(super) fn shard_receivers(&self, channel: &[u8]) -> Vec<u64> {
        self.shards
            .get(channel)
            .into_iter()
            .flatten()
            .copied()
            .collect()
    }

    /// The names of a kind of subscription, with how many subscribe to each.
    pub(super) fn names(&self, topic: Topic) -> impl Iterator<Item = (&[u8], usize)> {
        self.topics(topic)
            .iter()
            .map(|(name, clients)| (name.as_slice(), clients.len()))
    }

    pub(super) fn count(&self, topic: Topic, name: &[u8]) -> usize {
        self.topics(topic).get(name).map_or(0, BTreeSet::len)
    }

    fn topics(&self, topic: Topic) -> &Topics {
        match topic {
            Topic::Channel => &self.channels,
            Topic::Pattern => &self.patterns,
            Topic::Shard => &self.shards,
        }
    }

    fn topics_mut(&mut self, topic: Topic) -> &mut Topics {
        match topic {
            Topic::Channel => &mut self.channels,
            Topic::Pattern => &mut self.patterns,
            Topic::Shard => &mut self.shards,
        }
    }
}
