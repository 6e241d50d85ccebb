//! Stories of a subscriber and a server.

use proptest::prelude::*;

use super::*;
use crate::redis::{ReplyLimits, Scanner};

type Machine = Subscriptions<u32>;

/// A machine, and what it has sent.
#[derive(Default)]
struct Story {
    machine: Machine,
    wire: Vec<u8>,
}

/// What was heard, without a borrow.
#[derive(Debug, Eq, PartialEq)]
enum Said {
    Message(String, Option<String>, String),
    Missed,
    Nothing,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn names(list: &[&str]) -> Vec<Bytes> {
    list.iter()
        .map(|name| Bytes::copy_from_slice(name.as_bytes()))
        .collect()
}

/// A frame: a push or an array of strings, and at the end a number if it is one.
fn frame(head: char, words: &[&str]) -> String {
    let mut frame = format!("{head}{}\r\n", words.len());
    for word in words {
        match word.parse::<i64>() {
            Ok(number) => frame.push_str(&format!(":{number}\r\n")),
            Err(_) => frame.push_str(&format!("${}\r\n{word}\r\n", word.len())),
        }
    }
    frame
}

impl Story {
    /// Commands that have been sent since this was asked before.
    fn sent(&mut self) -> Vec<String> {
        let mut commands = Vec::new();
        let mut scanner = Scanner::new(ReplyLimits::default());
        let mut at = 0;
        while let Some(frame) = scanner.scan(&self.wire[at..]).unwrap() {
            let words: Vec<String> = frame.reply(&self.wire[at..]).unwrap().decode().unwrap();
            commands.push(words.join(" "));
            at += frame.len;
        }
        assert_eq!(at, self.wire.len());
        self.wire.clear();
        commands
    }

    fn hear(&mut self, frame: &str) -> Result<Said, Unexpected> {
        let found = Scanner::new(ReplyLimits::default())
            .scan(frame.as_bytes())
            .unwrap()
            .unwrap();
        let heard = self
            .machine
            .handle_frame(found.kind, frame.as_bytes(), &mut self.wire)?;
        Ok(match heard {
            Heard::Message(it) => {
                Said::Message(text(it.channel), it.pattern.map(text), text(it.payload))
            }
            Heard::Missed => Said::Missed,
            Heard::Nothing => Said::Nothing,
        })
    }

    fn push(&mut self, words: &[&str]) -> Said {
        self.hear(&frame('>', words)).unwrap()
    }

    fn connect(&mut self) -> Vec<String> {
        self.machine.handle_connected(Speaks::Resp3, &mut self.wire);
        self.sent()
    }

    fn subscribe(&mut self, kind: SubscriptionKind, list: &[&str], token: u32) -> Vec<String> {
        self.machine
            .subscribe(kind, names(list), token, &mut self.wire)
            .unwrap();
        self.sent()
    }

    fn unsubscribe(&mut self, kind: SubscriptionKind, list: &[&str], token: u32) -> Vec<String> {
        self.machine
            .unsubscribe(kind, names(list), token, &mut self.wire);
        self.sent()
    }

