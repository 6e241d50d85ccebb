//! Commands with the type of their reply.

use std::borrow::Cow;
use std::marker::PhantomData;

use arknet_proto::redis::{Command as Encoded, Effects, FromReply, ToArg};

/// A command whose reply is decoded to `T`. Any connection takes it.
pub struct Command<T> {
    encoded: Encoded,
    returns: PhantomData<fn() -> T>,
}

/// A command that only a lease takes: it waits, or it changes what its connection means.
pub struct LeaseCommand<T>(Command<T>);

/// Any command, by its name.
pub fn cmd<T: FromReply>(name: impl Into<Cow<'static, str>>) -> Command<T>;

impl<T> Command<T> {
    /// With one more argument, or several where `argument` is a list.
    #[must_use]
    pub fn arg(self, argument: impl ToArg) -> Self;
    /// With more arguments.
    #[must_use]
    pub fn args<A: ToArg>(self, arguments: impl IntoIterator<Item = A>) -> Self;
    /// With its reply decoded to another type.
    #[must_use]
    pub fn returning<U: FromReply>(self) -> Command<U>;
    /// Its name, as it was given.
    pub fn name(&self) -> &str;
    /// What it does to its connection.
    pub fn effects(&self) -> Effects;
}

impl<T> From<Command<T>> for LeaseCommand<T> {}
