//! Error replies, in Redis's words.

use std::borrow::Cow;

/// The text of an error reply, its code first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal(pub(super) Cow<'static, str>);

impl Refusal {
    pub(super) const fn fixed(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    pub(super) fn said(text: String) -> Self {
        Self(Cow::Owned(text))
    }

    /// The number of arguments does not fit the command.
    pub(super) fn arity(name: &str) -> Self {
        Self::said(format!(
            "ERR wrong number of arguments for '{name}' command"
        ))
    }
}

pub(super) const WRONG_TYPE: Refusal =
    Refusal::fixed("WRONGTYPE Operation against a key holding the wrong kind of value");
pub(super) const NOT_INTEGER: Refusal =
    Refusal::fixed("ERR value is not an integer or out of range");
pub(super) const NOT_FLOAT: Refusal = Refusal::fixed("ERR value is not a valid float");
pub(super) const SYNTAX: Refusal = Refusal::fixed("ERR syntax error");
pub(super) const OVERFLOW: Refusal = Refusal::fixed("ERR increment or decrement would overflow");
pub(super) const NO_SUCH_KEY: Refusal = Refusal::fixed("ERR no such key");
pub(super) const NO_AUTH: Refusal = Refusal::fixed("NOAUTH Authentication required.");
pub(super) const WRONG_PASS: Refusal =
    Refusal::fixed("WRONGPASS invalid username-password pair or user is disabled.");
pub(super) const OUT_OF_MEMORY: Refusal =
    Refusal::fixed("OOM command not allowed when used memory > 'maxmemory'.");
pub(super) const LOADING: Refusal =
    Refusal::fixed("LOADING Redis is loading the dataset in memory");
pub(super) const READ_ONLY: Refusal =
    Refusal::fixed("READONLY You can't write against a read only replica.");
