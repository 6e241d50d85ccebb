//! The work itself, the same for every library.
//!
//! A library implements [`Shared`] or [`Pooled`] in its own best way; what is asked, how often, and
//! how it is checked is written here once. Every reply is compared with what the server was given.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::mpsc;

use super::load::Load;
use super::seed;
use super::work::{Kind, Value};
use crate::failure::Failure;
use crate::meter::Meter;
use crate::place::Place;
use crate::sample::Sample;

/// A client that all tasks share.
pub(crate) trait Shared: Clone + Send + Sync + 'static {
    /// The library's own way to hold bytes.
    type Bytes: AsRef<[u8]> + Send;

    /// GET of a small value, as text.
    fn get(&self, key: &str) -> impl Future<Output = Result<String, Failure>> + Send;

    /// GET of a large value, as bytes.
    fn get_bytes(&self, key: &str) -> impl Future<Output = Result<Self::Bytes, Failure>> + Send;

    /// GETs that leave together.
    fn pipeline(
        &self,
        keys: &[String],
    ) -> impl Future<Output = Result<Vec<String>, Failure>> + Send;
}

/// A pool of connections.
pub(crate) trait Pooled: Clone + Send + Sync + 'static {
    /// The library's own way to hold bytes.
    type Bytes: AsRef<[u8]> + Send;

    /// Leases a connection, asks for an ECHO, reads its reply and returns the connection.
    fn echo(&self, payload: &[u8]) -> impl Future<Output = Result<Self::Bytes, Failure>> + Send;
}

/// Runs the tasks of `load` on a client that is shared.
///
/// # Errors
///
/// With the first failed request or wrong reply of any task.
pub(crate) fn shared<C: Shared>(load: &Load, place: &Place, client: &C) -> Result<Sample, Failure> {
    match load.work.kind {
        Kind::Get {
            tasks,
            value: Value::Small,
        } => run(load, place, tasks, |n, meter| {
            small(client.clone(), n, meter)
        }),
        Kind::Get {
            tasks,
            value: Value::Large,
        } => run(load, place, tasks, |n, meter| {
            large(client.clone(), n, meter)
        }),
        Kind::Pipeline { length } => run(load, place, 1, |_, meter| {
            pipeline(client.clone(), length, meter)
        }),
        Kind::Lease { .. } | Kind::Decode(_) => Err(not_for(load, "a shared client")),
    }
}

/// Runs the tasks of `load` on a pool.
///
/// # Errors
///
/// With the first failed request or wrong reply of any task.
pub(crate) fn pooled<P: Pooled>(load: &Load, place: &Place, pool: &P) -> Result<Sample, Failure> {
    match load.work.kind {
        Kind::Lease { outstanding, .. } => run(load, place, outstanding, |n, meter| {
            lease(pool.clone(), n, meter)
        }),
        _ => Err(not_for(load, "a pool")),
    }
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

/// Starts the tasks, measures, and waits until all of them have ended.
fn run<F: Future<Output = Result<(), Failure>> + Send + 'static>(
    load: &Load,
    place: &Place,
    tasks: usize,
    task: impl Fn(usize, Arc<Meter>) -> F,
) -> Result<Sample, Failure> {
    let meter = Meter::new(tasks);
    let (sender, mut results) = mpsc::channel(tasks);
    let watch = meter.watch(load.phases())?;
    for n in 0..tasks {
        let (work, sender) = (task(n, meter.clone()), sender.clone());
        place.spawn(async move {
            // The receiver is gone only when another task has failed already.
            let _ = sender.send(work.await).await;
        });
    }
    drop(sender);
    place.block_on(async {
        for _ in 0..tasks {
            let result = results.recv().await;
            result.ok_or_else(|| Failure::Invalid("a task was lost".to_owned()))??;
        }
        Ok(())
    })?;
    watch.sample()
}

async fn small(client: impl Shared, task: usize, meter: Arc<Meter>) -> Result<(), Failure> {
    let all = (0..seed::KEYS).map(|n| (seed::key(n), seed::small(n)));
    let all = all.collect::<Vec<_>>();
    // Tasks begin at different keys.
    for (key, expected) in all.iter().cycle().skip(task % seed::KEYS) {
        if meter.is_stopped() {
            break;
        }
        let value = client.get(key).await?;
        check(value.as_bytes(), expected.as_bytes())?;
        meter.count(task, 1);
    }
    Ok(())
}

async fn large(client: impl Shared, task: usize, meter: Arc<Meter>) -> Result<(), Failure> {
    let (key, expected) = (seed::LARGE_KEY, seed::large());
    while !meter.is_stopped() {
        let value = client.get_bytes(key).await?;
        check(value.as_ref(), &expected)?;
        meter.count(task, 1);
    }
    Ok(())
}

async fn pipeline(client: impl Shared, length: usize, meter: Arc<Meter>) -> Result<(), Failure> {
    let numbers = (0..length).map(|n| n % seed::KEYS);
    let keys = numbers.clone().map(seed::key).collect::<Vec<_>>();
    let expected = numbers.map(seed::small).collect::<Vec<_>>();
    while !meter.is_stopped() {
        let values = client.pipeline(&keys).await?;
        if values != expected {
            return Err(Failure::Invalid(
                "a pipeline's replies are wrong".to_owned(),
            ));
        }
        meter.count(0, length as u64);
    }
    Ok(())
}

async fn lease(pool: impl Pooled, task: usize, meter: Arc<Meter>) -> Result<(), Failure> {
    let mut payload = seed::payload();
    let mut sequence = task as u64;
    while !meter.is_stopped() {
        // Each request differs from those before it, so that a reply to another one is seen.
        sequence = sequence.wrapping_add(1 << 16);
        payload[..8].copy_from_slice(&sequence.to_le_bytes());
        let echoed = pool.echo(&payload).await?;
        check(echoed.as_ref(), &payload)?;
        meter.count(task, 1);
    }
    Ok(())
}

fn check(value: &[u8], expected: &[u8]) -> Result<(), Failure> {
    if value == expected {
        return Ok(());
    }
    let length = value.len();
    Err(Failure::Invalid(format!("a wrong reply of {length} bytes")))
}
