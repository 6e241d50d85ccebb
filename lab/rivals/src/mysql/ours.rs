//! Ours, with its defaults: a connection, and the pool's leases, which reset what a lease leaves
//! behind.

use arknet::Lanes;
use arknet::mysql::{Config, Conn, Error, Pool, Row, Streamable, TlsMode, exec, query};
use arknet::pool::PoolConfig;
use arknet::tls::Authorities;

use super::drive::{self, Connected, Pooled, Rows};
use super::load::Load;
use super::seed;
use super::work::{Form, Reading};
use crate::failure::Failure;
use crate::place::Place;
use crate::sample::Sample;

/// A connection in a tokio runtime, as the peers.
pub(crate) fn conn(load: &Load) -> Result<Sample, Failure> {
    let (place, config) = (Place::tokio(1)?, config(load)?);
    let mut conn = place.block_on(async {
        let conn = Conn::connect(config, &lanes()?).await;
        conn.map_err(Failure::library("connecting"))
    })?;
    drive::connected(load, &place, &mut conn)
}

/// The pool in a tokio runtime, as the peers.
pub(crate) fn lease(load: &Load) -> Result<Sample, Failure> {
    pooled(load, Leases::resetting)
}

/// The same with statements that are said to leave nothing behind.
pub(crate) fn lease_stateless(load: &Load) -> Result<Sample, Failure> {
    pooled(load, Leases::stateless)
}

fn pooled(load: &Load, of: fn(Pool) -> Leases) -> Result<Sample, Failure> {
    let place = Place::tokio(1)?;
    let sizes = PoolConfig::new().max_connections(drive::connections(load)?);
    let authority = Authorities::from_pem_file(load.place()?.authority)
        .map_err(Failure::library("reading the authority"))?;
    let config = config(load)?.tls(TlsMode::VerifyFull).tls_roots(authority);
    let pool = place.block_on(async {
        let pool = Pool::new(config, sizes, &lanes()?);
        pool.map_err(Failure::library("making a pool"))
    })?;
    drive::pooled(load, &place, &of(pool))
}

fn config(load: &Load) -> Result<Config, Failure> {
    let place = load.place()?;
    let account = place.account();
    let config = Config::new(place.address).map_err(Failure::library("naming the server"))?;
    Ok(config
        .user(account.user)
        .password(account.password)
        .database("test")
        .fetch_server_key(true))
}

/// The lanes of the runtime, from inside of it.
fn lanes() -> Result<Lanes, Failure> {
    Lanes::current().map_err(Failure::library("finding the runtime"))
}

fn asking(error: Error) -> Failure {
    Failure::library("a statement")(error)
}

fn number(found: Option<u64>) -> Result<u64, Failure> {
    found.ok_or_else(|| Failure::Invalid("an answer without rows".to_owned()))
}

impl Connected for Conn {
    async fn one(&mut self, form: Form) -> Result<u64, Failure> {
        let answer = match form {
            Form::Text => self.run(query::<Option<u64>>("SELECT 1")).await,
            Form::Binary => self.run(exec::<Option<u64>>("SELECT 1", ())).await,
        };
        number(answer.map_err(asking)?)
    }

    async fn scan(
        &mut self,
        form: Form,
        reading: Reading,
        rows: &mut Rows<'_>,
    ) -> Result<(), Failure> {
        match form {
            Form::Text => read(self, query::<()>(seed::SCAN), reading, rows).await,
            Form::Binary => read(self, exec::<()>(seed::SCAN, ()), reading, rows).await,
        }
    }

    async fn pipeline(&mut self, statements: &[String]) -> Result<Vec<u64>, Failure> {
        let requests = statements.iter().map(query::<Option<u64>>);
        let answers = self.run(requests.collect::<Vec<_>>()).await;
        let answers = answers.into_iter();
        answers
            .map(|answer| number(answer.map_err(asking)?))
            .collect()
    }
}

async fn read(
    conn: &mut Conn,
    request: impl Streamable,
    reading: Reading,
    rows: &mut Rows<'_>,
) -> Result<(), Failure> {
    use arknet::mysql::FromRow;
    let mut stream = conn.stream(request);
    let columns = stream.columns().await.map_err(asking)?;
    let owned = <(u64, i64, String, f64)>::plan(columns);
    let borrowed = <(u64, i64, &str, f64)>::plan(columns);
    let plans = owned.and_then(|owned| Ok((owned, borrowed?)));
    let (owned, borrowed) = plans.map_err(Failure::library("planning"))?;
    let each = |row: Row<'_>| {
        let goes_on = match reading {
            Reading::Owned => {
                let (id, delta, name, ratio): (_, _, String, _) =
                    row.decode(&owned).map_err(Error::Decode)?;
                rows.take(id, delta, &name, ratio)
            }
            Reading::Borrowed => {
                let (id, delta, name, ratio) = row.decode(&borrowed).map_err(Error::Decode)?;
                rows.take(id, delta, name, ratio)
            }
        };
        // Stopped: nobody wants the rest.
        if goes_on { Ok(()) } else { Err(Error::Closed) }
    };
    match stream.for_each(each).await {
        Ok(()) | Err(Error::Closed) => Ok(()),
        Err(error) => Err(asking(error)),
    }
}

/// A pool whose leases select.
#[derive(Clone)]
struct Leases {
    pool: Pool,
    stateless: bool,
}

impl Leases {
    fn resetting(pool: Pool) -> Self {
        Self {
            pool,
            stateless: false,
        }
    }

    fn stateless(pool: Pool) -> Self {
        Self {
            pool,
            stateless: true,
        }
    }
}

impl Pooled for Leases {
    async fn select(&self, statement: String) -> Result<String, Failure> {
        let mut lease = self.pool.acquire().await.map_err(asking)?;
        let mut request = query::<Option<String>>(statement);
        if self.stateless {
            request = request.stateless();
        }
        let text = lease.run(request).await.map_err(asking)?;
        text.ok_or_else(|| Failure::Invalid("an answer without rows".to_owned()))
    }
}
