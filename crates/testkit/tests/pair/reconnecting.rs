//! A client that comes back: the reconnect policy, and a new engine for every generation.

use std::time::{Duration, Instant};

use arknet_proto::endpoint::{Endpoint, Event};
use arknet_proto::framing::{Decoder, Framing};
use arknet_proto::reconnect::{Reconnect, ReconnectPolicy};
use arknet_proto::session::{Cause, Config, State};
use arknet_testkit::VirtualClock;
use arknet_testkit::pair::{Conditions, Pair, Who};

use super::{LIMIT, MILLISECOND, SECOND, echo, messages};

/// A send is known by the connection that accepted it and by its number.
type Token = (u32, u32);
type Connection = Pair<Endpoint<Token>, super::Engine>;

struct Client {
    clock: VirtualClock,
    reconnect: Reconnect,
    /// Connections that opened so far; the number of the present one.
    generation: u32,
}

impl Client {
    fn new(policy: ReconnectPolicy) -> Self {
        Self {
            clock: VirtualClock::new(),
            reconnect: Reconnect::new(policy),
            generation: 0,
        }
    }

    /// Makes an attempt; `reachable` says whether the transport gets through.
    fn connect(&mut self, reachable: bool) -> Option<Connection> {
        let decoder = Decoder::new(Framing::LengthPrefix, LIMIT).unwrap();
        let (config, now) = (Config::default(), self.clock.now());
        let mut client = Endpoint::new(config, decoder.clone(), now);
        if !reachable {
            client.handle_fault();
            let event = arknet_proto::engine::StreamEngine::poll_event(&mut client);
            assert!(matches!(
                event,
                Some(Event::Closed {
                    cause: Cause::Fault,
                    ..
                })
            ));
            return None;
        }
        self.generation += 1;
        self.reconnect.succeeded();
        let server = Endpoint::new(config, decoder, now);
        let mut pair = Pair::new(
            self.clock.clone(),
            u64::from(self.generation),
            client,
            server,
        );
        pair.a.engine.handle_opened(now);
        pair.b.engine.handle_opened(now);
        pair.b.on_event(echo);
        pair.drive();
        assert_eq!(pair.a.take_events(), [Event::Opened]);
        Some(pair)
    }

    /// Waits as long as the policy says; whether there is another attempt.
    fn wait(&mut self) -> Option<Instant> {
        let delay = self.reconnect.failed(1 << 63)?;
        Some(self.clock.advance(delay))
    }
}

#[test]
fn a_send_of_one_connection_is_never_sent_on_the_next() {
    let mut client = Client::new(ReconnectPolicy::default());
    let mut first = client.connect(true).unwrap();
    first.set_conditions(Conditions {
        latency: MILLISECOND,
        capacity: 5,
        ..Conditions::default()
    });
    for number in 0..3 {
        first.a.engine.send("old!", Some((1, number))).unwrap();
    }
    first.drive_for(MILLISECOND / 2);
    first.cut();
    first.drive();
    let fault = Event::Closed {
        cause: Cause::Fault,
        forced: false,
    };
    assert_eq!(
        first.a.take_events(),
        [
            Event::Completed {
                token: (1, 0),
                bytes: 4
            },
            Event::Abandoned { token: (1, 1) },
            Event::Abandoned { token: (1, 2) },
            fault,
        ]
    );

    client.wait().unwrap();
    let mut second = client.connect(true).unwrap();
    second.a.engine.send("new", Some((2, 0))).unwrap();
    second.drive();
    assert_eq!(
        second.a.take_events(),
        [
            Event::Completed {
                token: (2, 0),
                bytes: 3
            },
            Event::Message("new".into()),
        ]
    );
    assert_eq!(messages(second.b.events()), ["new"]);
}

#[test]
fn an_outage_is_waited_out_with_growing_delays_and_then_forgotten() {
    let mut client = Client::new(ReconnectPolicy::backoff());
    let outage = client.clock.now() + 10 * SECOND;
    let mut pair = client.connect(true).unwrap();
    for lost in 1..=3 {
        pair.cut();
        pair.drive();
        assert_eq!(pair.a.engine.state(), State::Closed);
        let mut attempts = 0;
        pair = loop {
            attempts += 1;
            let now = client.wait().unwrap();
            if let Some(pair) = client.connect(now >= outage) {
                break pair;
            }
        };
        // With the middle of chance: 0.75, 1.5, 3, 6 s pass the ten seconds; then 0.75 s each time.
        assert_eq!(attempts, if lost == 1 { 4 } else { 1 });
        assert_eq!(client.generation, lost + 1);
    }
    assert_eq!(
        client.clock.elapsed(),
        Duration::from_millis(11_250 + 2 * 750)
    );
}

#[test]
fn a_client_gives_up_after_its_attempts() {
    let mut client = Client::new(ReconnectPolicy::fixed(SECOND).attempts(3));
    let mut pair = client.connect(true).unwrap();
    pair.cut();
    pair.drive();
    let mut attempts = 0;
    while client.wait().is_some() {
        attempts += 1;
        assert!(client.connect(false).is_none());
    }
    assert_eq!(attempts, 3);
    assert_eq!(client.clock.elapsed(), 3 * SECOND);
}

#[test]
fn a_peer_that_goes_silent_is_noticed_and_replaced() {
    let mut client = Client::new(ReconnectPolicy::fixed(SECOND));
    let mut pair = client.connect(true).unwrap();
    pair.a.engine.set_silence(Some(8 * SECOND), pair.now());
    pair.conditions_from(Who::B).stalled = true;
    pair.a.engine.send("still there?", Some((1, 0))).unwrap();
    pair.drive_until(9 * SECOND, |pair| pair.a.engine.state() == State::Closed);
    assert!(matches!(
        pair.a.events().last(),
        Some(Event::Closed {
            cause: Cause::Silence,
            ..
        })
    ));
    client.wait().unwrap();
    let mut pair = client.connect(true).unwrap();
    pair.a.engine.send("and now?", None).unwrap();
    pair.drive();
    assert_eq!(messages_of(&pair), 1);
    assert_eq!(client.generation, 2);
}

fn messages_of(pair: &Connection) -> usize {
    let message = |event: &&Event<Token>| matches!(event, Event::Message(_));
    pair.a.events().iter().filter(message).count()
}
