//! A client's session: its state, and what its statements answer.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use arknet_proto::mysql::server::{Accepted, ParamTypes, Responder};
use arknet_proto::mysql::session_state::Change;
use arknet_proto::mysql::value::{Value, ValueRef};
use arknet_proto::mysql::{
    Capabilities, ColumnFlags, ColumnSpec, ColumnType, OkPacket, ServerError, Status,
};

use super::channel::Channel;
use super::control::Control;
use super::evaluate::{Scope, number};
use super::hub::Hub;
use super::parse::{Near, parse};
use super::statement::{Action, Expr, Item, Statement};

/// What a client may send in one packet, and a parameter in all its pieces.
pub(super) const MAX_PACKET: usize = 64 << 20;

/// As MySQL has it for the whole server.
const MAX_STATEMENTS: usize = 16_382;

/// Variables of one session.
const MAX_VARIABLES: usize = 1_024;

/// Bytes of an answer that wait before they are written.
pub(super) const FLUSH_AT: usize = 64 * 1024;

/// The statement that was prepared last, in an execute that was sent before its number came (MariaDB).
const LAST_STATEMENT: u32 = u32::MAX;

pub(super) struct Session {
    pub(super) id: u32,
    pub(super) user: String,
    pub(super) schema: Option<String>,
    pub(super) version: &'static str,
    /// By their names with `@` or `@@`.
    pub(super) variables: BTreeMap<String, Value>,
    pub(super) autocommit: bool,
    pub(super) last_insert_id: u64,
    pub(super) control: Arc<Control>,
    pub(super) agreed: Capabilities,
    transaction: Option<Transaction>,
    prepared: BTreeMap<u32, Prepared>,
    last_prepared: u32,
}

struct Transaction {
    read_only: bool,
}

struct Prepared {
    sql: String,
    statement: Statement,
    types: ParamTypes,
    /// What came ahead of the execute.
    long: BTreeMap<u16, Vec<u8>>,
}

/// Where an answer is written.
pub(super) struct Answer<'a> {
    pub(super) wire: &'a mut Vec<u8>,
    /// Takes what has gathered of a long answer; none where the answer is wanted whole.
    pub(super) channel: Option<&'a mut Channel>,
    /// The number of the next packet.
    pub(super) sequence: u8,
}

/// In which form a result is wanted.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Binary,
}

impl Session {
    pub(super) fn new(
        id: u32,
        version: &'static str,
        control: Arc<Control>,
        accepted: &Accepted,
    ) -> Self {
        let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
        Self {
            id,
            user: text(&accepted.user),
            schema: accepted.database.as_ref().map(text),
            version,
            variables: BTreeMap::new(),
            autocommit: true,
            last_insert_id: 0,
            control,
            agreed: accepted.capabilities,
            transaction: None,
            prepared: BTreeMap::new(),
            last_prepared: 0,
        }
    }

    pub(super) fn allow_multi_statements(&mut self, allow: bool) {
        self.agreed = match allow {
            true => self.agreed.with(Capabilities::MULTI_STATEMENTS),
            false => self.agreed.without(Capabilities::MULTI_STATEMENTS),
        };
    }

    /// The text of a prepared statement, for rules.
    pub(super) fn text_of(&self, statement: u32) -> &str {
        self.prepared
            .get(&self.resolve(statement))
            .map_or("", |prepared| &prepared.sql)
    }

    pub(super) fn prepared_count(&self) -> usize {
        self.prepared.len()
    }

    pub(super) fn ok(&self, answer: &mut Answer<'_>) {
        self.respond(answer, |responder| responder.ok(0, 0));
    }

    pub(super) fn fail(&self, answer: &mut Answer<'_>, error: &ServerError) {
        self.respond(answer, |responder| responder.error(error));
    }

