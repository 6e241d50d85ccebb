//! Every MySQL client and pool that is compared does its work right for a moment.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::process::{Command, Output};

use arknet_testkit::need;
use arknet_testkit::servers::mysql::Product;

fn rivals(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_arknet-rivals"))
        .args(arguments)
        .output()
        .expect("the binary starts")
}

fn works(product: Product, variant: &str, work: &str) {
    let what = ["run-mysql", variant, "--work", work];
    let how = [
        "--product",
        product.name(),
        "--warmup",
        "0.02",
        "--seconds",
        "0.05",
    ];
    let output = rivals(&[&what[..], &how].concat());
    let sample: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| {
        panic!(
            "{variant}: {work}: {e}: {}",
            String::from_utf8_lossy(&output.stderr)
        )
    });
    assert!(output.status.success(), "{variant}: {work}: {sample}");
    assert_eq!(sample["errors"], 0, "{variant}: {work}");
    assert!(
        sample["messages"].as_u64().unwrap() > 0,
        "{variant}: {work}"
    );
}

fn everything_on(product: Product) {
    for variant in ["conn", "mysql_async", "sqlx"] {
        for work in [
            "select 1 text",
            "select 1 prepared",
            "scan text owned",
            "scan binary owned",
            "scan text borrowed",
            "scan binary borrowed",
            "pipeline 20",
        ] {
            works(product, variant, work);
        }
    }
    for variant in [
        "lease",
        "lease stateless",
        "mysql_async",
        "mysql_async unreset",
        "sqlx",
        "sqlx unchecked",
    ] {
        for work in ["lease tls 1/4", "lease tls 4 KiB 4/16"] {
            works(product, variant, work);
        }
    }
}

#[test]
fn everybody_works_on_mariadb() {
    need!(Product::MariaDb.find());
    everything_on(Product::MariaDb);
}

#[test]
fn everybody_works_on_mysql() {
    need!(Product::MySql.find());
    everything_on(Product::MySql);
}

#[test]
fn wrong_asks_exit_2_and_write_nothing() {
    let asks: [&[&str]; 4] = [
        &["run-mysql", "nobody", "--work", "pipeline 20"],
        &["run-mysql", "lease", "--work", "pipeline 20"],
        &["run-mysql", "conn", "--work", "pipeline 21"],
        &[
            "run-mysql",
            "conn",
            "--work",
            "pipeline 20",
            "--product",
            "oracle",
        ],
    ];
    for ask in asks {
        let output = rivals(ask);
        assert_eq!(output.status.code(), Some(2), "{ask:?}");
        assert!(output.stdout.is_empty(), "{ask:?}");
    }
}
