//! The work itself, the same for every library.
//!
//! A library implements [`Connected`] or [`Pooled`] in its own best way; what is asked, how often, and
//! how it is checked is written here once. Every answer is compared with what it must be.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::load::Load;
use super::seed;
use super::work::{Form, Kind, Reading};
use crate::failure::Failure;
use crate::meter::Meter;
use crate::place::Place;
use crate::sample::Sample;

/// Rows between two looks at the meter.
const ROWS_AT_ONCE: u64 = 1_000;

/// A connection of one user.
pub(crate) trait Connected {
    /// `SELECT 1`, as one number.
    fn one(&mut self, form: Form) -> impl Future<Output = Result<u64, Failure>>;

    /// All rows of [`seed::SCAN`], each given to `rows`, until that wants no more.
    fn scan(
        &mut self,
        form: Form,
        reading: Reading,
        rows: &mut Rows<'_>,
    ) -> impl Future<Output = Result<(), Failure>>;

    /// These statements, each with one number, together where the library can.
    fn pipeline(
        &mut self,
        statements: &[String],
    ) -> impl Future<Output = Result<Vec<u64>, Failure>>;
}

/// A pool of connections.
pub(crate) trait Pooled: Clone + Send + Sync + 'static {
    /// Leases a connection, asks it for the text that this statement selects, and returns it.
    fn select(&self, statement: String) -> impl Future<Output = Result<String, Failure>> + Send;
}

/// Takes rows, and counts them.
pub(crate) struct Rows<'m> {
    meter: &'m Meter,
    rows: u64,
    sum: u64,
}

impl Rows<'_> {
    /// Takes a row that was read, and says whether there is use for another.
    #[inline]
    pub(crate) fn take(&mut self, id: u64, delta: i64, name: &str, ratio: f64) -> bool {
        std::hint::black_box((delta, name, ratio));
        self.sum = self.sum.wrapping_add(id);
        self.rows += 1;
        if !self.rows.is_multiple_of(ROWS_AT_ONCE) {
            return true;
        }
        self.meter.count(0, ROWS_AT_ONCE);
        !self.meter.is_stopped()
    }
}

/// Runs `load` on a connection.
///
/// # Errors
///
/// With the first failed statement or wrong answer.
pub(crate) fn connected<C: Connected>(
    load: &Load,
    place: &Place,
    client: &mut C,
) -> Result<Sample, Failure> {
    let meter = Meter::new(1);
    let watch = meter.watch(load.phases())?;
    let worked = place.block_on(async {
        while !meter.is_stopped() {
            match load.work.kind {
                Kind::Select(form) => {
                    check(client.one(form).await? == 1)?;
                    meter.count(0, 1);
                }
                Kind::Scan(form, reading) => scan(client, form, reading, &meter).await?,
                Kind::Pipeline { length } => pipeline(client, length, &meter).await?,
                Kind::Lease { .. } => return Err(not_for(load, "a connection")),
            }
        }
        Ok(())
    });
    // A failure is told now, not when the phases are over.
    worked?;
    watch.sample()
}

async fn scan(
    client: &mut impl Connected,
    form: Form,
    reading: Reading,
    meter: &Meter,
) -> Result<(), Failure> {
    let mut rows = Rows {
        meter,
        rows: 0,
        sum: 0,
    };
    client.scan(form, reading, &mut rows).await?;
    let is_whole = (rows.rows, rows.sum) == (seed::ROWS, seed::SUM);
    check(is_whole || meter.is_stopped())
}

async fn pipeline(
    client: &mut impl Connected,
    length: usize,
    meter: &Meter,
) -> Result<(), Failure> {
    let statements = (0..length).map(|n| format!("SELECT {n}"));
    let statements = statements.collect::<Vec<_>>();
    let expected = (0..length as u64).collect::<Vec<_>>();
    while !meter.is_stopped() {
        check(client.pipeline(&statements).await? == expected)?;
        meter.count(0, length as u64);
    }
    Ok(())
}

/// Runs the tasks of `load` on a pool.
///
/// # Errors
///
/// With the first failed statement or wrong answer of any task.
pub(crate) fn pooled<P: Pooled>(load: &Load, place: &Place, pool: &P) -> Result<Sample, Failure> {
    let Kind::Lease {
        outstanding,
        payload,
        ..
    } = load.work.kind
    else {
        return Err(not_for(load, "a pool"));
    };
    let meter = Meter::new(outstanding);
    let (sender, mut results) = mpsc::channel(outstanding);
    let watch = meter.watch(load.phases())?;
    for n in 0..outstanding {
        let (work, sender) = (
            lease(pool.clone(), n, payload, meter.clone()),
            sender.clone(),
        );
        place.spawn(async move {
            // The receiver is gone only when another task has failed already.
            let _ = sender.send(work.await).await;
        });
    }
    drop(sender);
    place.block_on(async {
        for _ in 0..outstanding {
            let result = results.recv().await;
            result.ok_or_else(|| Failure::Invalid("a task was lost".to_owned()))??;
        }
        Ok(())
    })?;
    watch.sample()
}

async fn lease(
    pool: impl Pooled,
    task: usize,
    payload: usize,
    meter: Arc<Meter>,
) -> Result<(), Failure> {
    let mut sequence = task as u64;
    while !meter.is_stopped() {
        // Each statement differs from those before it, so that an answer to another one is seen.
        sequence = sequence.wrapping_add(1 << 16);
        let expected = format!("{sequence:0payload$}");
        let text = pool.select(format!("SELECT '{expected}'")).await?;
        check(text == expected)?;
        meter.count(task, 1);
    }
    Ok(())
}

/// The connections of the pool that `load` wants.
///
/// # Errors
///
/// When it wants none.
pub(crate) fn connections(load: &Load) -> Result<usize, Failure> {
    match load.work.kind {
        Kind::Lease { connections, .. } => Ok(connections),
        _ => Err(not_for(load, "a pool")),
    }
}

fn not_for(load: &Load, what: &str) -> Failure {
    Failure::Usage(format!("{} is no work for {what}", load.work.name))
}

fn check(is_right: bool) -> Result<(), Failure> {
    match is_right {
        true => Ok(()),
        false => Err(Failure::Invalid("a wrong answer".to_owned())),
    }
}