    fn events(&mut self) -> Vec<SubscriptionEvent<u32>> {
        std::iter::from_fn(|| self.machine.poll_event()).collect()
    }
}

use SubscriptionEvent::{Confirmed, Refused, Restored, Resumed, Withdrawn};
use SubscriptionKind::{Channel, Pattern, Shard};

#[test]
fn names_are_subscribed_to_when_each_is_confirmed() {
    let mut story = Story::default();
    story.connect();
    assert_eq!(
        story.subscribe(Channel, &["a", "b", "a"], 1),
        ["SUBSCRIBE a b"]
    );
    assert_eq!(story.subscribe(Pattern, &["p*"], 2), ["PSUBSCRIBE p*"]);
    story.push(&["subscribe", "a", "1"]);
    // A message of one name may come before the other is confirmed.
    let message = Said::Message("a".into(), None, "hello".into());
    assert_eq!(story.push(&["message", "a", "hello"]), message);
    assert!(story.events().is_empty());
    story.push(&["subscribe", "b", "2"]);
    assert_eq!(story.events(), [Confirmed(1)]);
    story.push(&["psubscribe", "p*", "3"]);
    assert_eq!(story.events(), [Confirmed(2)]);
    let message = Said::Message("pq".into(), Some("p*".into()), "x".into());
    assert_eq!(story.push(&["pmessage", "p*", "pq", "x"]), message);
    assert_eq!(story.machine.len(), 3);
}

#[test]
fn the_older_protocol_says_the_same_in_arrays() {
    let mut story = Story::default();
    story
        .machine
        .handle_connected(Speaks::Resp2, &mut story.wire);
    story.subscribe(Channel, &["a"], 1);
    story.hear(&frame('*', &["subscribe", "a", "1"])).unwrap();
    assert_eq!(story.events(), [Confirmed(1)]);
    let heard = story.hear(&frame('*', &["message", "a", "x"])).unwrap();
    assert_eq!(heard, Said::Message("a".into(), None, "x".into()));
    story.machine.ping(&mut story.wire);
    story.hear("*2\r\n$4\r\npong\r\n$0\r\n\r\n").unwrap();
    assert!(!story.machine.awaits_reply());
    // What is no push and no message is nobody's.
    assert_eq!(story.hear(&frame('*', &["what"])), Err(Unexpected));
}

#[test]
fn a_refusal_concerns_the_call_and_nobody_else() {
    let mut story = Story::default();
    story.connect();
    story.subscribe(Channel, &["a"], 1);
    story.subscribe(Channel, &["secret", "b"], 2);
    story.subscribe(Channel, &["c"], 3);
    story.push(&["subscribe", "a", "1"]);
    story.hear("-NOPERM no\r\n").unwrap();
    story.push(&["subscribe", "c", "2"]);
    let refused = Refused(2, ServerError::new(b"NOPERM no"));
    assert_eq!(story.events(), [Confirmed(1), refused, Confirmed(3)]);
    assert_eq!(story.machine.len(), 2);
}

#[test]
fn after_a_loss_everything_is_restored_before_anything_is_delivered() {
    let mut story = Story::default();
    story.connect();
    story.subscribe(Channel, &["a", "b"], 1);
    story.subscribe(Pattern, &["p*"], 2);
    story.push(&["subscribe", "a", "1"]);
    story.push(&["subscribe", "b", "2"]);
    story.push(&["psubscribe", "p*", "3"]);
    assert_eq!(story.events(), [Confirmed(1), Confirmed(2)]);
    story.machine.handle_lost();
    assert_eq!(story.connect(), ["SUBSCRIBE a b", "PSUBSCRIBE p*"]);
    story.push(&["subscribe", "a", "1"]);
    // Whoever looks at the state of things when told of the gap must not have seen this.
    assert_eq!(story.push(&["message", "a", "early"]), Said::Missed);
    story.push(&["subscribe", "b", "2"]);
    assert!(story.events().is_empty());
    story.push(&["psubscribe", "p*", "3"]);
    assert_eq!(story.events(), [Restored]);
    let message = Said::Message("a".into(), None, "later".into());
    assert_eq!(story.push(&["message", "a", "later"]), message);
}

#[test]
fn what_is_asked_without_a_connection_is_asked_when_there_is_one() {
    let mut story = Story::default();
    assert!(story.subscribe(Channel, &["a"], 1).is_empty());
    assert!(story.unsubscribe(Channel, &["a"], 2).is_empty());
    assert!(story.subscribe(Shard, &["s"], 3).is_empty());
    assert_eq!(
        story.connect(),
        ["SUBSCRIBE a", "UNSUBSCRIBE a", "SSUBSCRIBE s"]
    );
    story.push(&["subscribe", "a", "1"]);
    story.push(&["unsubscribe", "a", "0"]);
    story.push(&["ssubscribe", "s", "1"]);
    // Nothing was missed, for nothing was confirmed before.
    assert_eq!(story.events(), [Confirmed(1), Confirmed(2), Confirmed(3)]);
}

#[test]
fn a_loss_in_the_middle_of_a_call_asks_again() {
    let mut story = Story::default();
    story.connect();
    story.subscribe(Channel, &["a", "b"], 1);
    story.push(&["subscribe", "a", "1"]);
    story.machine.handle_lost();
    assert!(story.events().is_empty());
    assert_eq!(story.connect(), ["SUBSCRIBE a", "SUBSCRIBE a b"]);
    story.push(&["subscribe", "a", "1"]);
    assert_eq!(story.events(), [Restored]);
    story.push(&["subscribe", "a", "1"]);
    story.push(&["subscribe", "b", "2"]);
    assert_eq!(story.events(), [Confirmed(1)]);
}

#[test]
fn what_was_taken_back_is_not_restored() {
    let mut story = Story::default();
    story.connect();
    story.subscribe(Channel, &["a", "b"], 1);
    story.push(&["subscribe", "a", "1"]);
    story.push(&["subscribe", "b", "2"]);
    story.unsubscribe(Channel, &["a"], 2);
    // It was not confirmed, and need not be: the connection is gone.
    story.machine.handle_lost();
    assert_eq!(story.events(), [Confirmed(1), Confirmed(2)]);
    // Without a connection nothing needs to be sent for it.
    story.unsubscribe(Channel, &["b"], 3);
    assert_eq!(story.events(), [Confirmed(3)]);
    assert!(story.connect().is_empty());
}

#[test]
fn a_call_and_its_opposite_under_way_at_the_loss_end_as_the_last_one_says() {
    let mut story = Story::default();
    story.connect();
    story.subscribe(Channel, &["a"], 1);
    story.unsubscribe(Channel, &["a"], 2);
    story.push(&["subscribe", "a", "1"]);
    story.machine.handle_lost();
    assert_eq!(story.events(), [Confirmed(1), Confirmed(2)]);
    assert!(story.connect().is_empty());
}

#[test]
fn a_name_that_the_server_takes_away_is_asked_for_again() {
    let mut story = Story::default();
    story.connect();
    story.subscribe(Shard, &["s", "t"], 1);
    story.push(&["ssubscribe", "s", "1"]);
    story.push(&["ssubscribe", "t", "2"]);
    story.events();
    story.push(&["sunsubscribe", "s", "1"]);
    assert_eq!(story.sent(), ["SSUBSCRIBE s"]);
    let message = Said::Message("t".into(), None, "x".into());
    assert_eq!(story.push(&["smessage", "t", "x"]), message);
    story.push(&["ssubscribe", "s", "2"]);
    assert_eq!(story.events(), [Resumed(Shard, Bytes::from("s"))]);
    // The next time it has moved for good.
    story.push(&["sunsubscribe", "s", "1"]);
    story.hear("-MOVED 1 127.0.0.1:2\r\n").unwrap();
    let error = ServerError::new(b"MOVED 1 127.0.0.1:2");
    let withdrawn = Withdrawn(Shard, Bytes::from("s"), error);
    assert_eq!(story.events(), [withdrawn]);
    assert_eq!(story.machine.len(), 1);
}

#[test]
fn a_name_that_is_about_to_be_given_up_is_not_asked_for_again() {
    let mut story = Story::default();
    story.connect();
    story.subscribe(Shard, &["s"], 1);
    story.subscribe(Shard, &["t"], 2);
    story.unsubscribe(Shard, &["s"], 3);
    story.push(&["ssubscribe", "s", "1"]);
    story.push(&["sunsubscribe", "s", "0"]);
    assert!(story.sent().is_empty());
    story.push(&["ssubscribe", "t", "1"]);
    story.push(&["sunsubscribe", "s", "1"]);
    assert_eq!(story.events(), [Confirmed(1), Confirmed(2), Confirmed(3)]);
    assert_eq!(story.machine.len(), 1);
}

#[test]
fn an_unasked_confirmation_beside_an_asked_one_does_no_harm() {
    let mut story = Story::default();
    story.connect();
    story.subscribe(Shard, &["s"], 1);
    story.push(&["ssubscribe", "s", "1"]);
    story.unsubscribe(Shard, &["s"], 2);
    // The server takes it away on its own, then answers.
    story.push(&["sunsubscribe", "s", "0"]);
    story.push(&["sunsubscribe", "s", "0"]);
    assert_eq!(story.events(), [Confirmed(1), Confirmed(2)]);
    assert!(story.sent().is_empty() && !story.machine.awaits_reply());
}

#[test]
fn what_cannot_be_restored_is_named_and_the_rest_is_restored() {
    let mut story = Story::default();
    story.connect();
    story.subscribe(Channel, &["a", "b"], 1);
    story.push(&["subscribe", "a", "1"]);
    story.push(&["subscribe", "b", "2"]);
    story.events();
    story.machine.handle_lost();
    story.connect();
    story.hear("-NOPERM no\r\n").unwrap();
    assert_eq!(story.sent(), ["SUBSCRIBE a", "SUBSCRIBE b"]);
    story.hear("-NOPERM no\r\n").unwrap();
    story.push(&["subscribe", "b", "1"]);
    let withdrawn = Withdrawn(Channel, Bytes::from("a"), ServerError::new(b"NOPERM no"));
    assert_eq!(story.events(), [withdrawn, Restored]);
}

#[test]
fn many_names_are_restored_in_commands_of_some_hundred() {
    let mut story = Story::default();
    story.connect();
    let list: Vec<String> = (0..1200).map(|number| format!("c{number}")).collect();
    let refs: Vec<&str> = list.iter().map(String::as_str).collect();
    story.subscribe(Channel, &refs, 1);
    for name in &refs {
        story.push(&["subscribe", name, "1"]);
    }
    story.machine.handle_lost();
    let lengths: Vec<usize> = story
        .connect()
        .iter()
        .map(|command| command.split(' ').count() - 1)
        .collect();
    assert_eq!(lengths, [500, 500, 200]);
}

#[test]
fn pushes_of_other_kinds_are_for_nobody() {
    let mut story = Story::default();
    story.connect();
    assert_eq!(story.push(&["invalidate", "k"]), Said::Nothing);
    assert_eq!(story.hear(">0\r\n"), Ok(Said::Nothing));
    assert_eq!(story.hear("+OK\r\n"), Err(Unexpected));
    assert_eq!(story.hear("-ERR out of the blue\r\n"), Err(Unexpected));
}

#[derive(Clone, Debug)]
enum Step {
    Subscribe(SubscriptionKind, Vec<u8>),
    Unsubscribe(SubscriptionKind, Vec<u8>),
    /// The server deals with so many commands.
    Serve(usize),
    Publish(u8),
    /// The server takes a name away.
    Take(SubscriptionKind, u8),
    Lose,
    Connect,
}

/// Of eight names, the server refuses the last.
const NAMES: u8 = 8;
const REFUSED: &str = "n7";

fn kind() -> impl Strategy<Value = SubscriptionKind> {
    prop_oneof![Just(Channel), Just(Pattern), Just(Shard)]
}

fn step() -> impl Strategy<Value = Step> {
    let list = || prop::collection::vec(0..NAMES, 0..4);
    prop_oneof![
        3 => (kind(), list()).prop_map(|(kind, list)| Step::Subscribe(kind, list)),
        2 => (kind(), list()).prop_map(|(kind, list)| Step::Unsubscribe(kind, list)),
        4 => (1..4_usize).prop_map(Step::Serve),
        2 => (0..NAMES).prop_map(Step::Publish),
        1 => (kind(), 0..NAMES).prop_map(|(kind, name)| Step::Take(kind, name)),
        1 => Just(Step::Lose),
        2 => Just(Step::Connect),
    ]
}

/// A server of one client, and what both have agreed on.
#[derive(Default)]
struct Model {
    story: Story,
    /// Commands that the server has not dealt with.
    commands: VecDeque<String>,
    subscribed: BTreeSet<(SubscriptionKind, String)>,
    /// What must be subscribed to when everything has been dealt with.
    wanted: BTreeSet<(SubscriptionKind, String)>,
    connected: bool,
    /// Messages are held back until this is over.
    restoring: bool,
    /// Who has been told nothing yet.
    waiting: BTreeSet<u32>,
    next: u32,
}

impl Model {
    fn gather(&mut self) {
        let sent = self.story.sent();
        self.commands.extend(sent);
        for event in self.story.events() {
            match event {
                Confirmed(token) | Refused(token, _) => {
                    assert!(self.waiting.remove(&token), "told twice: {token}");
                }
                Restored => self.restoring = false,
                Resumed(..) => {}
                Withdrawn(_, name, _) => panic!("withdrawn: {name:?}"),
            }
        }
    }

