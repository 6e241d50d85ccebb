//! What requests are, read from their own bytes: for the few that do more than to be answered at once.

use std::time::Duration;

/// The requests of an encoded batch, one after the other.
///
/// It reads what [`Command`](crate::redis::Command) writes, and ends at the first byte that is none of it.
#[derive(Clone, Debug)]
pub struct Requests<'a> {
    wire: &'a [u8],
}

/// One request: its words, the name first.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// All its bytes.
    wire: &'a [u8],
    /// Those behind its first line.
    words: &'a [u8],
}

/// How the answer to a request differs from one reply, at once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Nature {
    /// It does not.
    Usual,
    /// It may take so long in addition, by the request's own words; `None` is for ever.
    Blocks(Option<Duration>),
    /// It is confirmed by messages, one for each of its words.
    Subscribes,
    /// It is not answered, or others are not: `CLIENT REPLY`.
    Silences,
    /// What it changes in the session outlives a `RESET`, at least on some servers: `CLIENT NO-EVICT`.
    Lasts,
    /// What comes behind its reply has no end, and looks like replies: `MONITOR`.
    Floods,
    /// The server closes the connection: `QUIT`.
    Ends,
}

impl<'a> Requests<'a> {
    /// Those in `wire`.
    pub fn new(wire: &'a [u8]) -> Self {
        Self { wire }
    }
}

impl<'a> Iterator for Requests<'a> {
    type Item = Request<'a>;

    fn next(&mut self) -> Option<Request<'a>> {
        let (count, start) = header(self.wire, b'*')?;
        let words = self.wire.get(start..)?;
        let mut rest = words;
        for _ in 0..count {
            (_, rest) = split_word(rest)?;
        }
        let (wire, after) = self.wire.split_at_checked(self.wire.len() - rest.len())?;
        let words = words.get(..words.len() - rest.len())?;
        self.wire = after;
        Some(Request { wire, words })
    }
}

impl<'a> Request<'a> {
    /// How many bytes it has.
    pub fn wire_len(&self) -> usize {
        self.wire.len()
    }

    /// Its words, the name first.
    pub fn words(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.words;
        std::iter::from_fn(move || {
            let (word, after) = split_word(rest)?;
            rest = after;
            Some(word)
        })
    }

    /// How its answer differs from one reply at once.
    pub fn nature(&self) -> Nature {
        let mut words = self.words();
        let mut upper = [0; LONGEST_NAME];
        let Some(name) = words.next().and_then(|name| uppercase(name, &mut upper)) else {
            return Nature::Usual;
        };
        match name {
            b"BLPOP" | b"BRPOP" | b"BZPOPMIN" | b"BZPOPMAX" | b"BRPOPLPUSH" | b"BLMOVE" => {
                blocks(words.last(), Unit::Seconds)
            }
            b"BLMPOP" | b"BZMPOP" => blocks(words.next(), Unit::Seconds),
            b"WAIT" | b"WAITAOF" => blocks(words.last(), Unit::Milliseconds),
            b"XREAD" | b"XREADGROUP" => {
                match words.find(|word| word.eq_ignore_ascii_case(b"BLOCK")) {
                    Some(_) => blocks(words.next(), Unit::Milliseconds),
                    None => Nature::Usual,
                }
            }
            b"DEBUG" => match words.next() {
                Some(word) if word.eq_ignore_ascii_case(b"SLEEP") => {
                    blocks(words.next(), Unit::Seconds)
                }
                _ => Nature::Usual,
            },
            b"CLIENT" => words.next().map_or(Nature::Usual, client),
            b"REPLCONF" => Nature::Lasts,
            b"SCRIPT" => match words.next() {
                Some(word) if word.eq_ignore_ascii_case(b"DEBUG") => Nature::Lasts,
                _ => Nature::Usual,
            },
            b"SUBSCRIBE" | b"PSUBSCRIBE" | b"SSUBSCRIBE" | b"UNSUBSCRIBE" | b"PUNSUBSCRIBE"
            | b"SUNSUBSCRIBE" => Nature::Subscribes,
            b"MONITOR" | b"SYNC" | b"PSYNC" => Nature::Floods,
            b"QUIT" | b"SHUTDOWN" => Nature::Ends,
            _ => Nature::Usual,
        }
    }
}

/// No command of another nature than the usual has a longer name.
const LONGEST_NAME: usize = 16;

/// The subcommands of `CLIENT` that change nothing, or what `RESET` changes back.
const CLIENT_RESET: &[&[u8]] = &[
    b"CACHING",
    b"GETNAME",
    b"GETREDIR",
    b"HELP",
    b"ID",
    b"INFO",
    b"KILL",
    b"LIST",
    b"PAUSE",
    b"SETNAME",
    b"TRACKING",
    b"TRACKINGINFO",
    b"UNBLOCK",
    b"UNPAUSE",
];

/// The nature of a subcommand of `CLIENT`; one that is not known may do anything.
fn client(subcommand: &[u8]) -> Nature {
    if subcommand.eq_ignore_ascii_case(b"REPLY") {
        return Nature::Silences;
    }
    let is_reset = CLIENT_RESET
        .iter()
        .any(|name| subcommand.eq_ignore_ascii_case(name));
    if is_reset {
        Nature::Usual
    } else {
        Nature::Lasts
    }
}

#[derive(Clone, Copy)]
enum Unit {
    Seconds,
    Milliseconds,
}

