//! Every machine carries both kinds of traffic in every threading model, without a fault.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::time::Duration;

use arknet_lab::measure::config::{
    AddressFamily, Execution, Implementation, IoModel, Protocol, Traffic,
};
use arknet_lab::measure::{self, Measurement, TransportConfig};

const EXECUTIONS: [Execution; 2] = [Execution::Callback, Execution::Async];
const MODELS: [(IoModel, usize); 3] = [
    (IoModel::Shared, 1),
    (IoModel::Shared, 4),
    (IoModel::Sharded, 4),
];
const TRAFFICS: [Traffic; 2] = [Traffic::Batch, Traffic::Windowed];

fn short() -> TransportConfig {
    TransportConfig {
        clients: 5,
        warmup: Duration::from_millis(20),
        seconds: Duration::from_millis(50),
        ..Default::default()
    }
}

fn valid(config: &TransportConfig) -> Measurement {
    let record = measure::transport(config).expect("loopback sockets can be had");
    assert!(record.ok, "{config:?}: {:?}", record.error);
    assert!(record.messages > 0 && record.warmup_messages > 0);
    assert!(record.counters.values().all(|count| *count == 0));
    record
}

#[test]
fn every_machine_runs_every_cell() {
    for execution in EXECUTIONS {
        for (io_model, io_threads) in MODELS {
            for traffic in TRAFFICS {
                for (window, work) in [(1, 0), (16, 0), (16, 1_000)] {
                    let cell = short();
                    let record = valid(&TransportConfig {
                        execution,
                        io_model,
                        io_threads,
                        traffic,
                        window,
                        work,
                        ..cell
                    });
                    // A batch is one operation, a windowed message is one.
                    let operations = match traffic {
                        Traffic::Batch => record.messages / window as u64,
                        Traffic::Windowed => record.messages,
                    };
                    assert_eq!(record.rtt_observations, operations);
                    assert_eq!(record.messages_sent, record.messages);
                }
            }
        }
    }
}

#[test]
fn windows_of_megabytes_do_not_stall() {
    for execution in EXECUTIONS {
        for (io_model, io_threads) in MODELS {
            for traffic in TRAFFICS {
                let cell = short();
                valid(&TransportConfig {
                    execution,
                    io_model,
                    io_threads,
                    traffic,
                    clients: 2,
                    payload: 65_507,
                    window: 64,
                    ..cell
                });
            }
        }
    }
}

#[test]
fn the_smallest_message_and_ipv6_are_carried() {
    for execution in EXECUTIONS {
        let cell = short();
        let record = valid(&TransportConfig {
            execution,
            traffic: Traffic::Windowed,
            payload: 16,
            window: 64,
            address_family: AddressFamily::Ipv6,
            ..cell
        });
        assert_eq!(
            record.backend,
            if execution == Execution::Async {
                "tokio"
            } else {
                "mio"
            }
        );
    }
}

#[test]
fn the_endpoints_run_every_cell_with_both_ends_on_one_lane() {
    for protocol in [Protocol::Tcp, Protocol::Tcps] {
        for execution in EXECUTIONS {
            for (io_model, io_threads) in MODELS {
                for (window, work) in [(1, 0), (16, 1_000)] {
                    let record = valid(&TransportConfig {
                        protocol,
                        execution,
                        io_model,
                        io_threads,
                        window,
                        work,
                        ..endpoint()
                    });
                    assert_eq!(record.rtt_observations, record.messages);
                    let sharded = io_model == IoModel::Sharded;
                    assert_eq!(record.unpaired_connections, sharded.then_some(0));
                }
            }
        }
    }
}

#[test]
fn the_endpoints_carry_windows_of_megabytes() {
    for protocol in [Protocol::Tcp, Protocol::Tcps] {
        for execution in EXECUTIONS {
            let cell = endpoint();
            valid(&TransportConfig {
                protocol,
                execution,
                clients: 2,
                payload: 65_507,
                window: 64,
                ..cell
            });
        }
    }
}

fn endpoint() -> TransportConfig {
    TransportConfig {
        implementation: Implementation::Endpoint,
        traffic: Traffic::Windowed,
        ..short()
    }
}

#[test]
fn the_figures_agree_with_each_other() {
    let record = valid(&TransportConfig {
        traffic: Traffic::Windowed,
        ..short()
    });
    let rate = record.messages as f64 / record.elapsed_seconds;
    assert_eq!(record.roundtrips_per_second, rate);
    assert!(
        record.elapsed_seconds >= 0.05,
        "the phase lasts as long as was asked for"
    );
    assert!(record.rtt_p50_us > 0.0 && record.rtt_p50_us <= record.rtt_p95_us);
    assert!(record.rtt_p95_us <= record.rtt_p99_us);
    if let (Some(total), Some(user), Some(system)) = (
        record.cpu_seconds,
        record.cpu_user_seconds,
        record.cpu_system_seconds,
    ) {
        assert!((total - user - system).abs() < 1e-9);
        let per_message = record.cpu_ns_per_message.expect("there were messages");
        assert!((per_message * record.messages as f64 / 1e9 - total).abs() < 1e-6);
    }
}
