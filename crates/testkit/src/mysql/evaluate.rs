//! What an expression is worth.

use std::borrow::Cow;
use std::time::Duration;

use arknet_proto::mysql::ServerError;
use arknet_proto::mysql::value::{Decimal, Value};

use super::control::Waited;
use super::session::Session;
use super::statement::Expr;

/// A test wants a long value, not the machine's memory.
const MAX_REPEAT: usize = 64 << 20;

/// Longer than any test; it is only to keep the clock's arithmetic whole.
const MAX_SLEEP: f64 = 86_400.0;

/// What a row's expressions can see.
pub(super) struct Scope<'a> {
    pub(super) session: &'a Session,
    pub(super) params: &'a [Value],
    /// The row's number, from 1.
    pub(super) sequence: u64,
}

impl Scope<'_> {
    pub(super) fn value(&self, expr: &Expr) -> Result<Value, ServerError> {
        Ok(match expr {
            Expr::Null => Value::Null,
            Expr::Int(value) => Value::Int(*value),
            Expr::Uint(value) => Value::Uint(*value),
            Expr::Decimal(text) => Decimal::new(text.as_str()).map_or(Value::Null, Value::Decimal),
            Expr::Double(value) => Value::Double(*value),
            Expr::Text(text) => Value::Text(text.clone()),
            Expr::Bytes(bytes) => Value::Bytes(bytes.clone()),
            Expr::Param(at) => self.params.get(*at).cloned().unwrap_or_default(),
            Expr::Variable(name) => self.variable(name)?,
            Expr::Call(name, arguments) => {
                let arguments = arguments.iter().map(|argument| self.value(argument));
                self.call(name, &arguments.collect::<Result<Vec<_>, _>>()?)?
            }
            Expr::Sequence => Value::Uint(self.sequence),
        })
    }

    fn variable(&self, name: &str) -> Result<Value, ServerError> {
        if let Some(value) = self.session.variables.get(name) {
            return Ok(value.clone());
        }
        let Some(system) = name.strip_prefix("@@") else {
            return Ok(Value::Null);
        };
        Ok(
            match system
                .trim_start_matches("session.")
                .trim_start_matches("global.")
            {
                "version" => Value::Text(self.session.version.to_owned()),
                "max_allowed_packet" => Value::Int(super::session::MAX_PACKET as i64),
                "autocommit" => Value::Int(i64::from(self.session.autocommit)),
                "wait_timeout" => Value::Int(28_800),
                "read_only" | "innodb_read_only" => Value::Int(0),
                unknown => {
                    let message = format!("Unknown system variable '{unknown}'");
                    return Err(ServerError::new(1193, *b"HY000", message));
                }
            },
        )
    }

    fn call(&self, name: &str, arguments: &[Value]) -> Result<Value, ServerError> {
        let session = self.session;
        Ok(match (name, arguments) {
            ("CONNECTION_ID", []) => Value::Int(i64::from(session.id)),
            ("DATABASE" | "SCHEMA", []) => session.schema.clone().map_or(Value::Null, Value::Text),
            ("USER" | "CURRENT_USER", []) => Value::Text(format!("{}@localhost", session.user)),
            ("VERSION", []) => Value::Text(session.version.to_owned()),
            ("LAST_INSERT_ID", []) => Value::Uint(session.last_insert_id),
            ("REPEAT", [text, count]) => repeat(text, count),
            ("SLEEP", [seconds]) => self.sleep(number(seconds))?,
            _ => {
                let message = format!("FUNCTION {name} does not exist");
                return Err(ServerError::new(1305, *b"42000", message));
            }
        })
    }

    /// As MySQL has it, one that is killed within SLEEP alone is no error, but 1.
    fn sleep(&self, seconds: f64) -> Result<Value, ServerError> {
        let time = Duration::from_secs_f64(seconds.clamp(0.0, MAX_SLEEP));
        match self.session.control.wait(time) {
            Waited::Out => Ok(Value::Int(0)),
            Waited::Killed => Ok(Value::Int(1)),
            Waited::Closed => Err(ServerError::new(
                1317,
                *b"70100",
                "Query execution was interrupted",
            )),
        }
    }
}

fn repeat(text: &Value, count: &Value) -> Value {
    let text = match text {
        Value::Null => return Value::Null,
        Value::Text(text) => Cow::Borrowed(text.as_str()),
        other => Cow::Owned(shown(other)),
    };
    // As text, the number of repetitions is one as well.
    let count = number(count).clamp(0.0, MAX_REPEAT as f64) as usize;
    match text.len().saturating_mul(count) {
        len if len > MAX_REPEAT => Value::Null,
        _ => Value::Text(text.repeat(count)),
    }
}

/// The number that a value is, or begins with, or 0.
pub(super) fn number(value: &Value) -> f64 {
    match value {
        Value::Int(value) => *value as f64,
        Value::Uint(value) => *value as f64,
        Value::Float(value) => f64::from(*value),
        Value::Double(value) => *value,
        Value::Decimal(value) => value.as_str().parse().unwrap_or(0.0),
        Value::Text(text) => text.trim().parse().unwrap_or(0.0),
        _ => 0.0,
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Decimal(value) => value.as_str().to_owned(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    }
}