    pub(super) fn query(
        &mut self,
        hub: &Hub,
        sql: &str,
        answer: &mut Answer<'_>,
    ) -> io::Result<()> {
        let statements = match parse(sql) {
            Ok(statements) => statements,
            Err(near) => {
                self.fail(answer, &syntax(&near));
                return Ok(());
            }
        };
        if statements.len() > 1 && !self.agreed.contains(Capabilities::MULTI_STATEMENTS) {
            self.fail(answer, &syntax(&Near("; and more".to_owned())));
            return Ok(());
        }
        let last = statements.len() - 1;
        for (at, statement) in statements.iter().enumerate() {
            let done = match statement.params {
                0 => self.run(hub, &statement.action, &[], Form::Text, at < last, answer)?,
                _ => Err(syntax(&Near("?".to_owned()))),
            };
            if let Err(error) = done {
                self.fail(answer, &error);
                break;
            }
        }
        Ok(())
    }

    pub(super) fn prepare(&mut self, sql: &str, answer: &mut Answer<'_>) {
        let error = match parse(sql) {
            Ok(mut statements) if statements.len() == 1 => {
                if self.prepared.len() < MAX_STATEMENTS {
                    return self.keep(sql, statements.remove(0), answer);
                }
                let message = "Can't create more than max_prepared_stmt_count statements";
                ServerError::new(1461, *b"42000", message)
            }
            Ok(_) => syntax(&Near(";".to_owned())),
            Err(near) => syntax(&near),
        };
        // What follows in the same flight must not run another.
        self.last_prepared = 0;
        self.fail(answer, &error);
    }

    fn keep(&mut self, sql: &str, statement: Statement, answer: &mut Answer<'_>) {
        let id = self.prepared.keys().next_back().map_or(1, |last| last + 1);
        let params = vec![ColumnSpec::new("?", ColumnType::VarString); statement.params];
        let columns: Vec<_> = match &statement.action {
            Action::Select { items, .. } => items.iter().map(described).collect(),
            _ => Vec::new(),
        };
        self.respond(answer, |responder| {
            responder.prepared(id, &params, &columns);
        });
        drop(columns);
        let kept = Prepared {
            sql: sql.to_owned(),
            statement,
            types: ParamTypes::new(),
            long: BTreeMap::new(),
        };
        self.prepared.insert(id, kept);
        self.last_prepared = id;
    }

    pub(super) fn execute(
        &mut self,
        hub: &Hub,
        statement: u32,
        params: &[u8],
        answer: &mut Answer<'_>,
    ) -> io::Result<()> {
        let Some(prepared) = self.prepared.get_mut(&self.resolve(statement)) else {
            let message =
                format!("Unknown prepared statement handler ({statement}) given to execute");
            self.fail(answer, &ServerError::new(1243, *b"HY000", message));
            return Ok(());
        };
        let count = prepared.statement.params;
        let mut long = std::mem::take(&mut prepared.long);
        let is_long = |at: usize| u16::try_from(at).is_ok_and(|at| long.contains_key(&at));
        let read = prepared.types.read(params, count, is_long);
        let values = read.map(|values| values.iter().map(|value| value.to_value()).collect());
        let action = prepared.statement.action.clone();
        let Ok(mut values): Result<Vec<Value>, _> = values else {
            let error = ServerError::new(1210, *b"HY000", "Incorrect arguments to execute");
            self.fail(answer, &error);
            return Ok(());
        };
        for (at, value) in values.iter_mut().enumerate() {
            if let Some(bytes) = u16::try_from(at).ok().and_then(|at| long.remove(&at)) {
                *value = match String::from_utf8(bytes) {
                    Ok(text) => Value::Text(text),
                    Err(error) => Value::Bytes(error.into_bytes()),
                };
            }
        }
        if let Err(error) = self.run(hub, &action, &values, Form::Binary, false, answer)? {
            self.fail(answer, &error);
        }
        Ok(())
    }

    /// A piece beyond the bound is lost, as nothing can be answered here.
    pub(super) fn long_data(&mut self, statement: u32, parameter: u16, piece: &[u8]) {
        let id = self.resolve(statement);
        if let Some(prepared) = self.prepared.get_mut(&id)
            && usize::from(parameter) < prepared.statement.params
        {
            let long = prepared.long.entry(parameter).or_default();
            if long.len() + piece.len() <= MAX_PACKET {
                long.extend_from_slice(piece);
            }
        }
    }

