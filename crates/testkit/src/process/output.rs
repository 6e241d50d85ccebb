//! What a child process prints on one of its streams, taken in by a thread of its own.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What is kept of a stream. A peer prints a few lines; one that prints more is still read, so
/// that it does not wait, and the rest is thrown away and counted.
const KEPT_BYTES: usize = 1024 * 1024;

/// One read of the pipe.
const READ_BYTES: usize = 4 * 1024;

/// One stream of a [`Peer`](super::Peer): its text so far, and waiting for its lines.
///
/// Lines are handed out once, in order, by [`next_line`](Output::next_line) and
/// [`line_containing`](Output::line_containing); [`text`](Output::text) shows everything.
#[derive(Debug)]
pub struct Output {
    shared: Arc<Shared>,
    reader: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    text: Vec<u8>,
    /// Complete lines that nobody asked for yet; together no longer than `text`.
    lines: VecDeque<String>,
    /// Where in `text` the unfinished line begins.
    line_start: usize,
    dropped: u64,
    ended: bool,
}

impl Output {
    /// Reads `stream` until its end in a thread named after `name`.
    pub(super) fn read(name: &str, stream: impl Read + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let reader = thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || theirs.read_to_end(stream))?;
        Ok(Self {
            shared,
            reader: Some(reader),
        })
    }

    /// The next line, without its end; a last line without an end counts.
    ///
    /// # Errors
    ///
    /// `TimedOut` after `within`, `UnexpectedEof` when the stream ended; both show the text so
    /// far.
    pub fn next_line(&self, within: Duration) -> io::Result<String> {
        self.find_line(within, "a line", |_| true)
    }

    /// The next line that contains `needle`; the lines before it are passed over.
    ///
    /// # Errors
    ///
    /// As [`next_line`](Output::next_line).
    pub fn line_containing(&self, needle: &str, within: Duration) -> io::Result<String> {
        self.find_line(within, &format!("{needle:?}"), |line| line.contains(needle))
    }

    /// Everything printed so far, up to 1 MiB; bytes that are not UTF-8 are replaced.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.shared.lock().text).into_owned()
    }

    /// How many bytes came after the first 1 MiB and were thrown away.
    #[must_use]
    pub fn dropped_bytes(&self) -> u64 {
        self.shared.lock().dropped
    }

    /// Waits for the end of the stream and then for the thread; says whether they came `within`.
    pub(super) fn finish(&mut self, within: Duration) -> bool {
        let end = Instant::now() + within;
        let mut state = self.shared.lock();
        while !state.ended {
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                return false;
            };
            state = self.shared.wait(state, left);
        }
        drop(state);
        if let Some(reader) = self.reader.take() {
            // It can only have panicked for want of memory.
            let _ = reader.join();
        }
        true
    }

    fn find_line(
        &self,
        within: Duration,
        what: &str,
        wanted: impl Fn(&str) -> bool,
    ) -> io::Result<String> {
        let end = Instant::now() + within;
        let mut state = self.shared.lock();
        loop {
            while let Some(line) = state.lines.pop_front() {
                if wanted(&line) {
                    return Ok(line);
                }
            }
            if state.ended {
                return Err(state.failure(io::ErrorKind::UnexpectedEof, what, "the end"));
            }
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                let deadline = format!("{within:?}");
                return Err(state.failure(io::ErrorKind::TimedOut, what, &deadline));
            };
            state = self.shared.wait(state, left);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, left: Duration) -> MutexGuard<'a, State> {
        self.changed
            .wait_timeout(state, left)
            .unwrap_or_else(PoisonError::into_inner)
            .0
    }

    fn read_to_end(&self, mut stream: impl Read) {
        let mut buffer = [0; READ_BYTES];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => self.lock().take(buffer.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
            self.changed.notify_all();
        }
        self.lock().end();
        self.changed.notify_all();
    }
}

impl State {
    fn take(&mut self, bytes: &[u8]) {
        let room = KEPT_BYTES.saturating_sub(self.text.len()).min(bytes.len());
        let (kept, dropped) = bytes.split_at(room);
        self.dropped += dropped.len() as u64;
        self.text.extend_from_slice(kept);
        while let Some(length) = self.unfinished().iter().position(|byte| *byte == b'\n') {
            self.push_line(length);
            self.line_start += length + 1;
        }
    }

    fn end(&mut self) {
        let length = self.unfinished().len();
        if length > 0 {
            self.push_line(length);
            self.line_start += length;
        }
        self.ended = true;
    }

    fn unfinished(&self) -> &[u8] {
        self.text.get(self.line_start..).unwrap_or_default()
    }

    fn push_line(&mut self, length: usize) {
        let line = self.unfinished().get(..length).unwrap_or_default();
        let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned();
        self.lines.push_back(line);
    }

    fn failure(&self, kind: io::ErrorKind, what: &str, limit: &str) -> io::Error {
        let text = String::from_utf8_lossy(&self.text);
        io::Error::new(
            kind,
            format!("wait for {what}: not before {limit}; printed: {text:?}"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(5);

    fn ended(text: &'static [u8]) -> Output {
        let mut output = Output::read("output-test", text).unwrap();
        assert!(output.finish(SOON));
        output
    }

    #[test]
    fn lines_come_once_and_in_order() {
        let output = ended(b"4711\r\nready\n\nlast");
        let lines: Vec<_> = (0..4).map(|_| output.next_line(SOON).unwrap()).collect();
        assert_eq!(lines, ["4711", "ready", "", "last"]);
        let error = output.next_line(SOON).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(output.text(), "4711\r\nready\n\nlast");
    }

    #[test]
    fn lines_before_the_wanted_one_are_passed_over() {
        let output = ended(b"one\ntwo\nthree\n");
        assert_eq!(output.line_containing("wo", SOON).unwrap(), "two");
        assert_eq!(output.next_line(SOON).unwrap(), "three");
    }

    #[test]
    fn what_is_beyond_the_limit_is_counted_and_thrown_away() {
        let surplus = 10;
        let stream = io::repeat(b'x').take((KEPT_BYTES + surplus) as u64);
        let mut output = Output::read("output-test", stream).unwrap();
        assert!(output.finish(SOON));
        assert_eq!(
            (output.text().len(), output.dropped_bytes()),
            (KEPT_BYTES, surplus as u64)
        );
    }
}
