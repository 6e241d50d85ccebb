//! What is carried out together, or not at all.

use arknet::mysql::{Conn, Error, ErrorKind, Isolation, Lease, TransactionOptions, exec, query};
use arknet::{Lanes, Outcome};
use arknet_testkit::FaultProxy;
use arknet_testkit::proxy::{Direction, Plan};
use arknet_testkit::servers::mysql::{MySqlServer, Product};

use super::support::{PATIENCE, beside, beside_all, config, connect, pool};

/// A table of its own for a story, which goes with it.
struct Table<'s> {
    name: &'static str,
    server: &'s MySqlServer,
}

impl<'s> Table<'s> {
    fn new(server: &'s MySqlServer, name: &'static str) -> Self {
        server.sql(&format!("DROP TABLE IF EXISTS test.{name}"));
        server.sql(&format!("CREATE TABLE test.{name} (x INT PRIMARY KEY)"));
        Self { name, server }
    }

    fn insert(&self) -> String {
        format!("INSERT INTO {} VALUES (?)", self.name)
    }

    /// What everybody sees.
    fn committed(&self) -> Vec<i64> {
        let table = self
            .server
            .sql(&format!("SELECT x FROM test.{} ORDER BY x", self.name));
        (0..)
            .map_while(|row| table.cell(row, 0))
            .map(|x| x.parse().unwrap())
            .collect()
    }
}

impl Drop for Table<'_> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.server.sql(&format!("DROP TABLE test.{}", self.name));
        }
    }
}

#[test]
fn what_is_committed_is_kept_and_nothing_else() {
    beside_all(async |server, lanes| {
        let table = Table::new(server, "kept");
        let mut conn = connect(server, lanes).await;
        let mut transaction = conn.begin().await.unwrap();
        transaction
            .run(exec::<()>(table.insert(), (1,)))
            .await
            .unwrap();
        assert!(transaction.is_open());
        assert!(table.committed().is_empty());
        transaction.commit().await.unwrap();
        assert_eq!(table.committed(), [1]);

        let mut transaction = conn.begin().await.unwrap();
        transaction
            .run(exec::<()>(table.insert(), (2,)))
            .await
            .unwrap();
        transaction.rollback().await.unwrap();

        let mut transaction = conn.begin().await.unwrap();
        transaction
            .run(exec::<()>(table.insert(), (3,)))
            .await
            .unwrap();
        drop(transaction);
        // Undone in front of it, on the same connection.
        let seen: Vec<i64> = conn.run(query("SELECT x FROM kept")).await.unwrap();
        assert_eq!(seen, [1]);
        // Every statement commits by itself again.
        conn.run(exec::<()>(table.insert(), (4,))).await.unwrap();
        assert_eq!(table.committed(), [1, 4]);
        conn.close().await;
    });
}

#[test]
fn a_lease_that_goes_back_takes_its_transaction_along() {
    beside_all(async |server, lanes| {
        let table = Table::new(server, "leased");
        let pool = pool(server, lanes, 1);
        for number in 0..3 {
            let mut lease: Lease = pool.acquire().await.unwrap();
            let mut transaction = lease.begin().await.unwrap();
            let insert = exec::<()>(table.insert(), (number,)).stateless();
            transaction.run(insert).await.unwrap();
            drop(transaction);
            drop(lease);
            let seen: Vec<i64> = pool.run(query("SELECT x FROM leased")).await.unwrap();
            assert!(seen.is_empty());
        }
        assert_eq!(pool.stats().pool.connected, 1);
        assert!(pool.close(PATIENCE).await.finished);
    });
}

