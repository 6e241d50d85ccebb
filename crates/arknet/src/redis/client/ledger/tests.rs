//! Stories of a ledger, and a model: whatever happens, everyone gets their own replies or a true failure.

use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;

use super::*;

/// A ledger with a stream before it and behind it.
#[derive(Default)]
struct Story {
    ledger: Ledger,
    /// What writes have taken and the server has not answered: the names of the requests.
    sent: VecDeque<String>,
    pending: Vec<u8>,
    ready: Ready,
}

fn request(name: &str) -> String {
    format!("*1\r\n${}\r\n{name}\r\n", name.len())
}

fn names(wire: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(wire).unwrap();
    let words = text.split("*1\r\n").filter(|one| !one.is_empty());
    words
        .map(|one| one.split("\r\n").nth(1).unwrap().to_owned())
        .collect()
}

fn start() -> Instant {
    crate::link::now()
}

impl Story {
    fn submit(&mut self, requests: &[&str], deadline: Option<Instant>) -> Ticket {
        self.ledger.submit(requests.len(), deadline, |wire| {
            for name in requests {
                wire.extend_from_slice(request(name).as_bytes());
            }
            Owner::Future(Waker::noop().clone())
        })
    }

    /// A write takes what is queued.
    fn take(&mut self) -> Vec<String> {
        let mut out = Vec::new();
        self.ledger.take_wire(&mut out, None);
        let taken = names(&out);
        self.sent.extend(taken.iter().cloned());
        self.pending = out;
        taken
    }

    /// The server answers this many requests.
    fn answer(&mut self, count: usize) {
        let (mut bytes, mut frames) = (Vec::new(), Vec::new());
        for name in self.sent.drain(..count) {
            let start = bytes.len();
            bytes.extend_from_slice(format!("+{name}\r\n").as_bytes());
            frames.push(start..bytes.len());
        }
        let shared = Bytes::from(bytes);
        let wave = Wave {
            bytes: &shared,
            shared: Some(&shared),
            frames: &frames,
        };
        self.ledger.deliver(&wave, &mut self.ready).unwrap();
    }

    fn lose(&mut self, written: u64) -> usize {
        let cause = Lost::Closed;
        self.sent.clear();
        self.ledger
            .lose(written, &self.pending, &cause, &mut self.ready)
    }

    /// The replies that have come for a batch, and its failure; none if there is no result yet.
    fn fetch(&mut self, ticket: Ticket) -> Option<(Vec<String>, Option<Failure>)> {
        let mut collected = Collected::default();
        let fetched = self.ledger.fetch(ticket, Waker::noop(), &mut collected);
        let Poll::Ready(failure) = fetched else {
            return None;
        };
        let text = |reply: &[u8]| {
            let text = std::str::from_utf8(reply).unwrap();
            text.trim_start_matches('+').trim_end().to_owned()
        };
        let replies = collected.with(|wire, frames| {
            let replies = frames.iter().map(|frame| text(&wire[frame.clone()]));
            replies.collect()
        });
        Some((replies, failure))
    }
}

#[test]
fn replies_go_to_their_batches_in_order() {
    let mut story = Story::default();
    let one = story.submit(&["a"], None);
    let two = story.submit(&["b", "c"], None);
    assert_eq!(story.take(), ["a", "b", "c"]);
    assert!(story.fetch(one).is_none());
    story.answer(2);
    assert_eq!(story.fetch(one).unwrap().0, ["a"]);
    assert!(story.fetch(two).is_none());
    story.answer(1);
    assert_eq!(story.fetch(two).unwrap().0, ["b", "c"]);
    assert_eq!((story.ledger.requests(), story.ledger.batches()), (0, 0));
}

#[test]
fn a_place_and_its_storage_are_used_again() {
    let mut story = Story::default();
    for _ in 0..100 {
        let ticket = story.submit(&["a"], None);
        story.take();
        story.answer(1);
        story.fetch(ticket).unwrap();
    }
    assert_eq!(story.ledger.slots.len(), 1);
}

#[test]
fn what_is_abandoned_before_it_is_taken_is_never_sent() {
    let mut story = Story::default();
    let one = story.submit(&["a"], None);
    let two = story.submit(&["b"], None);
    let three = story.submit(&["c"], None);
    assert!(story.ledger.abandon(two));
    assert_eq!(story.take(), ["a", "c"]);
    story.answer(2);
    assert_eq!(story.fetch(one).unwrap().0, ["a"]);
    assert_eq!(story.fetch(three).unwrap().0, ["c"]);
}