    fn names(list: &[u8]) -> Vec<String> {
        list.iter().map(|number| format!("n{number}")).collect()
    }

    fn call(&mut self, verb: Verb, kind: SubscriptionKind, list: &[u8]) {
        let list = Self::names(list);
        let refs: Vec<&str> = list.iter().map(String::as_str).collect();
        let token = self.next;
        self.next += 1;
        self.waiting.insert(token);
        let keys = list.iter().map(|name| (kind, name.clone()));
        let sent = if verb == Verb::Subscribe {
            if !list.iter().any(|name| name == REFUSED) {
                self.wanted.extend(keys);
            }
            self.story.subscribe(kind, &refs, token)
        } else {
            keys.for_each(|key| {
                self.wanted.remove(&key);
            });
            self.story.unsubscribe(kind, &refs, token)
        };
        self.commands.extend(sent);
        self.gather();
    }

    fn serve(&mut self) {
        let Some(command) = self.commands.pop_front() else {
            return;
        };
        let mut words = command.split(' ');
        let verb = words.next().unwrap().to_lowercase();
        let kind = match verb.as_str() {
            "psubscribe" | "punsubscribe" => Pattern,
            "ssubscribe" | "sunsubscribe" => Shard,
            _ => Channel,
        };
        let list: Vec<&str> = words.collect();
        if !verb.contains("unsubscribe") && list.contains(&REFUSED) {
            self.story.hear("-NOPERM no\r\n").unwrap();
            self.gather();
            return;
        }
        for name in list {
            let key = (kind, name.to_owned());
            if verb.contains("unsubscribe") {
                self.subscribed.remove(&key);
            } else {
                self.subscribed.insert(key);
            }
            self.story.push(&[&verb, name, "1"]);
            self.gather();
        }
    }

