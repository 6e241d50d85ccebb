//! A blocking client of a few lines, and conversations to be held with two servers.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A server on this machine that is silent for so long will not speak any more.
const SPEAKS_WITHIN: Duration = Duration::from_secs(10);

pub(crate) struct Client {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(SPEAKS_WITHIN)).unwrap();
        Self {
            stream,
            received: Vec::new(),
        }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    /// Sends a command of words, and returns the reply with every byte visible.
    pub(crate) fn ask(&mut self, command: &str) -> String {
        self.send(encode(command));
        self.frame()
    }

    /// The next reply or push, with every byte visible.
    pub(crate) fn frame(&mut self) -> String {
        let mut end = 0;
        self.skip_frame(&mut end);
        let frame: Vec<u8> = self.received.drain(..end).collect();
        frame.escape_ascii().to_string()
    }

    /// What comes until the server closes.
    pub(crate) fn rest(&mut self) -> String {
        self.stream.read_to_end(&mut self.received).unwrap();
        std::mem::take(&mut self.received)
            .escape_ascii()
            .to_string()
    }

    /// Whether nothing comes for a while.
    pub(crate) fn is_silent_for(&mut self, time: Duration) -> bool {
        self.stream.set_read_timeout(Some(time)).unwrap();
        let silent = self.received.is_empty() && self.stream.read(&mut [0]).is_err();
        self.stream.set_read_timeout(Some(SPEAKS_WITHIN)).unwrap();
        silent
    }

    fn skip_frame(&mut self, at: &mut usize) {
        let line = self.line(at);
        let number = || line[1..].parse::<i64>().unwrap();
        match line.as_bytes()[0] {
            b'$' | b'=' | b'!' if number() >= 0 => {
                *at += usize::try_from(number()).unwrap() + 2;
                self.need(*at);
            }
            b'*' | b'~' | b'>' => (0..number().max(0)).for_each(|_| self.skip_frame(at)),
            b'%' => (0..number() * 2).for_each(|_| self.skip_frame(at)),
            _ => {}
        }
    }

    fn line(&mut self, at: &mut usize) -> String {
        let mut end = *at + 2;
        loop {
            self.need(end);
            if &self.received[end - 2..end] == b"\r\n" {
                let line = String::from_utf8(self.received[*at..end - 2].to_vec()).unwrap();
                *at = end;
                return line;
            }
            end += 1;
        }
    }

    fn need(&mut self, len: usize) {
        let mut room = [0; 4096];
        while self.received.len() < len {
            let read = self.stream.read(&mut room).unwrap();
            assert!(
                read > 0,
                "closed after {:?}",
                self.received.escape_ascii().to_string()
            );
            self.received.extend_from_slice(&room[..read]);
        }
    }
}

/// An array of the words, which may be quoted with `'`.
pub(crate) fn encode(command: &str) -> Vec<u8> {
    let mut words: Vec<String> = Vec::new();
    for (index, piece) in command.split('\'').enumerate() {
        match index % 2 {
            0 => words.extend(piece.split_whitespace().map(str::to_owned)),
            _ => words.push(piece.to_owned()),
        }
    }
    let mut wire = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        wire.extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
    }
    wire
}

/// Holds a conversation and returns what was answered to each line.
///
/// A line is a command, behind an optional `MARK|`: letters of it name the connection (`a` if none), a
/// digit says how many replies and pushes come (one if none), `~` sorts the elements of a reply that has
/// no order, `?` says that the reply is another each time, and `=` reads without sending. Commands that
/// ` ; ` divides leave in one write, so that the reply to the first tells that the last has been heard.
pub(crate) fn converse(addr: SocketAddr, lines: &[&str]) -> Vec<String> {
    let mut clients: BTreeMap<char, Client> = BTreeMap::new();
    let mut transcript = Vec::new();
    for line in lines {
        let (mark, command) = line.split_once('|').unwrap_or(("", line));
        let name = mark.chars().find(char::is_ascii_lowercase).unwrap_or('a');
        let frames = mark.chars().find_map(|c| c.to_digit(10)).unwrap_or(1);
        let client = clients.entry(name).or_insert_with(|| Client::connect(addr));
        if !mark.contains('=') {
            client.send(command.split(" ; ").flat_map(encode).collect::<Vec<u8>>());
        }
        for _ in 0..frames {
            let mut answer = client.frame();
            if mark.contains('~') {
                answer = sorted(&answer);
            }
            if mark.contains('?') {
                answer = "?".to_owned();
            }
            transcript.push(format!("{line} -> {answer}"));
        }
    }
    transcript
}

/// The lines of a reply in order, its head first.
fn sorted(answer: &str) -> String {
    let mut lines: Vec<&str> = answer.split("\\r\\n").collect();
    if let Some(elements) = lines.get_mut(1..) {
        elements.sort_unstable();
    }
    lines.join("\\r\\n")
}