#[test]
fn a_savepoint_is_undone_by_itself() {
    beside_all(async |server, lanes| {
        let table = Table::new(server, "saved");
        let mut conn = connect(server, lanes).await;
        let mut whole = conn.begin().await.unwrap();
        whole.run(exec::<()>(table.insert(), (1,))).await.unwrap();
        let mut part = whole.savepoint().await.unwrap();
        part.run(exec::<()>(table.insert(), (2,))).await.unwrap();
        let mut inner = part.savepoint().await.unwrap();
        inner.run(exec::<()>(table.insert(), (3,))).await.unwrap();
        inner.commit().await.unwrap();
        part.rollback().await.unwrap();
        let mut part = whole.savepoint().await.unwrap();
        part.run(exec::<()>(table.insert(), (4,))).await.unwrap();
        part.commit().await.unwrap();
        // Dropped, and the next thing is the commit.
        let mut part = whole.savepoint().await.unwrap();
        part.run(exec::<()>(table.insert(), (5,))).await.unwrap();
        drop(part);
        whole.commit().await.unwrap();
        assert_eq!(table.committed(), [1, 4]);
        conn.close().await;
    });
}

#[test]
fn options_are_those_of_the_server() {
    beside_all(async |server, lanes| {
        let table = Table::new(server, "options");
        let mut conn = connect(server, lanes).await;
        let mut transaction = conn
            .begin_with(TransactionOptions::new().read_only())
            .await
            .unwrap();
        let error = transaction
            .run(exec::<()>(table.insert(), (1,)))
            .await
            .unwrap_err();
        assert_eq!(error.server().unwrap().code(), 1792);
        drop(transaction);

        for (isolation, sees) in [
            (Isolation::ReadUncommitted, 1),
            (Isolation::ReadCommitted, 0),
            (Isolation::RepeatableRead, 0),
        ] {
            let mut other = connect(server, lanes).await;
            let mut writer = other.begin().await.unwrap();
            writer.run(exec::<()>(table.insert(), (7,))).await.unwrap();
            let options = TransactionOptions::new().isolation(isolation);
            let mut reader = conn.begin_with(options).await.unwrap();
            let count = query::<Option<i64>>("SELECT COUNT(*) FROM options");
            assert_eq!(
                reader.run(count).await.unwrap(),
                Some(sees),
                "{isolation:?}"
            );
            reader.commit().await.unwrap();
            writer.rollback().await.unwrap();
            other.close().await;
        }
        let options = TransactionOptions::new()
            .isolation(Isolation::Serializable)
            .consistent_snapshot();
        conn.begin_with(options)
            .await
            .unwrap()
            .commit()
            .await
            .unwrap();
        conn.close().await;
    });
}

#[test]
fn what_would_run_outside_is_refused() {
    beside_all(async |server, lanes| {
        let table = Table::new(server, "outside");
        let mut conn = connect(server, lanes).await;
        let mut transaction = conn.begin().await.unwrap();
        transaction
            .run(exec::<()>(table.insert(), (1,)))
            .await
            .unwrap();
        // It commits by itself.
        let comment = query::<()>("ALTER TABLE outside COMMENT 'x'");
        transaction.run(comment).await.unwrap();
        assert!(!transaction.is_open());
        let error = transaction
            .run(exec::<()>(table.insert(), (2,)))
            .await
            .unwrap_err();
        assert!(matches!(error, Error::NoTransaction));
        assert_eq!(
            (error.kind(), error.outcome()),
            (ErrorKind::Request, Outcome::NotSent)
        );
        let mut rows = transaction.stream(query::<()>("SELECT 1"));
        let first = rows.next().await.map(drop);
        assert!(matches!(first, Err(Error::NoTransaction)));
        drop(rows);
        assert!(matches!(
            transaction.commit().await,
            Err(Error::NoTransaction)
        ));
        assert_eq!(table.committed(), [1]);
        conn.close().await;
    });
}

