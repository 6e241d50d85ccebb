//! An owner with a database, as a server uses it: one thread submits operations, has their results delivered, checks them
//! and submits the next.

use std::rc::Rc;
use std::time::{Duration, Instant};

use arknet::owner::{Cadence, Database, Deadline, Io, Next, Owner};
use arknet::pool::PoolConfig;
use arknet::redis::{Config, Pool};

use super::config::{self, DatabaseConfig, Update};
use super::course::{Phase, Total, Watch, Worker};
use super::echo;
use super::record::{DatabaseMeasurement, Observed};
use crate::measure::Error;
use crate::measure::config::Execution;
use crate::measure::usage::{Roles, Usage, peak_rss};

/// The name of its thread, and so the role of its processor time.
const NAME: &str = "owner";

/// The cadence of `--update 1ms`.
const TICK: Duration = Duration::from_millis(1);

/// How long connecting and the end may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A world that keeps nothing: what belongs to an operation is with its worker.
type World = ();

type Redis = Database<World, Pool>;

/// Measures on a thread of the owner's own.
pub(super) fn measure(config: &DatabaseConfig, url: &str) -> Result<DatabaseMeasurement, Error> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(NAME.to_owned());
        let running = thread
            .spawn_scoped(scope, || run(config, url))
            .map_err(Error::setup("start the owner's thread"))?;
        match running.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn run(config: &DatabaseConfig, url: &str) -> Result<DatabaseMeasurement, Error> {
    let mut bench = Bench::new(config, url)?;
    bench.connect()?;
    let warmup = bench.phase(config.warmup_operations)?;
    let (begun, before, roles) = (Instant::now(), Usage::now(), Roles::now());
    // A warm-up that failed says enough.
    let operations = if warmup.errors == 0 {
        config.operations
    } else {
        0
    };
    let measured = bench.phase(operations)?;
    let after = Usage::now();
    let observed = Observed {
        elapsed: begun.elapsed().as_secs_f64(),
        usage: after.zip(before).map(|(after, before)| after.since(before)),
        roles: Roles::now().since(&roles),
        peak_rss: peak_rss(),
    };
    bench.end()?;
    Ok(DatabaseMeasurement::new(
        config, &warmup, &measured, &observed,
    ))
}

struct Bench<'a> {
    config: &'a DatabaseConfig,
    owner: Owner<World>,
    redis: Redis,
    cadence: Cadence,
}

impl<'a> Bench<'a> {
    fn new(config: &'a DatabaseConfig, url: &str) -> Result<Self, Error> {
        let io = match config.io {
            config::Io::Threads(threads) => Io::threads(threads),
            config::Io::Inline => Io::inline(),
        };
        let cadence = match config.update {
            Some(Update::Millisecond) => Cadence::every(TICK),
            Some(Update::Parked) => Cadence::parked(),
            Some(Update::Continuous) | None => Cadence::continuous(),
        };
        let cadence = match config.spin {
            Some(spin) => cadence.spin(spin),
            None => cadence,
        };
        let owner = Owner::builder()
            .io(io)
            .build()
            .map_err(Error::setup("make the owner"))?;
        let parsed = Config::from_url(url).map_err(Error::setup("read the server's URL"))?;
        let sizes = PoolConfig::new()
            .max_connections(config.connections)
            .min_connections(config.connections);
        let redis = owner
            .redis(parsed, sizes)
            .map_err(Error::setup("make the pool"))?;
        Ok(Bench {
            config,
            owner,
            redis,
            cadence,
        })
    }

    /// Connects everything before anything is measured: as many operations at once as there are connections.
    fn connect(&mut self) -> Result<(), Error> {
        let connections = self.config.connections;
        let total = self.run_phase(connections as u64, connections, Execution::Callback)?;
        match total.error {
            None => Ok(()),
            Some(error) => Err(Error::setup("connect to the server")(error)),
        }
    }

    fn phase(&mut self, operations: u64) -> Result<Total, Error> {
        let (outstanding, execution) = (self.config.outstanding, self.config.execution);
        self.run_phase(operations, outstanding, execution)
    }

    fn run_phase(
        &mut self,
        operations: u64,
        outstanding: usize,
        execution: Execution,
    ) -> Result<Total, Error> {
        let phase = Phase::new(operations, outstanding);
        for _ in 0..outstanding {
            let worker = phase.worker(self.config.payload);
            match execution {
                Execution::Callback => submit(&Rc::new(self.redis.clone()), worker),
                Execution::Async => self.spawn(worker)?,
            }
        }
        let mut watch = Watch::new(Instant::now());
        self.owner
            .run(&mut (), self.cadence, |(), tick| {
                if phase.is_over() || watch.has_stalled(&phase, tick.now) {
                    Next::Stop
                } else {
                    Next::Continue
                }
            })
            .map_err(Error::setup("run the owner"))?;
        Ok(phase.total())
    }

    fn spawn(&self, mut worker: Worker) -> Result<(), Error> {
        let redis = self.redis.clone();
        self.owner
            .spawn(async move |_| {
                while worker.begin() {
                    let reply = redis.call(echo(worker.payload())).await;
                    worker.end(reply);
                }
            })
            .map(drop)
            .map_err(|refused| Error::setup("spawn a task of the owner")(refused.reason))
    }

    fn end(mut self) -> Result<(), Error> {
        let report = self
            .owner
            .drain(&mut (), Deadline::in_(PATIENCE))
            .map_err(Error::setup("drain the owner"))?;
        if report.finished {
            return Ok(());
        }
        let left = format!("{} operations were given up", report.abandoned_count);
        Err(Error::setup("drain the owner")(left))
    }
}

/// The next operation with a callback, which submits the one after it.
fn submit(redis: &Rc<Redis>, mut worker: Worker) {
    if !worker.begin() {
        return;
    }
    let request = echo(worker.payload());
    let next = redis.clone();
    let refused = redis.send(request, move |(), reply| {
        worker.end(reply);
        submit(&next, worker);
    });
    // The callback went with the request, and the worker with it: its phase shows what is missing.
    drop(refused);
}