#[test]
fn what_is_abandoned_later_is_answered_to_nobody() {
    let mut story = Story::default();
    let one = story.submit(&["a", "b"], None);
    story.take();
    story.answer(1);
    assert!(!story.ledger.abandon(one));
    let two = story.submit(&["c"], None);
    story.take();
    story.answer(2);
    assert_eq!(story.fetch(two).unwrap().0, ["c"]);
    assert_eq!(story.ledger.batches(), 0);
}

#[test]
fn abandoned_requests_do_not_pile_up_where_there_is_no_connection() {
    let mut story = Story::default();
    let kept = story.submit(&["kept"], None);
    for _ in 0..10_000 {
        let ticket = story.submit(&["gone"], None);
        story.ledger.abandon(ticket);
    }
    assert!(story.ledger.wire.len() < 100 && story.ledger.order.len() < 10);
    assert!(story.ledger.slots.len() < 10);
    assert_eq!(story.take(), ["kept"]);
    story.answer(1);
    assert_eq!(story.fetch(kept).unwrap().0, ["kept"]);
}

#[test]
fn a_deadline_that_passes_in_flight_leaves_the_next_reply_right() {
    let mut story = Story::default();
    let now = start();
    let slow = story.submit(&["slow"], Some(now));
    let next = story.submit(&["next"], Some(now + Duration::from_secs(1)));
    story.take();
    let expired = story.ledger.expire(now, false, &mut story.ready);
    assert_eq!(expired.requests, 1);
    assert_eq!(expired.next, Some(now + Duration::from_secs(1)));
    assert!(matches!(
        story.fetch(slow),
        Some((replies, Some(Failure::Overdue))) if replies.is_empty()
    ));
    story.answer(2);
    assert_eq!(story.fetch(next).unwrap().0, ["next"]);
}

#[test]
fn a_deadline_that_passes_in_the_queue_takes_the_request_out_of_it() {
    let mut story = Story::default();
    let now = start();
    let late = story.submit(&["late"], Some(now));
    let other = story.submit(&["other"], None);
    story.ledger.expire(now, true, &mut story.ready);
    assert!(matches!(
        story.fetch(late),
        Some((_, Some(Failure::NotConnected)))
    ));
    assert_eq!(story.take(), ["other"]);
    story.answer(1);
    assert_eq!(story.fetch(other).unwrap().0, ["other"]);
}

#[test]
fn a_lost_connection_leaves_no_doubt_about_any_request() {
    let mut story = Story::default();
    let answered = story.submit(&["a"], None);
    let whole = story.submit(&["b"], None);
    let part = story.submit(&["c", "d", "e"], None);
    let not = story.submit(&["f"], None);
    story.take();
    let queued = story.submit(&["g"], None);
    story.answer(1);
    // A byte of the second request of the third batch has been written.
    let written = request("a").len() * 3 + 1;
    assert_eq!(story.lose(written as u64), 5);
    let begun = |failure: Option<Failure>| match failure {
        Some(Failure::Lost { begun, .. }) => begun,
        other => panic!("{other:?}"),
    };
    assert_eq!(story.fetch(answered).unwrap().0, ["a"]);
    assert_eq!(begun(story.fetch(whole).unwrap().1), usize::MAX);
    assert_eq!(begun(story.fetch(part).unwrap().1), 2);
    assert_eq!(begun(story.fetch(not).unwrap().1), 0);
    // What was queued goes to the next connection.
    assert_eq!(story.take(), ["g"]);
    story.answer(1);
    assert_eq!(story.fetch(queued).unwrap().0, ["g"]);
}

#[test]
fn replies_that_came_before_the_loss_are_kept() {
    let mut story = Story::default();
    let pipeline = story.submit(&["a", "b", "c"], None);
    story.take();
    story.answer(2);
    story.lose(u64::MAX);
    let (replies, failure) = story.fetch(pipeline).unwrap();
    assert_eq!(replies, ["a", "b"]);
    assert!(matches!(failure, Some(Failure::Lost { .. })));
}

#[test]
fn a_reply_that_nobody_asked_for_is_noticed() {
    let mut ledger = Ledger::default();
    let wave = Wave {
        bytes: b"+a\r\n",
        shared: None,
        frames: std::slice::from_ref(&(0..4)),
    };
    assert_eq!(ledger.deliver(&wave, &mut Ready::default()), Err(Unasked));
}