    pub(super) fn close_statement(&mut self, statement: u32) {
        self.prepared.remove(&statement);
    }

    pub(super) fn reset_statement(&mut self, statement: u32, answer: &mut Answer<'_>) {
        if let Some(prepared) = self.prepared.get_mut(&statement) {
            prepared.long.clear();
        }
        self.ok(answer);
    }

    /// As if it had just logged in.
    pub(super) fn reset(&mut self) {
        self.variables.clear();
        self.prepared.clear();
        self.last_prepared = 0;
        self.transaction = None;
        self.autocommit = true;
        self.last_insert_id = 0;
    }

    pub(super) fn use_schema(&mut self, name: &str, more: bool, answer: &mut Answer<'_>) {
        self.schema = Some(name.to_owned());
        let mut status = self.status(more);
        let mut changes = Vec::new();
        if self.agreed.contains(Capabilities::SESSION_TRACK) {
            Change::Schema(name.as_bytes()).encode(&mut changes);
            status |= Status::SESSION_STATE_CHANGED;
        }
        let ok = OkPacket::with_status(status);
        self.respond(answer, |responder| responder.ok_packet(&ok, &changes));
    }

    pub(super) fn kill(&self, hub: &Hub, id: u32, query: bool) -> Result<(), ServerError> {
        let Some(client) = hub.client(id) else {
            let message = format!("Unknown thread id: {id}");
            return Err(ServerError::new(1094, *b"HY000", message));
        };
        match query {
            true => client.kill_query(),
            false => client.close(),
        }
        Ok(())
    }

    /// Answers a statement; its own error is the inner result.
    fn run(
        &mut self,
        hub: &Hub,
        action: &Action,
        params: &[Value],
        form: Form,
        more: bool,
        answer: &mut Answer<'_>,
    ) -> io::Result<Result<(), ServerError>> {
        let done = match action {
            Action::Select { items, rows } => {
                return self.select(items, *rows, params, form, more, answer);
            }
            Action::Use(name) => {
                self.use_schema(name, more, answer);
                return Ok(Ok(()));
            }
            _ => self.act(hub, action, params),
        };
        Ok(done.map(|affected| {
            let status = self.status(more);
            let id = self.last_insert_id;
            self.respond(answer, |responder| {
                responder.set_status(status);
                responder.ok(affected, if affected > 0 { id } else { 0 });
            });
        }))
    }

    /// Does what a statement without rows says, and tells how many rows it changed.
    fn act(&mut self, hub: &Hub, action: &Action, params: &[Value]) -> Result<u64, ServerError> {
        match action {
            Action::Do(exprs) => {
                for expr in exprs {
                    self.scope(params).value(expr)?;
                }
            }
            Action::Set(assignments) => {
                for (name, expr) in assignments {
                    let value = self.scope(params).value(expr)?;
                    self.assign(name, value);
                }
            }
            Action::Begin { read_only } => {
                let read_only = *read_only;
                self.transaction = Some(Transaction { read_only });
            }
            Action::End => self.transaction = None,
            Action::Kill { query, id } => {
                let id = number(&self.scope(params).value(id)?);
                self.kill(hub, id as u32, *query)?;
            }
            Action::Change => {
                self.last_insert_id += 1;
                if !self.autocommit && self.transaction.is_none() {
                    self.transaction = Some(Transaction { read_only: false });
                }
                return Ok(1);
            }
            Action::Accept | Action::Select { .. } | Action::Use(_) => {}
        }
        Ok(0)
    }

