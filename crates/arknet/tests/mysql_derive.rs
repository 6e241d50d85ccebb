//! What `#[derive(FromRow)]` makes of rows, in text and in binary.
#![cfg(not(miri))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use arknet::Lanes;
use arknet::mysql::{Config, Conn, Error, Fault, FromResult, FromRow, exec, query};
use arknet_testkit::mysql::{EmbeddedServer, Options};

/// What the answer to a statement is read as, in each form that a server has for it.
fn read<T: FromResult + 'static>(sql: &'static str) -> [Result<T, Error>; 2] {
    on_a_connection(async |conn| [conn.run(query(sql)).await, conn.run(exec(sql, ())).await])
}

fn on_a_connection<T>(story: impl AsyncFn(&mut Conn) -> T) -> T {
    let server = EmbeddedServer::start(Options::default()).unwrap();
    let lanes = Lanes::sharded(1).unwrap();
    let story = async {
        let config = Config::new(server.addr()).unwrap();
        let mut conn = Conn::connect(config, &lanes).await.unwrap();
        let told = story(&mut conn).await;
        conn.close().await;
        told
    };
    lanes.block_on(story).unwrap()
}

fn gives<T: FromResult + PartialEq + std::fmt::Debug + 'static>(sql: &'static str, expected: &T) {
    for read in read::<T>(sql) {
        assert_eq!(&read.unwrap(), expected, "{sql}");
    }
}

fn fault<T: FromResult + std::fmt::Debug + 'static>(sql: &'static str) -> Fault {
    let [text, binary] = read::<T>(sql).map(|read| match read.unwrap_err() {
        Error::Decode(error) => error.fault().clone(),
        other => panic!("{other}"),
    });
    assert_eq!(text, binary);
    text
}

#[derive(Debug, PartialEq, FromRow)]
struct User {
    id: u64,
    #[mysql(rename = "full name")]
    name: String,
    email: Option<String>,
    #[mysql(default)]
    visits: u32,
    #[mysql(skip)]
    cached: bool,
    r#type: String,
}

fn ada() -> User {
    User {
        id: 7,
        name: "Ada".to_owned(),
        email: None,
        visits: 0,
        cached: false,
        r#type: "admin".to_owned(),
    }
}

#[test]
fn fields_are_filled_by_the_columns_of_their_names() {
    let sql = "SELECT 'admin' AS type, 1.5 AS other, NULL AS email, 7 AS id, 'Ada' AS `full name`";
    gives(sql, &vec![ada()]);
    gives(sql, &Some(ada()));
    let visited = User {
        visits: 3,
        email: Some("a@b".to_owned()),
        ..ada()
    };
    gives(
        "SELECT 3 AS visits, 7 AS id, 'Ada' AS `full name`, 'a@b' AS email, 'admin' AS type",
        &Some(visited),
    );
}

#[test]
fn a_column_that_is_missing_is_named() {
    let missing = fault::<Vec<User>>("SELECT 7 AS id, 'Ada' AS `full name`, 'admin' AS type");
    assert_eq!(missing.to_string(), "no column is called `email`");
    // Names are compared as they are written.
    let other = fault::<Vec<User>>("SELECT 7 AS ID, 'Ada' AS `full name`, '' AS email, '' AS type");
    assert_eq!(other.to_string(), "no column is called `id`");
}

#[test]
fn a_column_of_another_type_is_an_error_before_any_row_is_read() {
    let sql = "SELECT 'seven' AS id, 'Ada' AS `full name`, NULL AS email, 'admin' AS type";
    let wrong = fault::<Vec<User>>(sql);
    assert!(matches!(wrong, Fault::Cell { column: 0, .. }), "{wrong}");
    let sql = "SELECT 7 AS id, 'Ada' AS `full name`, NULL AS email, 'x' AS type, 'many' AS visits";
    let wrong = fault::<Vec<User>>(sql);
    assert!(matches!(wrong, Fault::Cell { column: 4, .. }), "{wrong}");
}

#[test]
fn a_value_that_does_not_fit_is_an_error() {
    let sql = "SELECT -7 AS id, 'Ada' AS `full name`, NULL AS email, 'admin' AS type";
    let wrong = fault::<Vec<User>>(sql);
    assert_eq!(
        wrong.to_string(),
        "column 0 (BIGINT) as u64: the value is out of range"
    );
    let sql = "SELECT 7 AS id, NULL AS `full name`, NULL AS email, 'admin' AS type";
    assert!(
        fault::<Vec<User>>(sql)
            .to_string()
            .ends_with("the value is NULL")
    );
}

#[derive(Debug, PartialEq, FromRow)]
#[mysql(rename_all = "camelCase")]
struct Renamed {
    first_name: String,
    last_login: i64,
}

#[test]
fn names_are_spelled_as_the_table_has_them() {
    let renamed = Renamed {
        first_name: "Ada".to_owned(),
        last_login: -1,
    };
    gives("SELECT -1 AS lastLogin, 'Ada' AS firstName", &Some(renamed));
}

#[derive(Debug, PartialEq, FromRow)]
struct Place(f64, f64, Option<String>);

#[derive(Debug, PartialEq, FromRow)]
struct Total(u64);

#[test]
fn a_tuple_structure_is_made_of_columns_in_their_order() {
    gives("SELECT 1.5e0, -2e0, NULL", &Some(Place(1.5, -2.0, None)));
    gives("SELECT 42", &Some(Total(42)));
    gives(
        "SELECT seq FROM seq_1_to_3",
        &vec![Total(1), Total(2), Total(3)],
    );
    let wrong = fault::<Vec<Place>>("SELECT 1.5e0");
    assert_eq!(
        wrong,
        Fault::Columns {
            expected: 3,
            found: 1
        }
    );
}

#[derive(Debug, PartialEq, FromRow)]
struct Pair<T, const N: usize> {
    first: T,
    second: Option<T>,
}

#[derive(Debug, PartialEq, FromRow)]
struct Twins {
    #[mysql(rename = "n")]
    older: u8,
    #[mysql(rename = "n")]
    younger: u8,
}

#[test]
fn structures_take_types_and_columns_of_one_name_come_in_order() {
    let pair = Pair::<String, 0> {
        first: "a".to_owned(),
        second: None,
    };
    gives("SELECT NULL AS second, 'a' AS first", &Some(pair));
    gives(
        "SELECT 1 AS n, 2 AS n",
        &Some(Twins {
            older: 1,
            younger: 2,
        }),
    );
}

#[derive(Debug, PartialEq, FromRow)]
struct Borrowed<'r> {
    id: i32,
    text: &'r str,
    bytes: Option<&'r [u8]>,
}

#[test]
fn what_borrows_is_read_from_the_row_where_it_lies() {
    let read = on_a_connection(async |conn| {
        let sql = "SELECT 1 AS id, 'text' AS text, x'00ff' AS bytes FROM seq_1_to_5";
        let mut rows = conn.stream(query::<()>(sql));
        let plan = Borrowed::plan(rows.columns().await.unwrap()).unwrap();
        let mut read = 0;
        while let Some(row) = rows.next().await.unwrap() {
            let borrowed: Borrowed<'_> = row.decode(&plan).unwrap();
            let expected = Borrowed {
                id: 1,
                text: "text",
                bytes: Some(&[0, 255]),
            };
            assert_eq!(borrowed, expected);
            read += 1;
        }
        read
    });
    assert_eq!(read, 5);
}
