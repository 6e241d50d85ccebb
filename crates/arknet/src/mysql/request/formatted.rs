//! Statements as text, into which this side writes the values.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use arknet_proto::mysql::command::{Param, Params};
use arknet_proto::mysql::format::{Dialect, FormatError, format};
use arknet_proto::mysql::value::{Decimal, Value};

use super::unit::{Asks, Single};
use super::{Ask, Request, Streamable, Unit, WriteSql, sealed};
use crate::mysql::Error;
use crate::mysql::result::FromResult;

/// A statement that is sent as text with its values written into it: from [`formatted`].
#[must_use = "a request does nothing until it is run"]
pub struct Formatted<'q, T> {
    sql: Cow<'q, str>,
    params: Vec<Value>,
    /// A parameter that has no literal, and what it is.
    no_value: Option<(usize, &'static str)>,
    ansi_quotes: bool,
    stateless: bool,
    value: PhantomData<fn() -> T>,
}

/// A statement with a question mark for each of `params`, which are written into its text as literals when it is sent. For
/// proxies and servers that had better not prepare; elsewhere [`exec`](super::exec) is the shorter way.
///
/// What is written is read back by the server as exactly the values that were given, whatever is in them, as long as the
/// session's character set is the one that it began with. What this side could read differently from the server is an error:
/// [`FormatError`].
///
/// ```
/// use arknet::mysql::formatted;
///
/// let found = formatted::<Option<(u64,)>>("SELECT id FROM users WHERE name = ?", ("O'Hara",));
/// # let _ = found;
/// ```
pub fn formatted<'q, T: FromResult>(
    sql: impl Into<Cow<'q, str>>,
    params: impl Params,
) -> Formatted<'q, T> {
    let (mut values, mut no_value) = (Vec::with_capacity(params.count()), None);
    params.for_each(|param| {
        let value = value(param).unwrap_or_else(|what| {
            no_value.get_or_insert((values.len(), what));
            Value::Null
        });
        values.push(value);
    });
    Formatted {
        sql: sql.into(),
        params: values,
        no_value,
        ansi_quotes: false,
        stateless: false,
        value: PhantomData,
    }
}

/// The value, or what it is that has no literal.
fn value(param: Param<'_>) -> Result<Value, &'static str> {
    Ok(match param {
        Param::Null => Value::Null,
        Param::Int(value) => Value::Int(value),
        Param::Uint(value) => Value::Uint(value),
        Param::Float(value) => Value::Float(value),
        Param::Double(value) => Value::Double(value),
        Param::Text(text) => Value::Text(text.to_owned()),
        Param::Bytes(bytes) => Value::Bytes(bytes.to_vec()),
        Param::Decimal(digits) => match Decimal::new(digits) {
            Some(decimal) => Value::Decimal(decimal),
            None => return Err("a DECIMAL that is not digits"),
        },
        Param::Date(value) => Value::Date(value),
        Param::DateTime(value) => Value::DateTime(value),
        Param::Time(value) => Value::Time(value),
        _ => return Err("long data"),
    })
}

impl<T> Formatted<'_, T> {
    /// Promises that the statement leaves nothing behind in the session, as [`Query::stateless`](super::Query::stateless)
    /// does.
    pub fn stateless(mut self) -> Self {
        self.stateless = true;
        self
    }

    /// Says that the session has `ANSI_QUOTES` in its `sql_mode`, of which a server does not tell: `"` begins a name.
    pub fn ansi_quotes(mut self) -> Self {
        self.ansi_quotes = true;
        self
    }
}

impl<T> WriteSql for Formatted<'_, T> {
    fn sql(&self) -> &str {
        &self.sql
    }

    fn write_sql(&self, out: &mut Vec<u8>, mut dialect: Dialect) -> Result<(), FormatError> {
        if let Some((index, what)) = self.no_value {
            return Err(FormatError::NoLiteral { index, what });
        }
        dialect.ansi_quotes = self.ansi_quotes;
        format(out, &self.sql, &self.params, dialect)
    }
}

impl<T: FromResult> Single for Formatted<'_, T> {
    type Value = T;
}

impl<T: FromResult> Asks for Formatted<'_, T> {
    fn ask(&self) -> Ask<'_> {
        Ask::Formatted(self)
    }

    fn is_stateless(&self) -> bool {
        self.stateless
    }
}

impl<T> sealed::Sealed for Formatted<'_, T> {}

impl<T: FromResult> Request for Formatted<'_, T> {
    type Output = Result<T, Error>;
    type Units = Unit<Self>;

    fn into_units(self) -> Unit<Self> {
        Unit::new(self)
    }
}

impl<T> Clone for Formatted<'_, T> {
    fn clone(&self) -> Self {
        Self {
            sql: self.sql.clone(),
            params: self.params.clone(),
            ..*self
        }
    }
}

impl<T: FromResult> Streamable for Formatted<'_, T> {}

/// Shows the statement's digest, and how many parameters there are.
impl<T> fmt::Debug for Formatted<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest = crate::mysql::digest::Digest(&self.sql);
        write!(f, "Formatted({digest}, {} parameters)", self.params.len())
    }
}
