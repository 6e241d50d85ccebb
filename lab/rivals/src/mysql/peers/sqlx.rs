//! `sqlx`: its connection and its pool.

use std::pin::pin;

use futures_util::TryStreamExt as _;
use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions, MySqlRow, MySqlSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions as _, FromRow as _, MySqlConnection, Row as _};

use super::super::drive::{self, Connected, Pooled, Rows};
use super::super::load::Load;
use super::super::seed;
use super::super::work::{Form, Reading};
use super::{asking, connecting, leasing};
use crate::failure::Failure;
use crate::place::Place;
use crate::sample::Sample;

/// Runs the load on a connection.
pub(crate) fn conn(load: &Load) -> Result<Sample, Failure> {
    let place = Place::tokio(1)?;
    let options = options(load)?.ssl_mode(MySqlSslMode::Disabled);
    let mut conn = place.block_on(async { options.connect().await.map_err(connecting) })?;
    drive::connected(load, &place, &mut conn)
}

/// Runs the load on a pool, which asks at each lease whether the server is there.
pub(crate) fn pooled(load: &Load) -> Result<Sample, Failure> {
    pooled_with(load, true)
}

/// The same without asking.
pub(crate) fn pooled_unchecked(load: &Load) -> Result<Sample, Failure> {
    pooled_with(load, false)
}

fn pooled_with(load: &Load, ask: bool) -> Result<Sample, Failure> {
    let (place, connections) = (Place::tokio(1)?, drive::connections(load)?);
    let options = options(load)?
        .ssl_mode(MySqlSslMode::VerifyIdentity)
        .ssl_ca(load.place()?.authority);
    let sizes = MySqlPoolOptions::new()
        .max_connections(u32::try_from(connections).unwrap_or(u32::MAX))
        .test_before_acquire(ask);
    let pool = place.block_on(async { Ok(sizes.connect_lazy_with(options)) })?;
    drive::pooled(load, &place, &pool)
}

fn options(load: &Load) -> Result<MySqlConnectOptions, Failure> {
    let place = load.place()?;
    let account = place.account();
    Ok(MySqlConnectOptions::new()
        .host(&place.address.ip().to_string())
        .port(place.address.port())
        .username(account.user)
        .password(account.password)
        .database("test"))
}

impl Connected for MySqlConnection {
    async fn one(&mut self, form: Form) -> Result<u64, Failure> {
        let row = match form {
            Form::Text => sqlx::raw_sql("SELECT 1").fetch_one(&mut *self).await,
            Form::Binary => sqlx::query("SELECT 1").fetch_one(&mut *self).await,
        };
        first(&row.map_err(asking)?)
    }

    async fn scan(
        &mut self,
        form: Form,
        reading: Reading,
        rows: &mut Rows<'_>,
    ) -> Result<(), Failure> {
        let stream = match form {
            Form::Text => sqlx::raw_sql(seed::SCAN).fetch(&mut *self),
            Form::Binary => sqlx::query(seed::SCAN).fetch(&mut *self),
        };
        let mut stream = pin!(stream);
        while let Some(row) = stream.try_next().await.map_err(asking)? {
            if !take(&row, reading, rows)? {
                break;
            }
        }
        Ok(())
    }

    /// It has no pipelining.
    async fn pipeline(&mut self, statements: &[String]) -> Result<Vec<u64>, Failure> {
        let mut numbers = Vec::with_capacity(statements.len());
        for statement in statements {
            let sql = AssertSqlSafe(statement.as_str());
            let row = sqlx::raw_sql(sql).fetch_one(&mut *self).await;
            numbers.push(first(&row.map_err(asking)?)?);
        }
        Ok(numbers)
    }
}

/// A literal is signed to it.
fn first(row: &MySqlRow) -> Result<u64, Failure> {
    let number: i64 = row.try_get(0).map_err(asking)?;
    u64::try_from(number).map_err(asking)
}

fn take(row: &MySqlRow, reading: Reading, rows: &mut Rows<'_>) -> Result<bool, Failure> {
    if reading == Reading::Owned {
        let (id, delta, name, ratio): (u64, i64, String, f64) =
            <_>::from_row(row).map_err(asking)?;
        return Ok(rows.take(id, delta, &name, ratio));
    }
    let id = row.try_get(0).map_err(asking)?;
    let delta = row.try_get(1).map_err(asking)?;
    let name: &str = row.try_get(2).map_err(asking)?;
    let ratio = row.try_get(3).map_err(asking)?;
    Ok(rows.take(id, delta, name, ratio))
}

impl Pooled for MySqlPool {
    async fn select(&self, statement: String) -> Result<String, Failure> {
        let mut conn = self.acquire().await.map_err(leasing)?;
        let row = sqlx::raw_sql(AssertSqlSafe(statement))
            .fetch_one(&mut *conn)
            .await;
        row.map_err(asking)?.try_get(0).map_err(asking)
    }
}
