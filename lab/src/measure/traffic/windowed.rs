//! A client that keeps its window full: each reply is followed by the next message.

use std::fmt::Display;
use std::sync::Arc;

use super::message::{HEADER, Header};
use crate::measure::counters::Fault;
use crate::measure::run::{Phase, Run, Tally};

/// A slot of the window in which no message is in flight.
const FREE: u64 = u64::MAX;

/// What a client sends, how it checks the replies, and what it counts.
///
/// In the order of a phase: [`begin`](Self::begin) when one was opened; [`room`](Self::room)
/// messages are [`encode`](Self::encode)d and sent; every reply goes to
/// [`on_reply`](Self::on_reply), which says whether one more may be sent; until
/// [`is_finished`](Self::is_finished). Results are handed in by themselves when the last reply has
/// come, or when the client is dropped with messages in flight, which counts them as unfinished.
#[derive(Debug)]
pub struct ClientTraffic {
    run: Arc<Run>,
    id: u32,
    generation: u64,
    phase: Phase,
    start: u64,
    deadline: u64,
    sending: bool,
    next_send: u64,
    next_reply: u64,
    in_flight: usize,
    // When each message in flight was sent, at its sequence modulo the length, a power of two.
    stamps: Box<[u64]>,
    tally: Option<Tally>,
}

impl ClientTraffic {
    /// Client number `id` in `run`, idle until a phase begins.
    pub fn new(run: Arc<Run>, id: u32) -> Self {
        let slots = run.window().next_power_of_two();
        ClientTraffic {
            run,
            id,
            generation: 0,
            phase: Phase::Warmup,
            start: 0,
            deadline: 0,
            sending: false,
            next_send: 0,
            next_reply: 0,
            in_flight: 0,
            stamps: vec![FREE; slots].into_boxed_slice(),
            tally: None,
        }
    }

    /// The run that the client belongs to.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// Enters the phase that was opened last; says whether it is a new one.
    pub fn begin(&mut self) -> bool {
        let (generation, opening) = self.run.opened();
        if generation == self.generation {
            return false;
        }
        self.generation = generation;
        self.phase = opening.phase;
        self.start = opening.start;
        self.deadline = opening.deadline;
        self.sending = true;
        self.tally = Some(Tally::new(opening.phase));
        true
    }

    /// How many messages may be sent now.
    pub fn room(&self) -> usize {
        if self.sending {
            self.run.window() - self.in_flight
        } else {
            0
        }
    }

    /// The next message, as its header and what follows it, counted as sent at `now`. Only called
    /// when there is room.
    #[inline]
    pub fn next(&mut self, now: u64) -> ([u8; HEADER], &[u8]) {
        let sequence = self.next_send;
        *self.slot(sequence) = now;
        self.next_send += 1;
        self.in_flight += 1;
        if let Some(tally) = &mut self.tally {
            tally.sent += 1;
        }
        let header = Header::new(self.phase, self.id, sequence).encode();
        (header, self.run.pattern().windowed(sequence, self.id))
    }

    /// Writes the next message into `message`, which has exactly the payload's length, and counts
    /// it as sent at `now`. Only called when there is room.
    #[inline]
    pub fn encode(&mut self, message: &mut [u8], now: u64) {
        let (header, rest) = self.next(now);
        if let Some((head, body)) = message.split_first_chunk_mut::<HEADER>() {
            *head = header;
            body.copy_from_slice(rest);
        }
    }

    /// Appends the next message to `out`, and counts it as sent at `now`.
    pub fn append(&mut self, out: &mut Vec<u8>, now: u64) {
        let (header, rest) = self.next(now);
        out.extend_from_slice(&header);
        out.extend_from_slice(rest);
    }

    /// A message was refused by what should have sent it: the client sends no more in this phase.
    /// Called before the message is asked for.
    pub fn on_rejection(&mut self, error: &dyn Display) {
        let text = format!("a client's send was refused: {error}");
        self.run.fault(Fault::ClientSendRejections, &text);
        self.sending = false;
        if self.in_flight == 0 {
            self.finish();
        }
    }

    /// Checks a reply that came at `now`; says whether one more message may be sent.
    #[inline]
    pub fn on_reply(&mut self, reply: &[u8], now: u64) -> bool {
        let sequence = self.next_reply;
        if !self.is_expected(reply, sequence) {
            return self.on_fault(reply, now);
        }
        self.next_reply += 1;
        self.account(sequence, now);
        self.go_on(now)
    }

    /// The connection is gone: what is in flight stays unfinished.
    pub fn on_disconnect(&mut self, error: &dyn Display) {
        if !self.run.is_stopping() {
            let text = format!("a client's connection: {error}");
            self.run.fault(Fault::DisconnectErrors, &text);
        }
        self.finish();
    }

