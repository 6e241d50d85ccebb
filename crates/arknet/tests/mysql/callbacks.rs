//! The same with functions in place of futures.

use std::sync::mpsc;
use std::time::Duration;

use arknet::mysql::{Conn, ErrorKind, Lease, exec, query};
use arknet::{Lanes, Outcome};
use arknet_testkit::servers::mysql::Product;

use super::support::{PATIENCE, Script, beside, beside_all, connect, on_a_lane, pool, session};

#[test]
fn a_function_gets_the_result_and_the_lease_to_go_on_with() {
    beside_all(async |server, lanes| {
        let pool = pool(server, lanes, 1);
        let (told, results) = mpsc::channel();
        pool.acquire_with(move |lease| {
            let request = (
                query::<Option<i64>>("SELECT 1"),
                exec::<Option<i64>>("SELECT ?", (2,)),
            );
            lease
                .unwrap()
                .run_with(request, move |lease: Lease, (one, two)| {
                    let again = query::<Option<i64>>("SELECT 3");
                    lease.run_with(again, move |_lease, three| {
                        told.send((one.unwrap(), two.unwrap(), three.unwrap()))
                            .unwrap();
                    });
                });
        });
        let results = tokio::task::spawn_blocking(move || results.recv_timeout(PATIENCE));
        assert_eq!(results.await.unwrap().unwrap(), (Some(1), Some(2), Some(3)));
        assert!(pool.close(PATIENCE).await.finished);
    });
}

#[test]
fn a_connection_of_ones_own_has_functions_too() {
    beside(Product::MariaDb, async |server, lanes| {
        let conn = connect(server, lanes).await;
        let (told, results) = tokio::sync::oneshot::channel();
        conn.run_with(exec::<Option<i64>>("SELECT ?", (7,)), |conn, seven| {
            let _ = told.send((conn, seven.unwrap()));
        });
        let (mut conn, seven) = results.await.unwrap();
        assert_eq!(seven, Some(7));
        let one: Option<i64> = conn.run(query("SELECT 1")).await.unwrap();
        assert_eq!(one, Some(1));
        conn.close().await;
    });
}

#[test]
fn a_function_that_panics_harms_nobody_else() {
    beside(Product::MariaDb, async |server, lanes| {
        let pool = pool(server, lanes, 1);
        let lease = pool.acquire().await.unwrap();
        lease.run_with(query::<Option<i64>>("SELECT 1"), |_lease, _one| {
            panic!("the function of a test");
        });
        let two: Option<i64> = pool.run(query("SELECT 2")).await.unwrap();
        assert_eq!(two, Some(2));
        assert!(pool.close(PATIENCE).await.finished);
    });
}

/// The function is called all the same, and learns that its statement may have been carried out.
#[test]
fn lanes_that_end_call_the_function() {
    let lanes = Lanes::sharded(1).unwrap();
    let (heard, hears) = mpsc::channel();
    let script = Script::start([session(move |peer| {
        let mut peer = peer.log_in();
        peer.hear("SELECT 1");
        heard.send(()).unwrap();
        peer.listen();
    })]);
    let config = script.config();
    let conn = lanes
        .block_on(async { Conn::connect(config, &lanes).await.unwrap() })
        .unwrap();
    let (told, results) = mpsc::channel();
    conn.run_with(query::<()>("SELECT 1"), move |_conn, result| {
        told.send(result.unwrap_err()).unwrap();
    });
    hears.recv_timeout(PATIENCE).unwrap();
    lanes
        .block_on(lanes.shutdown(Duration::from_millis(10)))
        .unwrap();
    let error = results.recv_timeout(PATIENCE).unwrap();
    assert_eq!(error.outcome(), Outcome::Unknown, "{error}");
    assert_eq!(error.kind(), ErrorKind::Lost);
}

#[test]
fn on_lanes_of_every_kind() {
    let server = match arknet_testkit::servers::mysql::MySqlServer::shared(Product::MariaDb) {
        Ok(server) => server,
        Err(absent) => return absent.skip(),
    };
    let story = async |lanes: &Lanes| {
        let pool = pool(&server, lanes, 2);
        for number in 0..20_i64 {
            let same: Option<i64> = pool.run(exec("SELECT ?", (number,))).await.unwrap();
            assert_eq!(same, Some(number));
        }
        assert!(pool.close(PATIENCE).await.finished);
    };
    for lanes in [
        Lanes::shared(2).unwrap(),
        Lanes::shared(1).unwrap(),
        Lanes::sharded(2).unwrap(),
        Lanes::manual().unwrap(),
    ] {
        lanes.block_on(story(&lanes)).unwrap();
    }
    on_a_lane(async |_| story(&Lanes::current().unwrap()).await);
}
