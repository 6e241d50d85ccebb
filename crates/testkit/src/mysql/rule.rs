//! What the server does wrong, and when.

use std::time::Duration;

/// One thing that goes wrong: which commands it befalls, and what becomes of them.
///
/// Rules are asked in the order in which they were added, and the first that applies is the one. A
/// command befalls a rule when its name, statement and connection fit; of those, the first
/// [`skip`](Self::skip) are spared, the next [`times`](Self::times) suffer it.
///
/// The name of a query is its first word: `SELECT`, `COMMIT`. Others are called `PREPARE`, `EXECUTE`,
/// `LONG DATA`, `CLOSE STATEMENT`, `RESET STATEMENT`, `RESET`, `CHANGE USER`, `INIT DB`, `PING`, `QUIT`,
/// `KILL`. Three moments of the login count as commands: `GREETING` before the server's first packet, `TLS`
/// when a client has asked for it, and `LOGIN` when the server says yes or no.
#[derive(Clone, Debug)]
pub struct Rule {
    command: Option<String>,
    statement: Option<String>,
    connection: Option<usize>,
    skip: u64,
    times: u64,
    plan: Plan,
}

/// What becomes of a command.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) delay: Option<Duration>,
    pub(super) before: Vec<u8>,
    pub(super) reply: Reply,
    pub(super) after: Vec<u8>,
    /// Added to the number of the answer's first packet.
    pub(super) sequence: u8,
    pub(super) close: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) enum Reply {
    /// It is executed and answered.
    #[default]
    Honest,
    /// It is executed; of the answer only so many bytes are written.
    Cut(usize),
    /// It is not executed; these bytes are written instead, or none.
    Bytes(Vec<u8>),
    /// It is not executed; a packet with these contents is written instead.
    Packet(Vec<u8>),
    /// It is not executed; this error is written instead.
    Error {
        code: u16,
        state: String,
        message: String,
    },
}

impl Rule {
    /// Befalls every command.
    #[must_use]
    pub fn every() -> Self {
        Self {
            command: None,
            statement: None,
            connection: None,
            skip: 0,
            times: u64::MAX,
            plan: Plan::default(),
        }
    }

    /// Befalls the command of this name, in any case.
    #[must_use]
    pub fn on(command: &str) -> Self {
        Self {
            command: Some(command.to_owned()),
            ..Self::every()
        }
    }

    /// Only where this is part of the statement's text.
    #[must_use]
    pub fn statement(mut self, part: &str) -> Self {
        self.statement = Some(part.to_owned());
        self
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

    /// Writes these bytes before the answer, as they are. At `TLS` they are written in clear.
    #[must_use]
    pub fn before(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.plan.before = bytes.into();
        self
    }

    /// Writes these bytes after the answer, as they are.
    #[must_use]
    pub fn after(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.plan.after = bytes.into();
        self
    }

    /// Neither executes nor answers the command.
    #[must_use]
    pub fn swallow_command(self) -> Self {
        self.bytes(Vec::new())
    }

    /// Executes the command and writes no more than so many bytes of the answer, then closes.
    #[must_use]
    pub fn cut(mut self, bytes: usize) -> Self {
        self.plan.reply = Reply::Cut(bytes);
        self.close()
    }

    /// Does not execute the command and writes these bytes in place of an answer.
    #[must_use]
    pub fn bytes(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.plan.reply = Reply::Bytes(bytes.into());
        self
    }

    /// Does not execute the command and answers with one packet of these contents, properly numbered.
    #[must_use]
    pub fn packet(mut self, payload: impl Into<Vec<u8>>) -> Self {
        self.plan.reply = Reply::Packet(payload.into());
        self
    }

    /// Does not execute the command and announces so many columns, none of which comes.
    #[must_use]
    pub fn columns(self, count: u64) -> Self {
        let mut payload = vec![0xfe];
        payload.extend(count.to_le_bytes());
        self.packet(payload)
    }

    /// Does not execute the command and answers with this error. `state` has five letters. In place of a
    /// greeting, which has none of them, the connection is closed then, as servers do.
    #[must_use]
    pub fn error(mut self, code: u16, state: &str, message: &str) -> Self {
        self.plan.reply = Reply::Error {
            code,
            state: state.to_owned(),
            message: message.to_owned(),
        };
        self
    }

    /// The packets of the answer are numbered from so much too high.
    #[must_use]
    pub fn misnumber(mut self, by: u8) -> Self {
        self.plan.sequence = by;
        self
    }

    /// Closes the connection when everything for this command has been written.
    #[must_use]
    pub fn close(mut self) -> Self {
        self.plan.close = true;
        self
    }

    /// What becomes of a command, if the rule applies to it; it counts those that it could befall.
    pub(super) fn befall(
        &mut self,
        command: &str,
        statement: &str,
        connection: usize,
    ) -> Option<&Plan> {
        let fits = |wanted: &Option<String>, fits: &dyn Fn(&str) -> bool| {
            wanted.as_deref().is_none_or(fits)
        };
        if !fits(&self.command, &|name| name.eq_ignore_ascii_case(command))
            || !fits(&self.statement, &|part| statement.contains(part))
            || self.connection.is_some_and(|nth| nth != connection)
        {
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
        let mut rule = Rule::on("SELECT")
            .statement("wanted")
            .connection(1)
            .skip(1)
            .times(2);
        let mut befallen =
            |command, statement, connection| rule.befall(command, statement, connection).is_some();
        assert!(!befallen("select", "SELECT 'wanted'", 0));
        assert!(!befallen("DO", "DO 'wanted'", 1));
        assert!(!befallen("SELECT", "SELECT 1", 1));
        assert!(!befallen("select", "SELECT 'wanted'", 1));
        assert!(befallen("SELECT", "SELECT 'wanted'", 1));
        assert!(befallen("Select", "SELECT 'wanted'", 1));
        assert!(!befallen("SELECT", "SELECT 'wanted'", 1));
    }
}
