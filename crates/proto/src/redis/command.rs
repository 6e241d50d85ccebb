//! A command, encoded while it is built.

use std::borrow::Cow;

use super::effects::Effects;

/// A command and its arguments, in the form in which they go on the wire.
///
/// Arguments are appended to one buffer as they come, so a command is one allocation, and none where
/// storage is used again ([`Self::in_buffer`], [`Self::into_buffer`]). They are bytes: nothing is
/// escaped, and nothing needs to be.
#[derive(Clone, PartialEq, Eq)]
pub struct Command {
    name: Cow<'static, str>,
    /// `$3\r\nGET\r\n$1\r\nk\r\n`: all but the header, which has the count.
    words: Vec<u8>,
    count: usize,
    effects: Effects,
}

impl Command {
    /// A command without arguments. A name of two words, such as `CLIENT SETNAME`, is a command and its
    /// subcommand, and goes out as two.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self;

    /// The same in storage that was used before; what is in it is cleared.
    pub fn in_buffer(name: impl Into<Cow<'static, str>>, storage: Vec<u8>) -> Self;

    /// As [`Self::in_buffer`], with effects that are known already.
    pub fn with_effects(name: &'static str, effects: Effects, storage: Vec<u8>) -> Self;

    /// With one more argument, or several where `argument` is a list.
    #[must_use]
    pub fn arg(self, argument: impl ToArg) -> Self;

    /// With more arguments.
    #[must_use]
    pub fn args<A: ToArg>(self, arguments: impl IntoIterator<Item = A>) -> Self;

    /// Appends one argument.
    pub fn push(&mut self, argument: &[u8]);

    /// Its name, as it was given.
    pub fn name(&self) -> &str;

    /// What it does to its connection.
    pub fn effects(&self) -> Effects;

    /// Bytes that [`Self::encode_to`] appends.
    pub fn wire_len(&self) -> usize;

    /// Appends it to what goes on the wire.
    pub fn encode_to(&self, wire: &mut Vec<u8>);

    /// Its storage, for the next command.
    pub fn into_buffer(self) -> Vec<u8>;

    /// The same, leaving an empty command that must not be sent.
    pub fn take_buffer(&mut self) -> Vec<u8>;

    /// Its words: the name, a subcommand, the arguments.
    pub fn words(&self) -> impl Iterator<Item = &[u8]>;
}

/// What can be an argument, or several: text, bytes, numbers, references to them, options (none is no
/// argument), slices, vectors, arrays, and tuples of two (a key and a value).
pub trait ToArg {
    /// Appends itself.
    fn append_to(&self, command: &mut Command);
}
