//! Every way to a database carries its operations without a fault, and what goes wrong is told.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};

use arknet_lab::measure::config::Execution;
use arknet_lab::measure::database::config::{Access, Api, Engine, Io, Server, Update};
use arknet_lab::measure::{self, DatabaseConfig, DatabaseMeasurement, Error};
use arknet_testkit::mysql;
use arknet_testkit::redis::{EmbeddedServer, Options, Rule};
use serde_json::Value;

fn config(server: &EmbeddedServer) -> DatabaseConfig {
    DatabaseConfig {
        operations: 200,
        warmup_operations: 50,
        ..DatabaseConfig::new(Server::Url(format!("redis://{}", server.addr())))
    }
}

fn server() -> EmbeddedServer {
    EmbeddedServer::start(Options::default()).expect("loopback sockets can be had")
}

fn measured(config: &DatabaseConfig) -> DatabaseMeasurement {
    measure::database(config).expect("the server is there")
}

#[test]
fn every_way_answers_every_operation() {
    let server = server();
    let accesses = [Access::Lease, Access::Shared];
    let executions = [Execution::Callback, Execution::Async];
    let shapes = [(1, 1, 64, 1), (1, 16, 8, 1), (4, 16, 4_096, 2)];
    for access in accesses {
        for execution in executions {
            for (connections, outstanding, payload, io_threads) in shapes {
                let config = DatabaseConfig {
                    access,
                    execution,
                    connections,
                    outstanding,
                    payload,
                    io: Io::Threads(io_threads),
                    ..config(&server)
                };
                let record = measured(&config);
                assert!(record.ok, "{config:?}: {:?}", record.error);
                assert_eq!((record.operations, record.errors), (200, 0));
                assert_eq!(record.observations, 200);
                assert!(record.operations_per_second > 0.0);
                assert!(record.p50_us > 0.0 && record.p50_us <= record.p99_us);
            }
        }
    }
}

#[test]
fn an_owner_answers_every_operation_at_every_cadence_and_place() {
    let server = server();
    for update in [Update::Continuous, Update::Millisecond, Update::Parked] {
        for io in [Io::Threads(1), Io::Inline] {
            for execution in [Execution::Callback, Execution::Async] {
                let config = DatabaseConfig {
                    api: Api::Owner,
                    update: Some(update),
                    io,
                    execution,
                    connections: 4,
                    outstanding: 16,
                    ..config(&server)
                };
                let record = measured(&config);
                assert!(record.ok, "{config:?}: {:?}", record.error);
                assert_eq!((record.operations, record.errors), (200, 0));
                assert_eq!(record.observations, 200);
                let roles: Vec<&str> = record.cpu_by_role.keys().map(String::as_str).collect();
                assert!(
                    roles.contains(&"owner") || cfg!(not(target_os = "linux")),
                    "{roles:?}"
                );
            }
        }
    }
}

#[test]
fn a_wrong_reply_to_an_owner_makes_the_run_invalid() {
    for execution in [Execution::Callback, Execution::Async] {
        let server = server();
        server.add(Rule::on("ECHO").skip(120).times(1).answer(b"+wrong\r\n"));
        let record = measured(&DatabaseConfig {
            api: Api::Owner,
            update: Some(Update::Parked),
            execution,
            ..config(&server)
        });
        assert!(!record.ok && record.errors == 1, "{:?}", record.error);
    }
}

#[test]
fn an_operation_is_an_echo_and_a_lease_that_only_echoes_is_not_reset() {
    let server = server();
    assert!(measured(&config(&server)).ok);
    assert_eq!(server.stats().count("echo"), 250);
    // The login asks whether the server knows it.
    assert_eq!(server.stats().count("reset"), 1);
}

fn mysql_config(server: &mysql::EmbeddedServer) -> DatabaseConfig {
    let url = Server::Url(format!("mysql://root@{}", server.addr()));
    DatabaseConfig {
        engine: Engine::Mysql,
        operations: 200,
        warmup_operations: 50,
        ..DatabaseConfig::new(url)
    }
}

#[test]
fn mysql_answers_every_operation_in_either_style() {
    let server = mysql::EmbeddedServer::start(mysql::Options::default()).unwrap();
    for execution in [Execution::Callback, Execution::Async] {
        for (connections, outstanding, payload, io_threads) in
            [(1, 1, 64, 1), (1, 16, 8, 1), (4, 16, 4_096, 2)]
        {
            let config = DatabaseConfig {
                execution,
                connections,
                outstanding,
                payload,
                io: Io::Threads(io_threads),
                ..mysql_config(&server)
            };
            let record = measured(&config);
            assert!(record.ok, "{config:?}: {:?}", record.error);
            assert_eq!((record.operations, record.errors), (200, 0));
        }
    }
    assert_eq!(server.stats().count("execute"), 6 * 250);
}