    /// Whether nothing is in flight and nothing more will be sent in this phase.
    pub fn is_finished(&self) -> bool {
        self.tally.is_none()
    }

    #[inline]
    fn is_expected(&self, reply: &[u8], sequence: u64) -> bool {
        let Some((head, body)) = reply.split_first_chunk::<HEADER>() else {
            return false;
        };
        self.in_flight > 0
            && *head == Header::new(self.phase, self.id, sequence).encode()
            && *body == *self.run.pattern().windowed(sequence, self.id)
    }

    #[inline]
    fn account(&mut self, sequence: u64, now: u64) {
        let sent = std::mem::replace(self.slot(sequence), FREE);
        self.in_flight -= 1;
        if let Some(tally) = &mut self.tally {
            tally.messages += 1;
            tally.latency.record(now.saturating_sub(sent));
        }
    }

    #[inline]
    fn go_on(&mut self, now: u64) -> bool {
        self.sending &= now < self.deadline;
        if !self.sending && self.in_flight == 0 {
            self.finish();
        }
        self.sending
    }

    /// Finds out what is wrong with a reply, and counts it. The run is invalid now, so that the
    /// client only waits for what is in flight.
    #[cold]
    fn on_fault(&mut self, reply: &[u8], now: u64) -> bool {
        let header = Header::decode(reply).filter(|header| header.client == self.id);
        let Some(header) = header.filter(|_| reply.len() == self.run.payload()) else {
            self.run.fault(
                Fault::ContentErrors,
                "a client received a reply with a bad header",
            );
            self.sending = false;
            return false;
        };
        let sequence = header.sequence;
        let known = (self.next_send.saturating_sub(self.stamps.len() as u64)..self.next_send)
            .contains(&sequence)
            && *self.slot(sequence) != FREE;
        if header.tag != self.phase as u8 || self.is_finished() || !known {
            self.run.fault(
                Fault::UnexpectedMessages,
                "a client received a reply it did not expect",
            );
            self.sending = false;
            return false;
        }
        let body = reply.get(HEADER..).unwrap_or_default();
        if *body == *self.run.pattern().windowed(sequence, self.id) {
            self.run
                .fault(Fault::OrderErrors, "a client received replies out of order");
            self.account(sequence, now);
        } else {
            self.run.fault(
                Fault::ContentErrors,
                "a client received a reply with other content",
            );
            *self.slot(sequence) = FREE;
            self.in_flight -= 1;
        }
        self.next_reply = self.next_reply.max(sequence + 1);
        self.sending = false;
        self.go_on(now)
    }

    fn finish(&mut self) {
        self.sending = false;
        if let Some(mut tally) = self.tally.take() {
            tally.unfinished = self.in_flight as u64;
            tally.elapsed = self.run.clock().now().saturating_sub(self.start);
            self.run.finish(tally);
        }
    }

    #[inline]
    fn slot(&mut self, sequence: u64) -> &mut u64 {
        let mask = self.stamps.len() - 1;
        // The length is a power of two, and a window is never zero.
        &mut self.stamps[sequence as usize & mask]
    }
}

impl Drop for ClientTraffic {
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::measure::config::TransportConfig;

    struct Story {
        run: Arc<Run>,
        client: ClientTraffic,
        deadline: u64,
    }

    fn begun(window: usize) -> Story {
        let config = TransportConfig {
            clients: 1,
            window,
            payload: 40,
            ..Default::default()
        };
        let run = Run::new(&config);
        let mut client = ClientTraffic::new(run.clone(), 3);
        let opening = run.open(Phase::Measured, Duration::from_secs(1));
        assert!(client.begin());
        Story {
            run,
            client,
            deadline: opening.deadline,
        }
    }