#[test]
fn a_large_reply_is_not_copied() {
    let mut story = Story::default();
    let ticket = story.submit(&["a"], None);
    story.take();
    let reply = Bytes::from(vec![b'x'; 64 * 1024]);
    let wave = Wave {
        bytes: &reply,
        shared: Some(&reply),
        frames: std::slice::from_ref(&(0..64 * 1024)),
    };
    story.ledger.deliver(&wave, &mut story.ready).unwrap();
    let mut collected = Collected::default();
    let fetched = story.ledger.fetch(ticket, Waker::noop(), &mut collected);
    assert!(fetched.is_ready());
    assert_eq!(collected.wire().as_ptr(), reply.as_ptr());
}

#[derive(Clone, Debug)]
enum Step {
    /// A batch of so many requests, with a deadline so many seconds from the start.
    Submit(usize, Option<u64>),
    Take,
    Answer(usize),
    Abandon(usize),
    Expire(u64),
    Fetch(usize),
    Lose(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..4_usize, proptest::option::of(0..10_u64)).prop_map(|(n, d)| Step::Submit(n, d)),
        3 => Just(Step::Take),
        3 => (1..6_usize).prop_map(Step::Answer),
        1 => (0..8_usize).prop_map(Step::Abandon),
        1 => (0..10_u64).prop_map(Step::Expire),
        2 => (0..8_usize).prop_map(Step::Fetch),
        1 => (0..200_usize).prop_map(Step::Lose),
    ]
}

struct Held {
    ticket: Ticket,
    names: Vec<String>,
    taken: bool,
    abandoned: bool,
}

proptest! {
    #[test]
    fn everyone_gets_their_own_replies_or_a_true_failure(steps in prop::collection::vec(step(), 1..200)) {
        let mut story = Story::default();
        let begin = start();
        let mut held: Vec<Held> = Vec::new();
        let mut next = 0;
        for step in steps {
            match step {
                Step::Submit(count, deadline) => {
                    let names: Vec<String> = (0..count).map(|n| format!("r{next}-{n}")).collect();
                    next += 1;
                    let refs: Vec<&str> = names.iter().map(String::as_str).collect();
                    let deadline = deadline.map(|seconds| begin + Duration::from_secs(seconds));
                    let ticket = story.submit(&refs, deadline);
                    held.push(Held { ticket, names, taken: false, abandoned: false });
                }
                Step::Take => {
                    let taken = story.take();
                    for one in &mut held {
                        one.taken |= taken.contains(&one.names[0]);
                    }
                }
                Step::Answer(count) => {
                    let count = count.min(story.sent.len());
                    story.answer(count);
                }
                Step::Abandon(index) if index < held.len() => {
                    let one = held.remove(index);
                    story.ledger.abandon(one.ticket);
                    // Its place may be somebody else's now.
                    held.push(Held { abandoned: true, ..one });
                    held.retain(|one| !one.abandoned);
                }
                Step::Expire(seconds) => {
                    story.ledger.expire(begin + Duration::from_secs(seconds), false, &mut story.ready);
                }
                Step::Fetch(index) if index < held.len() => {
                    let one = &held[index];
                    if let Some((replies, failure)) = story.fetch(one.ticket) {
                        prop_assert!(one.names.starts_with(&replies));
                        match failure {
                            None => prop_assert_eq!(&replies, &one.names),
                            Some(Failure::Overdue | Failure::Lost { .. }) => prop_assert!(one.taken),
                            Some(_) => prop_assert!(!one.taken && replies.is_empty()),
                        }
                        held.remove(index);
                    }
                }
                Step::Lose(written) => {
                    let base = story.ledger.taken() - story.pending.len() as u64;
                    story.lose(base + written as u64);
                    story.pending.clear();
                }
                Step::Abandon(_) | Step::Fetch(_) => {}
            }
            prop_assert!(story.ledger.in_flight() <= story.ledger.batches());
            let waiting: usize = story.ledger.order.iter().map(|place| {
                story.ledger.slots[*place as usize].to_come
            }).sum();
            prop_assert_eq!(waiting, story.ledger.requests());
        }
        // In the end everyone who is left gets something, and no place is lost.
        story.take();
        let left = story.sent.len();
        story.answer(left);
        for one in held {
            prop_assert!(story.fetch(one.ticket).is_some());
        }
        prop_assert_eq!(story.ledger.free.len(), story.ledger.slots.len());
        prop_assert_eq!((story.ledger.requests(), story.ledger.batches()), (0, 0));
        prop_assert_eq!(story.ledger.queued_bytes(), 0);
    }
}
