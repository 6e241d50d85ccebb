//! Commands with the type of their reply.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use arknet_proto::redis::{Command as Encoded, Effects, FromReply, ToArg};

use super::storage::Stored;

/// A command whose reply is decoded to `T`. Any connection takes it.
///
/// The functions in [`commands`](super::commands) make them, and [`cmd`] any other. It is encoded while
/// it is built, in storage that commands use in turn; a command that has been built before may be cloned.
///
/// ```
/// use arknet::redis::{cmd, commands::strings::get};
///
/// let name = get::<Option<String>>("user:1:name");
/// let echo = cmd::<String>("ECHO").arg("hello");
/// # let _ = (name, echo);
/// ```
#[must_use = "a command does nothing until it is run"]
pub struct Command<T> {
    encoded: Stored,
    returns: PhantomData<fn() -> T>,
}

/// Any command, by its name, with its reply decoded to `T`.
///
/// A name of two words, such as `CLIENT INFO`, is a command and its subcommand. What the library does not
/// know counts as leaving state behind on its connection: a lease that ran it is reset when it is returned.
pub fn cmd<T: FromReply>(name: impl Into<Cow<'static, str>>) -> Command<T> {
    Command {
        encoded: Stored::new(|storage| Encoded::in_buffer(name, storage)),
        returns: PhantomData,
    }
}

impl<T> Command<T> {
    /// One that leaves its connection as it was.
    #[inline]
    pub(crate) fn clean(name: &'static str) -> Self {
        Self::with_effects(name, Effects::NONE)
    }

    #[inline]
    pub(crate) fn with_effects(name: &'static str, effects: Effects) -> Self {
        Self {
            encoded: Stored::new(|storage| Encoded::with_effects(name, effects, storage)),
            returns: PhantomData,
        }
    }

    /// With one more argument, or several where `argument` is a list.
    #[inline]
    pub fn arg(mut self, argument: impl ToArg) -> Self {
        argument.append_to(self.encoded.command());
        self
    }

    /// With more arguments.
    pub fn args<A: ToArg>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        for argument in arguments {
            argument.append_to(self.encoded.command());
        }
        self
    }

    /// With the number of arguments that `list` is, and then these.
    pub(crate) fn counted(self, list: impl ToArg) -> Self {
        self.arg(list.count()).arg(list)
    }

    /// With its reply decoded to another type.
    pub fn returning<U: FromReply>(self) -> Command<U> {
        Command {
            encoded: self.encoded,
            returns: PhantomData,
        }
    }

    /// Its name, as it was given.
    pub fn name(&self) -> &str {
        self.encoded.name()
    }

    /// What it does to its connection.
    pub fn effects(&self) -> Effects {
        self.encoded.effects()
    }

    /// In the form in which it goes on the wire.
    pub fn encoded(&self) -> &Encoded {
        &self.encoded
    }

    /// Gives its storage to the next command. It can only be decoded after that.
    #[inline]
    pub(crate) fn release(&mut self) {
        self.encoded.release();
    }
}

impl<T> Clone for Command<T> {
    fn clone(&self) -> Self {
        Self {
            encoded: self.encoded.clone(),
            returns: PhantomData,
        }
    }
}

/// Its name and how many words it has: what they say may be a secret.
impl<T> fmt::Debug for Command<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.encoded.fmt(f)
    }
}

/// A command that only a lease takes: it waits, or it changes what its connection means to others.
#[must_use = "a command does nothing until it is run"]
pub struct LeaseCommand<T>(Command<T>);

impl<T> LeaseCommand<T> {
    /// With one more argument, or several where `argument` is a list.
    pub fn arg(self, argument: impl ToArg) -> Self {
        Self(self.0.arg(argument))
    }

    /// With its reply decoded to another type.
    pub fn returning<U: FromReply>(self) -> LeaseCommand<U> {
        LeaseCommand(self.0.returning())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// What it does to its connection.
    pub fn effects(&self) -> Effects {
        self.0.effects()
    }

    /// The command, as one that any connection takes.
    pub(crate) fn into_command(self) -> Command<T> {
        self.0
    }

    /// The command within.
    pub(crate) fn command(&self) -> &Command<T> {
        &self.0
    }

    /// As [`Command::release`].
    pub(crate) fn release(&mut self) {
        self.0.release();
    }
}

/// What any connection takes, a lease takes.
impl<T> From<Command<T>> for LeaseCommand<T> {
    fn from(command: Command<T>) -> Self {
        Self(command)
    }
}

impl<T> Clone for LeaseCommand<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> fmt::Debug for LeaseCommand<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
