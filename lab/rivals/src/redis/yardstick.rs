//! What the server itself can do, asked with its own program: a ceiling for the figures beside it,
//! and no rival, since it checks nothing.

use std::net::SocketAddr;
use std::process::{Command, Stdio};

use serde::Serialize;

use super::seed;
use crate::failure::Failure;
use crate::rounds;

/// The program, which the server's package brings along.
const PROGRAM: &str = "redis-benchmark";

/// What one of its runs said.
#[derive(Debug, Serialize)]
pub(crate) struct Figure {
    /// The work that it is a yardstick for.
    pub(crate) work: &'static str,
    pub(crate) yardstick: &'static str,
    pub(crate) operations_per_second: f64,
}

/// Work, requests in flight on one connection, the key, and requests of a short run: about a
/// quarter of a second each.
const WORKS: [(&str, usize, &str, u64); 5] = [
    ("sequential get", 1, "key:0", 5_000),
    ("64 tasks", 64, "key:0", 200_000),
    ("512 tasks", 512, "key:0", 200_000),
    ("pipeline 100", 100, "key:0", 200_000),
    ("get 16 KiB", 16, seed::LARGE_KEY, 20_000),
];

/// How much longer a run is that is not short.
const LONG: u64 = 5;

/// Asks it for every work whose name contains `only`. A run that fails is told of and left out.
pub(crate) fn figures(address: SocketAddr, only: Option<&str>, short: bool) -> Vec<Figure> {
    if let Err(error) = seed::sow(address) {
        rounds::progress(&format!("{PROGRAM} is left out: {error}"));
        return Vec::new();
    }
    let wanted = |(work, ..): &&(&str, usize, &str, u64)| only.is_none_or(|o| work.contains(o));
    let mut figures = Vec::new();
    for &(work, in_flight, key, requests) in WORKS.iter().filter(wanted) {
        let requests = if short { requests } else { requests * LONG };
        match benchmark(address, in_flight, key, requests) {
            Ok(operations_per_second) => figures.push(Figure {
                work,
                yardstick: PROGRAM,
                operations_per_second,
            }),
            Err(error) => rounds::progress(&format!("{PROGRAM} for {work}: {error}")),
        }
    }
    figures
}

fn benchmark(
    address: SocketAddr,
    in_flight: usize,
    key: &str,
    requests: u64,
) -> Result<f64, Failure> {
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let (requests, in_flight) = (requests.to_string(), in_flight.to_string());
    let where_to = ["-h", &host, "-p", &port, "-c", "1", "--csv"];
    let how_much = ["-n", &requests, "-P", &in_flight, "GET", key];
    let output = Command::new(PROGRAM)
        .args(where_to)
        .args(how_much)
        .stdin(Stdio::null())
        .output()
        .map_err(Failure::io("starting it"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    rate(&text).ok_or_else(|| Failure::Invalid(format!("{}, it said {text:?}", output.status)))
}

/// The second column of the last line: `"GET key:0","37037.04","0.025",...`.
fn rate(csv: &str) -> Option<f64> {
    let line = csv.lines().rfind(|line| !line.trim().is_empty())?;
    line.split(',').nth(1)?.trim_matches('"').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_the_second_column_of_the_last_line() {
        let csv = "\"test\",\"rps\",\"avg_latency_ms\"\n\"GET key:0\",\"1470588.25\",\"0.036\"\n";
        assert_eq!(rate(csv), Some(1_470_588.25));
        assert_eq!(rate("Could not connect"), None);
    }
}