    fn sent(client: &mut ClientTraffic, now: u64) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        for _ in 0..client.room() {
            let mut message = Vec::new();
            client.append(&mut message, now);
            messages.push(message);
        }
        messages
    }

    #[test]
    fn the_window_is_filled_once_and_each_reply_makes_room_for_one() {
        let Story { mut client, .. } = begun(3);
        let messages = sent(&mut client, 10);
        assert_eq!((messages.len(), client.room()), (3, 0));
        assert!(client.on_reply(&messages[0], 20));
        assert_eq!(client.room(), 1);
    }

    #[test]
    fn after_the_deadline_nothing_is_sent_and_the_last_reply_finishes() {
        let Story {
            run,
            mut client,
            deadline,
        } = begun(2);
        let messages = sent(&mut client, 10);
        assert!(!client.on_reply(&messages[0], deadline));
        assert!(!client.is_finished());
        assert!(!client.on_reply(&messages[1], deadline + 5));
        assert!(client.is_finished());
        assert!(run.wait_finished(Duration::ZERO));
        let total = run.total(Phase::Measured);
        assert_eq!((total.sent, total.messages, total.latency.len()), (2, 2, 2));
        assert_eq!(run.counters(Phase::Measured).total(), 0);
        assert!(!client.begin(), "the same phase does not begin twice");
    }

    #[test]
    fn a_changed_byte_is_a_content_error_and_is_not_counted_as_a_message() {
        let Story {
            run, mut client, ..
        } = begun(1);
        let mut messages = sent(&mut client, 1);
        messages[0][39] ^= 1;
        assert!(!client.on_reply(&messages[0], 2));
        assert_eq!(run.counters(Phase::Measured).get(Fault::ContentErrors), 1);
        assert!(client.is_finished());
        assert_eq!(run.total(Phase::Measured).messages, 0);
    }

    #[test]
    fn a_reply_that_overtakes_is_an_order_error_and_still_a_message() {
        let Story {
            run, mut client, ..
        } = begun(2);
        let messages = sent(&mut client, 1);
        client.on_reply(&messages[1], 2);
        client.on_reply(&messages[0], 3);
        assert_eq!(run.counters(Phase::Measured).get(Fault::OrderErrors), 2);
        assert!(client.is_finished());
        assert_eq!(run.total(Phase::Measured).messages, 2);
    }

    #[test]
    fn a_reply_that_comes_twice_or_was_never_sent_is_unexpected() {
        let Story {
            run, mut client, ..
        } = begun(2);
        let messages = sent(&mut client, 1);
        client.on_reply(&messages[0], 2);
        client.on_reply(&messages[0], 3);
        let mut never = messages[1].clone();
        never[..16].copy_from_slice(&Header::new(Phase::Measured, 3, 77).encode());
        client.on_reply(&never, 4);
        let mut other_phase = messages[1].clone();
        other_phase[3] = 0;
        client.on_reply(&other_phase, 4);
        assert_eq!(
            run.counters(Phase::Measured).get(Fault::UnexpectedMessages),
            3
        );
    }

    #[test]
    fn another_clients_reply_and_a_short_one_are_content_errors() {
        let Story {
            run, mut client, ..
        } = begun(1);
        let messages = sent(&mut client, 1);
        let mut foreign = messages[0].clone();
        foreign[7] = 9;
        client.on_reply(&foreign, 2);
        client.on_reply(&messages[0][..20], 2);
        client.on_reply(&[], 2);
        assert_eq!(run.counters(Phase::Measured).get(Fault::ContentErrors), 3);
    }

    #[test]
    fn a_client_that_is_dropped_leaves_its_window_unfinished() {
        let Story {
            run, mut client, ..
        } = begun(4);
        let messages = sent(&mut client, 1);
        client.on_reply(&messages[0], 2);
        drop(client);
        assert_eq!(
            run.counters(Phase::Measured).get(Fault::UnfinishedMessages),
            3
        );
        assert!(run.wait_finished(Duration::ZERO));
    }

    #[test]
    fn a_disconnect_counts_unless_the_run_is_over() {
        let Story {
            run, mut client, ..
        } = begun(1);
        client.on_disconnect(&"gone");
        assert_eq!(
            run.counters(Phase::Measured).get(Fault::DisconnectErrors),
            1
        );
        run.stop();
        client.on_disconnect(&"gone");
        assert_eq!(
            run.counters(Phase::Measured).get(Fault::DisconnectErrors),
            1
        );
    }

    #[test]
    fn a_client_whose_send_is_refused_waits_for_what_is_in_flight_and_ends() {
        let Story {
            run, mut client, ..
        } = begun(2);
        let mut message = Vec::new();
        client.append(&mut message, 1);
        client.on_rejection(&"full");
        assert_eq!((client.room(), client.is_finished()), (0, false));
        assert!(!client.on_reply(&message, 2));
        assert!(client.is_finished());
        assert_eq!(
            run.counters(Phase::Measured)
                .get(Fault::ClientSendRejections),
            1
        );
    }

    #[test]
    fn the_sequence_goes_on_in_the_next_phase() {
        let config = TransportConfig {
            clients: 1,
            payload: 16,
            ..Default::default()
        };
        let run = Run::new(&config);
        let mut client = ClientTraffic::new(run.clone(), 0);
        let warmup = run.open(Phase::Warmup, Duration::ZERO);
        client.begin();
        let first = sent(&mut client, 1);
        client.on_reply(&first[0], warmup.deadline);
        assert!(client.is_finished());
        run.open(Phase::Measured, Duration::from_secs(1));
        assert!(client.begin());
        let second = sent(&mut client, 1);
        assert_eq!(second[0], Header::new(Phase::Measured, 0, 1).encode());
    }
}