    fn publish(&mut self, number: u8) {
        let name = format!("n{number}");
        if !self.connected || !self.subscribed.contains(&(Channel, name.clone())) {
            return;
        }
        let heard = self.story.push(&["message", &name, "x"]);
        if self.restoring {
            assert_eq!(heard, Said::Missed);
        } else {
            assert_eq!(heard, Said::Message(name, None, "x".into()));
        }
    }

    fn take(&mut self, kind: SubscriptionKind, number: u8) {
        let name = format!("n{number}");
        if !self.connected || !self.subscribed.remove(&(kind, name.clone())) {
            return;
        }
        let verb = match kind {
            Channel => "unsubscribe",
            Pattern => "punsubscribe",
            Shard => "sunsubscribe",
        };
        self.story.push(&[verb, &name, "1"]);
        self.gather();
    }

    fn lose(&mut self) {
        if std::mem::take(&mut self.connected) {
            self.story.machine.handle_lost();
            self.commands.clear();
            self.subscribed.clear();
            self.restoring = false;
            self.gather();
        }
    }

    fn connect(&mut self) {
        if !std::mem::replace(&mut self.connected, true) {
            self.restoring = !self.story.machine.is_empty();
            let sent = self.story.connect();
            self.commands.extend(sent);
            self.gather();
        }
    }
}

proptest! {
    #[test]
    fn whatever_happens_the_server_and_the_caller_agree_in_the_end(
        steps in prop::collection::vec(step(), 1..100),
    ) {
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Subscribe(kind, list) => model.call(Verb::Subscribe, kind, &list),
                Step::Unsubscribe(kind, list) => model.call(Verb::Unsubscribe, kind, &list),
                Step::Serve(count) => (0..count).for_each(|_| model.serve()),
                Step::Publish(number) => model.publish(number),
                Step::Take(kind, number) => model.take(kind, number),
                Step::Lose => model.lose(),
                Step::Connect => model.connect(),
            }
        }
        model.connect();
        for _ in 0..10_000 {
            model.serve();
        }
        prop_assert!(model.commands.is_empty() && !model.story.machine.awaits_reply());
        prop_assert!(model.waiting.is_empty(), "{:?} were not told", model.waiting);
        prop_assert!(!model.restoring);
        let active: BTreeSet<(SubscriptionKind, String)> = model
            .story
            .machine
            .active
            .iter()
            .map(|(kind, name)| (*kind, text(name)))
            .collect();
        prop_assert_eq!(&active, &model.subscribed);
        prop_assert_eq!(&active, &model.wanted);
    }
}
