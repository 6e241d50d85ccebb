//! A command, encoded while it is built.

use std::borrow::Cow;
use std::fmt;

use super::effects::Effects;
use super::header;

pub use self::argument::ToArg;

mod argument;

/// A command and its arguments, in the form in which they go on the wire.
///
/// Arguments are appended to one buffer as they come, so a command is one allocation, and none where
/// storage is used again ([`Self::in_buffer`], [`Self::into_buffer`]). They are bytes: nothing is
/// escaped, and nothing needs to be.
///
/// ```
/// use arknet_proto::redis::Command;
///
/// let mut wire = Vec::new();
/// Command::new("SET").arg("key").arg(42).encode_to(&mut wire);
/// assert_eq!(wire, b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$2\r\n42\r\n");
/// ```
#[derive(Clone)]
pub struct Command {
    name: Cow<'static, str>,
    /// `$3\r\nGET\r\n$1\r\nk\r\n`: all but the header, which has the count.
    words: Vec<u8>,
    count: usize,
    /// Looked up when they are asked for, unless they came with the name.
    effects: Option<Effects>,
}

impl Command {
    /// A command without arguments. A name of two words, such as `CLIENT SETNAME`, is a command and its
    /// subcommand, and goes out as two.
    #[must_use]
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self::in_buffer(name, Vec::new())
    }

    /// The same in storage that was used before; what is in it is cleared.
    #[must_use]
    pub fn in_buffer(name: impl Into<Cow<'static, str>>, storage: Vec<u8>) -> Self {
        Self::start(name.into(), None, storage)
    }

    /// As [`Self::in_buffer`], with effects that need not be looked up.
    #[must_use]
    #[inline]
    pub fn with_effects(name: &'static str, effects: Effects, storage: Vec<u8>) -> Self {
        Self::start(Cow::Borrowed(name), Some(effects), storage)
    }

    #[inline]
    fn start(name: Cow<'static, str>, effects: Option<Effects>, mut storage: Vec<u8>) -> Self {
        storage.clear();
        let mut command = Self {
            name: Cow::Borrowed(""),
            words: storage,
            count: 0,
            effects,
        };
        for word in name.split(' ') {
            command.push(word.as_bytes());
        }
        command.name = name;
        command
    }

    /// With one more argument, or several where `argument` is a list.
    #[must_use]
    #[inline]
    pub fn arg(mut self, argument: impl ToArg) -> Self {
        argument.append_to(&mut self);
        self
    }

    /// With more arguments.
    #[must_use]
    pub fn args<A: ToArg>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        for argument in arguments {
            argument.append_to(&mut self);
        }
        self
    }

    /// Appends one argument.
    #[inline]
    pub fn push(&mut self, argument: &[u8]) {
        header::push(&mut self.words, b'$', argument.len());
        self.words.extend_from_slice(argument);
        self.words.extend_from_slice(b"\r\n");
        self.count += 1;
    }

    /// Its name, as it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many words it has: the name, a subcommand, the arguments.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether it is one that its storage was taken from.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// What it does to its connection.
    pub fn effects(&self) -> Effects {
        match self.effects {
            Some(effects) => effects,
            None => self.looked_up(),
        }
    }

    /// Bytes that [`Self::encode_to`] appends.
    pub fn wire_len(&self) -> usize {
        header::len(self.count) + self.words.len()
    }

    /// Appends it to what goes on the wire.
    #[inline]
    pub fn encode_to(&self, wire: &mut Vec<u8>) {
        header::push(wire, b'*', self.count);
        wire.extend_from_slice(&self.words);
    }

    /// Its storage, for the next command.
    #[must_use]
    pub fn into_buffer(self) -> Vec<u8> {
        self.words
    }

    /// Its storage; an empty command is left, which must not be sent.
    #[must_use]
    pub fn take_buffer(&mut self) -> Vec<u8> {
        self.count = 0;
        std::mem::take(&mut self.words)
    }

    /// Its words: the name, a subcommand, the arguments.
    pub fn words(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.words.as_slice();
        std::iter::from_fn(move || {
            let header::Length::Of { value, len } = header::length(rest.strip_prefix(b"$")?) else {
                return None;
            };
            let start = len + 1;
            let end = start.checked_add(usize::try_from(value).ok()?)?;
            let word = rest.get(start..end)?;
            rest = rest.get(end + 2..)?;
            Some(word)
        })
    }

    /// What the name does, or the name with the word that follows it, or with what stands further on.
    fn looked_up(&self) -> Effects {
        let is = |word: &[u8], text: &str| word.eq_ignore_ascii_case(text.as_bytes());
        let mut words = self.words();
        let first = words.next().unwrap_or_default();
        if is(first, "XREAD") || is(first, "XREADGROUP") {
            // Behind STREAMS are keys, which may be called anything.
            let waits = words
                .take_while(|word| !is(word, "STREAMS"))
                .any(|word| is(word, "BLOCK"));
            return if waits {
                Effects::BLOCKING
            } else {
                Effects::NONE
            };
        }
        let (Ok(first), second) = (std::str::from_utf8(first), words.next()) else {
            return Effects::of("");
        };
        if is(first.as_bytes(), "CLIENT") || is(first.as_bytes(), "SCRIPT") {
            let second = second.and_then(|word| std::str::from_utf8(word).ok());
            let name = format!("{first} {}", second.unwrap_or_default());
            let effects = Effects::of(&name);
            // That one is answered again.
            if effects.no_reply() && words.next().is_some_and(|word| is(word, "ON")) {
                return Effects::of(first);
            }
            return effects;
        }
        Effects::of(first)
    }
}

/// Its name and how many words it has: what they say may be a secret.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Command({}, {} words)", self.name, self.count)
    }
}