#[test]
fn a_wrong_answer_of_mysql_makes_the_run_invalid() {
    for execution in [Execution::Callback, Execution::Async] {
        let server = mysql::EmbeddedServer::start(mysql::Options::default()).unwrap();
        let refusal = mysql::Rule::on("EXECUTE").skip(120).times(1);
        server.add(refusal.error(1205, "HY000", "Lock wait timeout exceeded"));
        let record = measured(&DatabaseConfig {
            execution,
            ..mysql_config(&server)
        });
        assert!(!record.ok, "{execution:?}");
        assert_eq!(record.errors, 1);
        let error = record.error.expect("an invalid run says why");
        assert!(error.contains("Lock wait timeout exceeded"), "{error}");
    }
}

#[test]
fn a_wrong_reply_makes_the_run_invalid() {
    for access in [Access::Lease, Access::Shared] {
        for execution in [Execution::Callback, Execution::Async] {
            let server = server();
            server.add(Rule::on("ECHO").skip(120).times(1).answer(b"+wrong\r\n"));
            let record = measured(&DatabaseConfig {
                access,
                execution,
                ..config(&server)
            });
            assert!(!record.ok, "{access:?} {execution:?}");
            assert_eq!(record.errors, 1);
            let error = record.error.expect("an invalid run says why");
            assert_eq!(error, "a reply of 5 bytes is not what was sent");
        }
    }
}

#[test]
fn a_server_that_is_not_there_is_an_error_and_a_bad_number_a_refusal() {
    let gone = server().addr();
    let url = Server::Url(format!("redis://{gone}"));
    let lost = measure::database(&DatabaseConfig::new(url.clone()));
    assert!(matches!(lost, Err(Error::Setup { .. })), "{lost:?}");
    let none = DatabaseConfig {
        connections: 0,
        ..DatabaseConfig::new(url)
    };
    assert!(matches!(measure::database(&none), Err(Error::Config(_))));
}

fn lab(line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_arknet-lab"))
        .args(line.split_whitespace())
        .output()
        .expect("the lab's binary runs")
}

#[test]
fn a_measurement_is_one_json_object_on_standard_output() {
    let output = lab(
        "measure database --embedded --access shared --execution callback --outstanding 4 \
         --operations 100 --warmup-operations 10",
    );
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
    let record: Value = serde_json::from_slice(&output.stdout).expect("one JSON value");
    assert_eq!(record["ok"], true);
    assert_eq!(record["error"], Value::Null);
    assert_eq!(
        (&record["engine"], &record["api"]),
        (&"redis".into(), &"client".into())
    );
    assert_eq!(
        (&record["server"], &record["io"]),
        (&"embedded".into(), &"threads:1".into())
    );
    assert_eq!(
        (&record["operations"], &record["errors"]),
        (&100.into(), &0.into())
    );
    for figure in ["operations_per_second", "p50_us", "p99_us"] {
        assert!(
            record[figure].as_f64().is_some_and(|it| it > 0.0),
            "{figure}"
        );
    }
}

#[test]
fn mysql_is_measured_by_name_on_a_server_of_the_labs_own() {
    let output = lab(
        "measure database --engine mysql --embedded --outstanding 4 --operations 100 \
         --warmup-operations 10",
    );
    assert_eq!(output.status.code(), Some(0));
    let record: Value = serde_json::from_slice(&output.stdout).expect("one JSON value");
    assert_eq!(record["ok"], true);
    assert_eq!(record["engine"], "mysql");
    assert_eq!(record["operations"], 100);
}

#[test]
fn usage_errors_exit_2_and_print_nothing() {
    for line in [
        "",
        "--embedded --url redis://127.0.0.1",
        "--embedded --payload 7",
        "--embedded --connections 0",
        "--embedded --outstanding 65537",
        "--embedded --operations 0",
        "--embedded --io inline",
        "--embedded --access owner",
        "--embedded --update parked",
        "--embedded --api owner --access shared",
        "--embedded --api owner --spin 10",
        "--embedded --tls",
        "--engine mysql --embedded --access shared",
        "--embedded surplus",
    ] {
        let output = lab(&format!("measure database {line}"));
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(output.stdout.is_empty(), "{line}");
        assert!(!output.stderr.is_empty(), "{line}");
    }
}

#[test]
fn a_server_of_its_own_says_where_it_is_and_ends_with_its_input() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_arknet-lab"))
        .args(["serve", "redis", "--until-input-ends"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the lab's binary runs");
    let mut url = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut url).unwrap();
    let address = url.trim().strip_prefix("redis://").expect("a URL");
    let record = measured(&DatabaseConfig {
        operations: 10,
        ..DatabaseConfig::new(Server::Url(format!("redis://{address}")))
    });
    assert!(record.ok, "{:?}", record.error);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}