#[test]
fn a_deadlock_ends_the_transaction() {
    beside_all(async |server, lanes| {
        let table = Table::new(server, "locked");
        server.sql("INSERT INTO test.locked VALUES (1), (2)");
        let (mut one, mut two) = (connect(server, lanes).await, connect(server, lanes).await);
        let mut first = one.begin().await.unwrap();
        let mut second = two.begin().await.unwrap();
        let lock =
            |x: i64| exec::<Option<i64>>("SELECT x FROM locked WHERE x = ? FOR UPDATE", (x,));
        first.run(lock(1)).await.unwrap();
        second.run(lock(2)).await.unwrap();
        let (crossed, other) = tokio::join!(first.run(lock(2)), second.run(lock(1)));
        // The server chooses one of them.
        let (victim, error) = match (crossed, other) {
            (Err(error), Ok(_)) => (&mut first, error),
            (Ok(_), Err(error)) => (&mut second, error),
            both => panic!("{both:?}"),
        };
        assert_eq!(error.server().unwrap().code(), 1213);
        assert!(!victim.is_open());
        let insert = exec::<()>(table.insert(), (3,));
        let error = victim.run(insert).await.unwrap_err();
        assert!(matches!(error, Error::NoTransaction));
        drop((first, second));
        one.close().await;
        two.close().await;
        assert_eq!(table.committed(), [1, 2]);
    });
}

async fn lost_commit(server: &MySqlServer, lanes: &Lanes) {
    let table = Table::new(server, "lost");
    let proxy = FaultProxy::start(server.addr()).unwrap();
    let account = server.product().app();
    let through = || {
        arknet::mysql::Config::new(proxy.addr())
            .unwrap()
            .user(account.user)
            .password(account.password)
            .database("test")
            .fetch_server_key(true)
            .request_timeout(Some(PATIENCE))
    };
    // Packet header, command and COMMIT: eleven bytes.
    for (number, sent) in (0..).zip([0, 1, 5, 10, 11]) {
        let mut conn = Conn::connect(through(), lanes).await.unwrap();
        let mut transaction = conn.begin().await.unwrap();
        transaction
            .run(exec::<()>(table.insert(), (number,)))
            .await
            .unwrap();
        if sent < 11 {
            proxy.set(Direction::ToServer, Plan::cut_after(sent));
        } else {
            // The server has carried it out, and nobody gets more than a byte of its answer.
            proxy.set(Direction::ToClient, Plan::cut_after(1));
        }
        let error = transaction.commit().await.unwrap_err();
        let committed = table.committed().contains(&number);
        match error.outcome() {
            Outcome::NotSent => assert!(sent < 11, "{sent}: {error}"),
            Outcome::Unknown => {}
            Outcome::Replied => panic!("{sent}: nobody replied: {error}"),
        }
        assert_eq!(committed, sent == 11, "{sent} bytes of a COMMIT");
        drop(conn);
        proxy.set_both(Plan::pass(), Plan::pass());
    }
}

#[test]
fn a_commit_that_is_lost_is_unknown() {
    for product in Product::ALL {
        beside(product, lost_commit);
    }
}

#[test]
fn a_future_that_is_dropped_begins_nothing_that_lasts() {
    beside_all(async |server, lanes| {
        let table = Table::new(server, "dropped");
        let mut conn = Conn::connect(config(server), lanes).await.unwrap();
        for times in 0..4 {
            let begin = conn.begin();
            futures_util::pin_mut!(begin);
            for _ in 0..times {
                if futures_util::poll!(begin.as_mut()).is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        conn.run(exec::<()>(table.insert(), (1,))).await.unwrap();
        assert_eq!(table.committed(), [1]);
        let mut whole = conn.begin().await.unwrap();
        for times in 0..4 {
            let part = whole.savepoint();
            futures_util::pin_mut!(part);
            for _ in 0..times {
                if futures_util::poll!(part.as_mut()).is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        whole.run(exec::<()>(table.insert(), (2,))).await.unwrap();
        whole.commit().await.unwrap();
        assert_eq!(table.committed(), [1, 2]);
        conn.close().await;
    });
}
