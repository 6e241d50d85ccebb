//! `mysql_async`: its connection and its pool.

use mysql_async::prelude::Queryable;
use mysql_async::{
    BinaryProtocol, Conn, Opts, OptsBuilder, Pool, PoolConstraints, PoolOpts, QueryResult, Row,
    SslOpts, TextProtocol, Value, from_row_opt,
};

use super::super::drive::{self, Connected, Pooled, Rows};
use super::super::load::Load;
use super::super::seed;
use super::super::work::{Form, Reading};
use super::{asking, connecting, leasing, without_rows};
use crate::failure::Failure;
use crate::place::Place;
use crate::sample::Sample;

/// Runs the load on a connection.
pub(crate) fn conn(load: &Load) -> Result<Sample, Failure> {
    let (place, options) = (Place::tokio(1)?, options(load)?);
    let mut conn = place.block_on(async { Conn::new(options).await.map_err(connecting) })?;
    drive::connected(load, &place, &mut conn)
}

/// Runs the load on a pool, which resets a session when its lease is returned.
pub(crate) fn pooled(load: &Load) -> Result<Sample, Failure> {
    pooled_with(load, true)
}

/// The same without the reset.
pub(crate) fn pooled_unreset(load: &Load) -> Result<Sample, Failure> {
    pooled_with(load, false)
}

fn pooled_with(load: &Load, reset: bool) -> Result<Sample, Failure> {
    let (place, connections) = (Place::tokio(1)?, drive::connections(load)?);
    let sizes = PoolConstraints::new(connections, connections)
        .ok_or_else(|| Failure::Usage("a pool without connections".to_owned()))?;
    let sizes = PoolOpts::default()
        .with_constraints(sizes)
        .with_reset_connection(reset);
    let trust = SslOpts::default()
        .with_root_certs(vec![load.place()?.authority.into()])
        .with_disable_built_in_roots(true);
    let options = OptsBuilder::from_opts(options(load)?)
        .ssl_opts(trust)
        .pool_opts(sizes);
    let pool = place.block_on(async { Ok(Pool::new(options)) })?;
    drive::pooled(load, &place, &pool)
}

fn options(load: &Load) -> Result<Opts, Failure> {
    let place = load.place()?;
    let account = place.account();
    let options = OptsBuilder::default()
        .ip_or_hostname(place.address.ip().to_string())
        .tcp_port(place.address.port())
        // It would go on by the Unix socket.
        .prefer_socket(false)
        .user(Some(account.user))
        .pass(Some(account.password))
        .db_name(Some("test"));
    Ok(options.into())
}

impl Connected for Conn {
    async fn one(&mut self, form: Form) -> Result<u64, Failure> {
        let answer = match form {
            Form::Text => self.query_first("SELECT 1").await,
            Form::Binary => self.exec_first("SELECT 1", ()).await,
        };
        answer.map_err(asking)?.ok_or_else(without_rows)
    }

    async fn scan(
        &mut self,
        form: Form,
        reading: Reading,
        rows: &mut Rows<'_>,
    ) -> Result<(), Failure> {
        match form {
            Form::Text => {
                let result = self.query_iter(seed::SCAN).await.map_err(asking)?;
                text(result, reading, rows).await
            }
            Form::Binary => {
                let result = self.exec_iter(seed::SCAN, ()).await.map_err(asking)?;
                binary(result, reading, rows).await
            }
        }
    }

    /// It has no pipelining.
    async fn pipeline(&mut self, statements: &[String]) -> Result<Vec<u64>, Failure> {
        let mut numbers = Vec::with_capacity(statements.len());
        for statement in statements {
            let number = self.query_first(statement).await.map_err(asking)?;
            numbers.push(number.ok_or_else(without_rows)?);
        }
        Ok(numbers)
    }
}

async fn text(
    mut result: QueryResult<'_, '_, TextProtocol>,
    reading: Reading,
    rows: &mut Rows<'_>,
) -> Result<(), Failure> {
    while let Some(row) = result.next().await.map_err(asking)? {
        if !take(row, reading, rows)? {
            break;
        }
    }
    Ok(())
}

async fn binary(
    mut result: QueryResult<'_, '_, BinaryProtocol>,
    reading: Reading,
    rows: &mut Rows<'_>,
) -> Result<(), Failure> {
    while let Some(row) = result.next().await.map_err(asking)? {
        if !take(row, reading, rows)? {
            break;
        }
    }
    Ok(())
}

fn take(mut row: Row, reading: Reading, rows: &mut Rows<'_>) -> Result<bool, Failure> {
    if reading == Reading::Owned {
        let (id, delta, name, ratio): (u64, i64, String, f64) =
            from_row_opt(row).map_err(asking)?;
        return Ok(rows.take(id, delta, &name, ratio));
    }
    let id = row.take(0).ok_or_else(without_rows)?;
    let delta = row.take(1).ok_or_else(without_rows)?;
    let ratio = row.take(3).ok_or_else(without_rows)?;
    // It has no borrowed text, but the bytes of one.
    let Some(Value::Bytes(name)) = row.as_ref(2) else {
        return Err(without_rows());
    };
    let name = std::str::from_utf8(name).map_err(asking)?;
    Ok(rows.take(id, delta, name, ratio))
}

impl Pooled for Pool {
    async fn select(&self, statement: String) -> Result<String, Failure> {
        let mut conn = self.get_conn().await.map_err(leasing)?;
        let text = conn.query_first(statement).await.map_err(asking)?;
        text.ok_or_else(without_rows)
    }
}