    fn select(
        &self,
        items: &[Item],
        rows: u64,
        params: &[Value],
        form: Form,
        more: bool,
        answer: &mut Answer<'_>,
    ) -> io::Result<Result<(), ServerError>> {
        let row = |sequence| {
            let mut scope = self.scope(params);
            scope.sequence = sequence;
            let values = items.iter().map(|item| scope.value(&item.value));
            values.collect::<Result<Vec<_>, _>>()
        };
        // The types of a result are those of its first row.
        let first = match row(1) {
            Ok(first) => first,
            Err(error) => return Ok(Err(error)),
        };
        let columns: Vec<_> = items.iter().zip(&first).map(typed).collect();
        self.respond(answer, |responder| responder.columns(&columns));
        let mut next = Some(first);
        for sequence in 1..=rows {
            let values = match next.take().map_or_else(|| row(sequence), Ok) {
                Ok(values) => values,
                Err(error) => return Ok(Err(error)),
            };
            let values: Vec<ValueRef<'_>> = values.iter().map(Value::as_ref).collect();
            self.respond(answer, |responder| match form {
                Form::Text => responder.text_row(&values),
                Form::Binary => responder.binary_row(&columns, &values),
            });
            answer.flush()?;
        }
        let status = self.status(more);
        self.respond(answer, |responder| {
            responder.end_with(&OkPacket::with_status(status));
        });
        Ok(Ok(()))
    }

    fn scope<'a>(&'a self, params: &'a [Value]) -> Scope<'a> {
        Scope {
            session: self,
            params,
            sequence: 1,
        }
    }

    fn assign(&mut self, name: &str, value: Value) {
        if name.trim_start_matches("@@session.") == "autocommit" || name == "@@autocommit" {
            self.autocommit = number(&value) != 0.0 || value == Value::Text("ON".to_owned());
            return;
        }
        if self.variables.len() < MAX_VARIABLES || self.variables.contains_key(name) {
            self.variables.insert(name.to_owned(), value);
        }
    }

    fn resolve(&self, statement: u32) -> u32 {
        match statement {
            LAST_STATEMENT => self.last_prepared,
            id => id,
        }
    }

    fn status(&self, more: bool) -> Status {
        let mut status = Status::default();
        if self.autocommit {
            status |= Status::AUTOCOMMIT;
        }
        if let Some(transaction) = &self.transaction {
            status |= Status::IN_TRANSACTION;
            if transaction.read_only {
                status |= Status::READ_ONLY_TRANSACTION;
            }
        }
        if more {
            status |= Status::MORE_RESULTS;
        }
        status
    }

    fn respond(&self, answer: &mut Answer<'_>, write: impl FnOnce(&mut Responder<'_>)) {
        let mut responder = Responder::new(answer.wire, self.agreed, answer.sequence);
        responder.set_status(self.status(false));
        write(&mut responder);
        answer.sequence = responder.sequence();
    }
}

impl Answer<'_> {
    /// Lets a long answer go while it is being made.
    fn flush(&mut self) -> io::Result<()> {
        if self.wire.len() < FLUSH_AT {
            return Ok(());
        }
        if let Some(channel) = &mut self.channel {
            channel.send(self.wire)?;
            self.wire.clear();
        }
        Ok(())
    }
}

/// A column before anything has been computed.
fn described(item: &Item) -> ColumnSpec<'_> {
    let column_type = match item.value {
        Expr::Int(_) | Expr::Uint(_) | Expr::Sequence => ColumnType::LongLong,
        Expr::Decimal(_) => ColumnType::NewDecimal,
        Expr::Double(_) => ColumnType::Double,
        _ => ColumnType::VarString,
    };
    ColumnSpec::new(&item.name, column_type)
}

fn typed<'a>((item, value): (&'a Item, &Value)) -> ColumnSpec<'a> {
    let column = |column_type| ColumnSpec::new(&item.name, column_type);
    match value {
        Value::Null => column(ColumnType::Null),
        Value::Int(_) => column(ColumnType::LongLong),
        Value::Uint(_) => column(ColumnType::LongLong).with_flags(ColumnFlags::UNSIGNED),
        Value::Float(_) => column(ColumnType::Float),
        Value::Double(_) => column(ColumnType::Double),
        Value::Decimal(_) => column(ColumnType::NewDecimal),
        Value::Bytes(_) => column(ColumnType::Blob),
        Value::Date(_) => column(ColumnType::Date),
        Value::DateTime(_) => column(ColumnType::DateTime),
        Value::Time(_) => column(ColumnType::Time),
        _ => column(ColumnType::VarString),
    }
}

fn syntax(near: &Near) -> ServerError {
    let message = format!("You have an error in your SQL syntax near '{}'", near.0);
    ServerError::new(1064, *b"42000", message)
}
