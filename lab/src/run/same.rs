//! A/A: the same measurement against itself. Whatever difference shows is the machine's, and no
//! claim about two different programs may be smaller.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::measurement::judge;
use super::process;
use super::workload::{
    Execution, Implementation, Io, IoModel, Protocol, Traffic, Transport, Workload,
};

/// Pairs: short enough for a person to wait, enough to see a machine that is busy.
const PAIRS: usize = 6;
/// A process that takes longer has hung.
const LIMIT: Duration = Duration::from_secs(20);

/// How far equal measurements were apart.
#[derive(Clone, Debug, Serialize)]
pub struct Floor {
    /// Pairs of fresh processes.
    pub pairs: usize,
    /// Largest difference in throughput within a pair, percent.
    pub throughput_percent: f64,
    /// Largest difference in processor time per message within a pair, percent.
    pub cpu_percent: Option<f64>,
}

/// Measures the floor with `executable`.
///
/// # Errors
/// With the reason, when a measurement failed.
pub async fn floor(executable: &Path) -> Result<Floor, String> {
    let mut throughput: f64 = 0.0;
    let mut cpu: Option<f64> = Some(0.0);
    for _ in 0..PAIRS {
        let (one, other) = (measure(executable).await?, measure(executable).await?);
        throughput = throughput.max(apart(one.0, other.0));
        cpu = cpu
            .zip(one.1)
            .zip(other.1)
            .map(|((most, a), b)| most.max(apart(a, b)));
    }
    Ok(Floor {
        pairs: PAIRS,
        throughput_percent: throughput,
        cpu_percent: cpu,
    })
}

fn apart(one: f64, other: f64) -> f64 {
    (one.max(other) / one.min(other) - 1.0) * 100.0
}

/// Throughput, and processor time per message when the system counts it.
async fn measure(executable: &Path) -> Result<(f64, Option<f64>), String> {
    let workload = workload();
    let arguments = workload.arguments(Execution::Callback);
    let ended = process::run(executable, &arguments, LIMIT)
        .await
        .map_err(|e| e.to_string())?;
    let metrics: Value = serde_json::from_str(&ended.stdout)
        .map_err(|_| format!("it printed no measurement: {}", ended.stderr.trim()))?;
    judge(&metrics, &workload, Execution::Callback)?;
    let figure = |key: &str| {
        metrics
            .get(key)
            .and_then(Value::as_f64)
            .filter(|value| *value > 0.0)
    };
    let rate = figure("roundtrips_per_second").ok_or("it measured no throughput")?;
    Ok((rate, figure("cpu_ns_per_message")))
}

fn workload() -> Workload {
    Workload::Transport(Transport {
        implementation: Implementation::Native,
        protocol: Protocol::Tcp,
        traffic: Traffic::Batch,
        payload: 1024,
        clients: 16,
        window: 1,
        work: 0,
        io: Io {
            model: IoModel::Shared,
            threads: 1,
        },
        warmup: 0.1,
        seconds: 0.4,
    })
}