/// What a command that waits for so long does; zero is for ever. One whose time cannot be read is refused by the server.
fn blocks(word: Option<&[u8]>, unit: Unit) -> Nature {
    let number = word
        .and_then(|word| std::str::from_utf8(word).ok())
        .and_then(|text| text.parse::<f64>().ok());
    let Some(number) = number else {
        return Nature::Usual;
    };
    if number == 0.0 {
        return Nature::Blocks(None);
    }
    let seconds = match unit {
        Unit::Seconds => number,
        Unit::Milliseconds => number / 1e3,
    };
    match Duration::try_from_secs_f64(seconds) {
        Ok(time) => Nature::Blocks(Some(time)),
        Err(_) => Nature::Usual,
    }
}

fn uppercase<'a>(name: &[u8], into: &'a mut [u8]) -> Option<&'a [u8]> {
    let upper = into.get_mut(..name.len())?;
    upper.copy_from_slice(name);
    upper.make_ascii_uppercase();
    Some(upper)
}

/// A word in its bulk, and what is behind it.
fn split_word(wire: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, start) = header(wire, b'$')?;
    let (word, rest) = wire.get(start..)?.split_at_checked(length)?;
    Some((word, rest.strip_prefix(b"\r\n")?))
}

/// The number on a line of this type, and the bytes of the line.
fn header(wire: &[u8], kind: u8) -> Option<(usize, usize)> {
    let rest = wire.strip_prefix(&[kind])?;
    let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
    let number = std::str::from_utf8(rest.get(..end)?).ok()?.parse().ok()?;
    Some((number, end + 3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::Command;

    fn nature(command: Command) -> Nature {
        let mut wire = Vec::new();
        command.encode_to(&mut wire);
        let mut requests = Requests::new(&wire);
        let request = requests.next().unwrap();
        assert_eq!(request.wire_len(), wire.len());
        assert!(requests.next().is_none());
        request.nature()
    }

    #[test]
    fn a_batch_is_taken_apart_into_requests_and_words() {
        let mut wire = Vec::new();
        Command::new("SET")
            .arg("k")
            .arg("\r\n$1")
            .encode_to(&mut wire);
        Command::new("CLIENT INFO").encode_to(&mut wire);
        let words: Vec<Vec<&[u8]>> = Requests::new(&wire)
            .map(|request| request.words().collect())
            .collect();
        assert_eq!(
            words,
            [vec![&b"SET"[..], b"k", b"\r\n$1"], vec![b"CLIENT", b"INFO"]]
        );
        wire.pop();
        assert_eq!(Requests::new(&wire).count(), 1, "the second is not whole");
    }

    #[test]
    fn a_command_that_waits_says_how_long() {
        let second = Nature::Blocks(Some(Duration::from_secs(1)));
        let forever = Nature::Blocks(None);
        for (command, expected) in [
            (Command::new("blpop").arg("a").arg("b").arg(1), second),
            (Command::new("BRPOP").arg("a").arg(0), forever),
            (
                Command::new("BLMPOP")
                    .arg("1.0")
                    .arg(1)
                    .arg("a")
                    .arg("LEFT"),
                second,
            ),
            (
                Command::new("BLMOVE")
                    .arg("a")
                    .arg("b")
                    .arg("LEFT")
                    .arg("LEFT")
                    .arg("1"),
                second,
            ),
            (Command::new("WAIT").arg(1).arg(1000), second),
            (
                Command::new("XREAD")
                    .arg("BLOCK")
                    .arg(1000)
                    .arg("STREAMS")
                    .arg("s")
                    .arg("$"),
                second,
            ),
            (
                Command::new("XREAD")
                    .arg("block")
                    .arg(0)
                    .arg("STREAMS")
                    .arg("s")
                    .arg("$"),
                forever,
            ),
            (
                Command::new("XREAD").arg("STREAMS").arg("s").arg("0"),
                Nature::Usual,
            ),
            (Command::new("DEBUG SLEEP").arg(1), second),
            (Command::new("BLPOP").arg("a").arg("soon"), Nature::Usual),
            (Command::new("BLPOP").arg("a").arg(-1), Nature::Usual),
            (Command::new("GET").arg("BLPOP"), Nature::Usual),
        ] {
            assert_eq!(nature(command.clone()), expected, "{command:?}");
        }
    }

    #[test]
    fn what_is_not_answered_by_one_reply_is_known() {
        for (command, expected) in [
            (
                Command::new("CLIENT").arg("reply").arg("OFF"),
                Nature::Silences,
            ),
            (Command::new("CLIENT REPLY").arg("ON"), Nature::Silences),
            (Command::new("CLIENT INFO"), Nature::Usual),
            (
                Command::new("client").arg("no-evict").arg("on"),
                Nature::Lasts,
            ),
            (
                Command::new("CLIENT SETINFO").arg("LIB-NAME").arg("x"),
                Nature::Lasts,
            ),
            (Command::new("SCRIPT DEBUG").arg("YES"), Nature::Lasts),
            (Command::new("SCRIPT LOAD").arg("return 1"), Nature::Usual),
            (Command::new("ssubscribe").arg("c"), Nature::Subscribes),
            (Command::new("MONITOR"), Nature::Floods),
            (Command::new("quit"), Nature::Ends),
            (Command::new("A.NAME.LONGER.THAN.ANY"), Nature::Usual),
        ] {
            assert_eq!(nature(command.clone()), expected, "{command:?}");
        }
    }
}
