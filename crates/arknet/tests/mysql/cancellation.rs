//! A request that is given up at any point leaves nothing that another one would get.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use arknet::Lanes;
use arknet::mysql::{Config, Conn, Lease, Pool, Rows, exec, query};
use arknet::pool::PoolConfig;
use arknet_testkit::FaultProxy;
use arknet_testkit::proxy::{Direction, Plan};
use arknet_testkit::servers::mysql::{MySqlServer, Product};

use super::support::{PATIENCE, beside, config};

/// Slow enough for an answer to take many polls.
fn slowed(server: &MySqlServer) -> (FaultProxy, Config) {
    let proxy = FaultProxy::start(server.addr()).unwrap();
    let account = server.product().app();
    let config = Config::new(proxy.addr())
        .unwrap()
        .user(account.user)
        .password(account.password)
        .database("test")
        .fetch_server_key(true)
        .request_timeout(Some(PATIENCE));
    (proxy, config)
}

/// Polls so often, with time between for something to arrive; says whether it ended before.
async fn poll_times<F: Future>(future: F, times: usize) -> bool {
    let mut future = pin!(future);
    for _ in 0..times {
        let done = poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await;
        if done {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    false
}

async fn mine(conn: &mut Conn) {
    let mine: Option<String> = conn.run(query("SELECT 'mine'")).await.unwrap();
    assert_eq!(mine.as_deref(), Some("mine"));
    let mine: Option<String> = conn
        .run(exec("SELECT CONCAT('mi', ?)", ("ne",)))
        .await
        .unwrap();
    assert_eq!(mine.as_deref(), Some("mine"));
}

async fn mine_on(lease: &mut Lease) {
    let mine: Option<String> = lease.run(query("SELECT 'mine'")).await.unwrap();
    assert_eq!(mine.as_deref(), Some("mine"));
}

/// An answer in several packets.
const OTHERS: &str = "SELECT 'not yours', 1 UNION SELECT 'nor this', 2";

async fn cancelled_at_every_poll(server: &MySqlServer, lanes: &Lanes) {
    let (proxy, config) = slowed(server);
    let mut conn = Conn::connect(config, lanes).await.unwrap();
    proxy.set(Direction::ToClient, Plan::pass().one_byte_at_a_time());
    for kind in 0..4 {
        for times in 1.. {
            let done = match kind {
                0 => poll_times(conn.run(query::<Vec<(String, i64)>>(OTHERS)), times).await,
                1 => {
                    // A statement that is not prepared yet.
                    let sql = format!("{OTHERS} UNION SELECT ?, {times}");
                    let others = exec::<Vec<(String, i64)>>(sql, ("x",));
                    poll_times(conn.run(others), times).await
                }
                2 => {
                    let others = (
                        query::<Vec<(String, i64)>>(OTHERS),
                        exec::<Vec<(String, i64)>>(OTHERS, ()),
                    );
                    poll_times(conn.run(others), times).await
                }
                _ => {
                    let stream = async {
                        let mut rows: Rows<'_> = conn.stream(query::<()>(OTHERS));
                        while rows.next().await.unwrap().is_some() {}
                    };
                    poll_times(stream, times).await
                }
            };
            mine(&mut conn).await;
            if done {
                break;
            }
        }
    }
    conn.close().await;
}

#[test]
fn on_a_connection() {
    for product in Product::ALL {
        beside(product, cancelled_at_every_poll);
    }
}

#[test]
fn through_a_pool() {
    beside(Product::MariaDb, async |server, lanes| {
        let (proxy, config) = slowed(server);
        let bounds = PoolConfig::new()
            .max_connections(2)
            .acquire_timeout(PATIENCE);
        let pool = Pool::new(config, bounds, lanes).unwrap();
        drop(pool.acquire().await.unwrap());
        proxy.set(Direction::ToClient, Plan::pass().one_byte_at_a_time());
        for times in 1.. {
            let mut lease = pool.acquire().await.unwrap();
            let others = query::<Vec<(String, i64)>>(OTHERS);
            let done = poll_times(lease.run(others), times).await;
            drop(lease);
            mine_on(&mut pool.acquire().await.unwrap()).await;
            if done {
                break;
            }
        }
        let stats = pool.stats();
        assert_eq!((stats.pool.leased, stats.pool.waiting), (0, 0));
        assert!(pool.close(PATIENCE).await.finished);
    });
}

/// Many at random moments, at full speed, with several tasks on few connections.
#[test]
fn at_any_moment() {
    beside(Product::MariaDb, async |server, lanes| {
        let bounds = PoolConfig::new()
            .max_connections(3)
            .acquire_timeout(PATIENCE);
        let pool = Pool::new(config(server), bounds, lanes).unwrap();
        let tasks: Vec<_> = (0..6_u64)
            .map(|task| {
                let pool = pool.clone();
                tokio::spawn(async move {
                    for round in 0..300_u64 {
                        let number = task * 1_000 + round;
                        let mut lease = pool.acquire().await.unwrap();
                        // From at once to after it is done.
                        let patience = Duration::from_micros((round * 37) % 400);
                        let run = async {
                            if round % 2 == 0 {
                                lease.run(exec::<Option<u64>>("SELECT ?", (number,))).await
                            } else {
                                lease.run(query(format!("SELECT {number}"))).await
                            }
                        };
                        if let Ok(answer) = tokio::time::timeout(patience, run).await {
                            assert_eq!(answer.unwrap(), Some(number));
                        }
                        let again: Option<u64> =
                            lease.run(exec("SELECT ? + 1", (number,))).await.unwrap();
                        assert_eq!(again, Some(number + 1));
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        let stats = pool.stats();
        assert_eq!((stats.pool.leased, stats.pool.waiting), (0, 0));
        assert!(pool.close(PATIENCE).await.finished);
    });
}
