//! What the server does wrong, and when.

use std::time::Duration;

/// One thing that goes wrong: which commands it befalls, and what becomes of them.
///
/// Rules are asked in the order in which they were added, and the first that applies is the one. A
/// command befalls a rule when its name and connection fit; of those, the first
/// [`skip`](Self::skip) are spared, the next [`times`](Self::times) suffer it.
///
/// Bytes that a rule writes are written as they are, in the middle of whatever the client expects: pushes
/// (`>2\r\n+invalidate\r\n_\r\n`), garbage, replies that lie about their length.
#[derive(Clone, Debug)]
pub struct Rule {
    command: Option<String>,
    connection: Option<usize>,
    skip: u64,
    times: u64,
    pub(super) plan: Plan,
}

/// What becomes of a command.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) delay: Option<Duration>,
    pub(super) before: Vec<u8>,
    pub(super) reply: Answer,
    pub(super) after: Vec<u8>,
    pub(super) close: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) enum Answer {
    /// It is executed and answered.
    #[default]
    Honest,
    /// It is executed; of the reply only so many bytes are written.
    Torn(usize),
    /// It is not executed; these bytes are written instead, or none.
    Instead(Vec<u8>),
}

impl Rule {
    /// Befalls every command.
    #[must_use]
    pub fn every() -> Self {
        Self {
            command: None,
            connection: None,
            skip: 0,
            times: u64::MAX,
            plan: Plan::default(),
        }
    }

    /// Befalls the command of this name, in any case. A command within a transaction counts when it is
    /// queued; EXEC is a command of its own.
    #[must_use]
    pub fn on(command: &str) -> Self {
        Self {
            command: Some(command.to_ascii_lowercase()),
            ..Self::every()
        }
    }

    /// Only on the connection with this index: 0 is the first that the server accepted.
    #[must_use]
    pub fn connection(mut self, nth: usize) -> Self {
        self.connection = Some(nth);
        self
    }

    /// Spares so many commands first. Default: 0.
    #[must_use]
    pub fn skip(mut self, commands: u64) -> Self {
        self.skip = commands;
        self
    }

    /// Befalls so many commands, then never again. Default: all.
    #[must_use]
    pub fn times(mut self, commands: u64) -> Self {
        self.times = commands;
        self
    }

    /// The command is executed at once, and what is written for it comes so much later, as does
    /// everything behind it on that connection.
    #[must_use]
    pub fn delay(mut self, time: Duration) -> Self {
        self.plan.delay = Some(time);
        self
    }

    /// Writes these bytes before the reply.
    #[must_use]
    pub fn before(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.plan.before = bytes.into();
        self
    }

    /// Writes these bytes after the reply.
    #[must_use]
    pub fn after(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.plan.after = bytes.into();
        self
    }

    /// Neither executes nor answers the command.
    #[must_use]
    pub fn swallow_command(self) -> Self {
        self.answer(Vec::new())
    }

    /// Executes the command and writes nothing.
    #[must_use]
    pub fn swallow_reply(self) -> Self {
        self.tear_reply(0)
    }

    /// Executes the command and writes no more than so many bytes of the reply.
    #[must_use]
    pub fn tear_reply(mut self, bytes: usize) -> Self {
        self.plan.reply = Answer::Torn(bytes);
        self
    }

    /// Does not execute the command and writes these bytes in place of a reply.
    #[must_use]
    pub fn answer(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.plan.reply = Answer::Instead(bytes.into());
        self
    }

    /// Closes the connection when everything for this command has been written.
    #[must_use]
    pub fn close(mut self) -> Self {
        self.plan.close = true;
        self
    }

    /// What becomes of a command, if the rule applies to it; it counts those that it could befall.
    pub(super) fn befall(&mut self, command: &[u8], connection: usize) -> Option<&Plan> {
        let named = self
            .command
            .as_ref()
            .is_none_or(|name| command.eq_ignore_ascii_case(name.as_bytes()));
        if !named || self.connection.is_some_and(|nth| nth != connection) {
            return None;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        if self.times == 0 {
            return None;
        }
        self.times -= 1;
        Some(&self.plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_spares_the_first_and_befalls_the_next() {
        let mut rule = Rule::on("GET").connection(1).skip(1).times(2);
        let mut befallen =
            |command: &str, connection| rule.befall(command.as_bytes(), connection).is_some();
        assert!(!befallen("get", 0));
        assert!(!befallen("SET", 1));
        assert!(!befallen("get", 1));
        assert!(befallen("GET", 1));
        assert!(befallen("Get", 1));
        assert!(!befallen("get", 1));
    }
}
