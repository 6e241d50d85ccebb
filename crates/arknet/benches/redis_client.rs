//! What a request costs on the shared Redis client: processor time of this process per operation, against a real server
//! that runs beside it.
//!
//! `cargo bench -p arknet --bench redis_client` prints all shapes on all lanes. With arguments, the name of a shape
//! (`sequential`, `64`, `512`, `pipeline`, `16k`) and of lanes (`current`, `lane`, `threads`) and a number of seconds, it
//! runs that one for a profiler: `redis_client 64 current 5`.

#![allow(missing_docs, reason = "a program")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking"
)]

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arknet::Lanes;
use arknet::redis::commands::strings::get;
use arknet::redis::{Client, Config, cmd, pipeline};

const SHAPES: [&str; 5] = ["sequential", "64", "512", "pipeline", "16k"];
const LANES: [&str; 3] = ["current", "lane", "threads"];

/// A server that ends with this program.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start() -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let child = Command::new("redis-server")
            .args([
                "--port",
                &port.to_string(),
                "--save",
                "",
                "--appendonly",
                "no",
            ])
            .args(["--bind", "127.0.0.1", "--daemonize", "no"])
            .stdout(Stdio::null())
            .spawn()
            .ok()?;
        Some(Self { child, port })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn main() {
    let Some(server) = Server::start() else {
        println!("SKIPPED: redis-server is not installed");
        return;
    };
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let seconds = arguments.get(2).map_or(1.0, |text| text.parse().unwrap());
    let time = Duration::from_secs_f64(seconds);
    for lanes in LANES {
        for shape in SHAPES {
            let wanted = |index: usize, name| arguments.get(index).is_none_or(|one| one == name);
            if wanted(0, shape) && wanted(1, lanes) {
                measure(&server, shape, lanes, time);
            }
        }
    }
}

fn measure(server: &Server, shape: &str, lanes: &str, time: Duration) {
    let address = format!("127.0.0.1:{}", server.port);
    let config = Config::new(&address).unwrap();
    match lanes {
        "current" => {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let lanes = Lanes::current().unwrap();
                run(&lanes, config, shape, time, "current").await;
            });
        }
        "lane" => {
            let lanes = Lanes::sharded(1).unwrap();
            let (done, end) = std::sync::mpsc::channel();
            let (inner, shape) = (lanes.clone(), shape.to_owned());
            lanes.spawn(async move {
                run(&inner, config, &shape, time, "lane").await;
                done.send(()).unwrap();
            });
            end.recv().unwrap();
        }
        _ => {
            let lanes = Lanes::shared(2).unwrap();
            let (done, end) = std::sync::mpsc::channel();
            let (inner, shape) = (lanes.clone(), shape.to_owned());
            lanes.spawn(async move {
                run(&inner, config, &shape, time, "threads").await;
                done.send(()).unwrap();
            });
            end.recv().unwrap();
        }
    }
}

async fn run(lanes: &Lanes, config: Config, shape: &str, time: Duration, name: &str) {
    let client = connect(config, lanes).await;
    let value = "v".repeat(if shape == "16k" { 16 * 1024 } else { 5 });
    client
        .run(cmd::<()>("SET").arg("key").arg(value))
        .await
        .unwrap();
    let tasks = match shape {
        "sequential" | "pipeline" => 1,
        "64" => 64,
        "512" => 512,
        _ => 16,
    };
    // Caches and storage first.
    load(lanes, &client, shape, tasks, time / 5).await;
    let (before, start) = (processor_time(), Instant::now());
    let operations = load(lanes, &client, shape, tasks, time).await;
    let (spent, passed) = (processor_time() - before, start.elapsed());
    println!(
        "{name:8} {shape:10} {:8.3} µs of processor time, {:9.0} operations a second",
        spent.as_secs_f64() * 1e6 / operations as f64,
        operations as f64 / passed.as_secs_f64(),
    );
    client.close(Duration::from_secs(1)).await;
}

/// The server may not listen yet.
async fn connect(config: Config, lanes: &Lanes) -> Client {
    loop {
        match Client::connect(config.clone(), lanes).await {
            Ok(client) => return client,
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn load(lanes: &Lanes, client: &Client, shape: &str, tasks: usize, time: Duration) -> u64 {
    let over = Arc::new(AtomicBool::new(false));
    let done = Arc::new(AtomicU64::new(0));
    let (ended, mut all) = tokio::sync::mpsc::channel::<()>(1);
    for _ in 0..tasks {
        let (client, over, done) = (client.clone(), over.clone(), done.clone());
        let (shape, ended) = (shape.to_owned(), ended.clone());
        lanes.spawn(async move {
            let mut count = 0;
            while !over.load(Ordering::Relaxed) {
                count += once(&client, &shape).await;
            }
            done.fetch_add(count, Ordering::Relaxed);
            drop(ended);
        });
    }
    drop(ended);
    tokio::time::sleep(time).await;
    over.store(true, Ordering::Relaxed);
    all.recv().await;
    done.load(Ordering::Relaxed)
}

async fn once(client: &Client, shape: &str) -> u64 {
    match shape {
        "pipeline" => {
            let gets = pipeline().extend((0..100).map(|_| get::<Vec<u8>>("key")));
            let values = client.run(gets).await;
            assert!(
                values
                    .iter()
                    .all(|value| value.as_ref().unwrap().len() == 5)
            );
            100
        }
        "16k" => {
            let value = client.run(get::<Vec<u8>>("key")).await.unwrap();
            assert_eq!(value.len(), 16 * 1024);
            1
        }
        _ => {
            let value = client.run(get::<Vec<u8>>("key")).await.unwrap();
            assert_eq!(value.len(), 5);
            1
        }
    }
}

/// Of all threads of this process.
fn processor_time() -> Duration {
    let mut nanoseconds = 0;
    for thread in fs::read_dir("/proc/self/task").unwrap() {
        let Ok(text) = fs::read_to_string(thread.unwrap().path().join("schedstat")) else {
            continue;
        };
        let first = text.split(' ').next().unwrap_or_default();
        nanoseconds += first.parse::<u64>().unwrap_or(0);
    }
    Duration::from_nanos(nanoseconds)
}
