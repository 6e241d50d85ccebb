//! Lua scripts and functions.

use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

use arknet_proto::redis::{FromReply, ToArg};
use sha1::{Digest, Sha1};

use crate::redis::{Command, Error};

/// Runs a script. `EVAL`.
pub fn eval<T: FromReply>(source: impl ToArg, keys: impl ToArg, args: impl ToArg) -> Command<T> {
    Command::clean("EVAL").arg(source).counted(keys).arg(args)
}

/// Runs a script that the server has, by its SHA-1 in hexadecimal; the error `NOSCRIPT` if it has not.
/// `EVALSHA`.
pub fn evalsha<T: FromReply>(sha: impl ToArg, keys: impl ToArg, args: impl ToArg) -> Command<T> {
    Command::clean("EVALSHA").arg(sha).counted(keys).arg(args)
}

/// Calls a function of a library that the server has. `FCALL`, Redis 7.
pub fn fcall<T: FromReply>(name: impl ToArg, keys: impl ToArg, args: impl ToArg) -> Command<T> {
    Command::clean("FCALL").arg(name).counted(keys).arg(args)
}

/// Gives the server a library of functions, in place of one of that name if `replace`; its name. `FUNCTION
/// LOAD`, Redis 7.
pub fn function_load(source: impl ToArg, replace: bool) -> Command<String> {
    let replace = replace.then_some("REPLACE");
    Command::clean("FUNCTION LOAD").arg(replace).arg(source)
}

/// Whether the server has each of some scripts, by their SHA-1 in hexadecimal. `SCRIPT EXISTS`, O(n).
pub fn script_exists(shas: impl ToArg) -> Command<Vec<bool>> {
    Command::clean("SCRIPT EXISTS").arg(shas)
}

/// Has the server forget all scripts. `SCRIPT FLUSH`, O(n).
pub fn script_flush() -> Command<()> {
    Command::clean("SCRIPT FLUSH")
}

/// Ends a script that runs for too long and has written nothing yet. `SCRIPT KILL`, O(1).
pub fn script_kill() -> Command<()> {
    Command::clean("SCRIPT KILL")
}

/// Gives the server a script, and returns its SHA-1 in hexadecimal. `SCRIPT LOAD`, O(n).
pub fn script_load(source: impl ToArg) -> Command<String> {
    Command::clean("SCRIPT LOAD").arg(source)
}

/// A script with its SHA-1, by which servers know it. Cheap to clone.
///
/// ```no_run
/// use arknet::redis::commands::scripts::Script;
/// # use arknet::redis::{Error, Lease};
///
/// # async fn count(lease: &mut Lease) -> Result<i64, Error> {
/// let limiter = Script::new(
///     "local n = redis.call('INCR', KEYS[1])
///      if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
///      return n",
/// );
/// let call = limiter.call::<i64>("requests:10.0.0.1", 60_000);
/// let count = call.run(async |command| lease.run(command).await).await?;
/// # Ok(count)
/// # }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Script {
    source: Arc<str>,
    sha: Arc<str>,
}

impl Script {
    /// A script in Lua.
    pub fn new(source: impl Into<Arc<str>>) -> Self {
        let source = source.into();
        let mut sha = String::with_capacity(40);
        for byte in Sha1::digest(source.as_bytes()) {
            // Writing to a string does not fail.
            let _ = write!(sha, "{byte:02x}");
        }
        Self {
            source,
            sha: sha.into(),
        }
    }

    /// Its text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Its SHA-1 in hexadecimal.
    pub fn sha(&self) -> &str {
        &self.sha
    }

    /// Gives it to the server. `SCRIPT LOAD`, O(n).
    pub fn load(&self) -> Command<()> {
        script_load(&*self.source).returning()
    }

    /// Runs it, sending all of it. `EVAL`.
    pub fn eval<T: FromReply>(&self, keys: impl ToArg, args: impl ToArg) -> Command<T> {
        eval(&*self.source, keys, args)
    }

    /// Runs it if the server has it; the error `NOSCRIPT` otherwise. `EVALSHA`.
    pub fn evalsha<T: FromReply>(&self, keys: impl ToArg, args: impl ToArg) -> Command<T> {
        evalsha(&*self.sha, keys, args)
    }

    /// Runs it, sending all of it only where the server does not have it.
    pub fn call<T: FromReply>(&self, keys: impl ToArg, args: impl ToArg) -> ScriptCall<T> {
        ScriptCall {
            command: self.evalsha(keys, args),
            script: self.clone(),
        }
    }
}

/// Its SHA-1: the text may be long.
impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Script").field(&self.sha).finish()
    }
}

/// A call of a script, by its SHA-1 first, from [`Script::call`].
#[derive(Clone, Debug)]
#[must_use = "a call does nothing until it is run"]
pub struct ScriptCall<T> {
    command: Command<T>,
    script: Script,
}

impl<T: FromReply> ScriptCall<T> {
    /// Runs it by `run`, and once more with all of the script if the server says that it does not have it.
    ///
    /// It runs once at most: the second request follows only the server's word that the first one ran
    /// nothing. After any other error, such as a lost connection, there is none.
    ///
    /// # Errors
    ///
    /// What `run` gave.
    pub async fn run(
        self,
        mut run: impl AsyncFnMut(Command<T>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match run(self.command.clone()).await {
            Err(error) if Self::is_missing(&error) => run(self.whole()).await,
            done => done,
        }
    }

    /// The request that names the script. `EVALSHA`.
    pub fn by_sha(&self) -> Command<T> {
        self.command.clone()
    }

    /// The request with all of the script, for after an error that [`is_missing`](Self::is_missing). `EVAL`.
    pub fn whole(&self) -> Command<T> {
        let words = self.command.encoded().words();
        let behind_sha = words.skip(2);
        Command::clean("EVAL")
            .arg(self.script.source())
            .args(behind_sha)
    }

    /// Whether an error of [`by_sha`](Self::by_sha) says that the server does not have the script, and so
    /// that nothing ran.
    pub fn is_missing(error: &Error) -> bool {
        error.server().is_some_and(|said| said.code() == "NOSCRIPT")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words<T>(command: &Command<T>) -> Vec<String> {
        let words = command.encoded().words();
        words
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect()
    }

    #[test]
    fn a_script_has_the_name_that_servers_give_it() {
        // As `SCRIPT LOAD "return 1"` answers.
        let sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
        assert_eq!(Script::new("return 1").sha(), sha);
    }

    #[test]
    fn a_call_has_the_same_keys_and_arguments_in_both_forms() {
        let script = Script::new("return 1");
        let call = script.call::<i64>(["k1", "k2"], [7, 8]);
        assert_eq!(
            words(&call.by_sha()),
            ["EVALSHA", script.sha(), "2", "k1", "k2", "7", "8"]
        );
        assert_eq!(
            words(&call.whole()),
            ["EVAL", "return 1", "2", "k1", "k2", "7", "8"]
        );
    }

    #[test]
    fn a_call_without_keys_says_so() {
        let none: [&str; 0] = [];
        assert_eq!(words(&eval::<()>("s", none, "a")), ["EVAL", "s", "0", "a"]);
    }
}
