//! The table of types: one row is the same in text and in binary, and what goes in comes out.

use arknet_proto::mysql::Kind;
use arknet_proto::mysql::command;
use arknet_proto::mysql::format::{Dialect, FormatError, format};
use arknet_proto::mysql::value::{Date, DateTime, Decimal, Time, Value};

use super::driver::{Driver, MAX_PACKET};

const SETUP: &[&str] = &[
    "SET sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+00:00'",
    "CREATE TABLE types (
        i1 TINYINT, u1 TINYINT UNSIGNED, i2 SMALLINT, u2 SMALLINT UNSIGNED, i3 MEDIUMINT, u3 MEDIUMINT UNSIGNED,
        i4 INT, u4 INT UNSIGNED, i8 BIGINT, u8 BIGINT UNSIGNED, zf INT(8) UNSIGNED ZEROFILL,
        f FLOAT, d DOUBLE, n DECIMAL(65,30), y YEAR,
        dt DATE, dtm DATETIME(6), ts TIMESTAMP(3) NULL, t TIME(6),
        b1 BIT(1), b64 BIT(64), c CHAR(10), vc VARCHAR(50), bi BINARY(4), vb VARBINARY(50), tx TEXT, bl BLOB,
        e ENUM('red','grün'), s SET('a','b','c'), j JSON, g GEOMETRY, bo BOOL,
        vbin VARCHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, lt LONGTEXT, lb LONGBLOB, dt0 DATETIME, t0 TIME
    ) CHARACTER SET utf8mb4",
    "INSERT INTO types VALUES (
        -128, 255, -32768, 65535, -8388608, 16777215, -2147483648, 4294967295, -9223372036854775808,
        18446744073709551615, 42, 1.1, 2.2250738585072014e-308,
        -99999999999999999999999999999999999.999999999999999999999999999999, 2024,
        '2024-02-29', '2024-02-29 23:59:59.999999', '2024-02-29 23:59:59.123', '-838:59:59',
        b'1', 0xffffffffffffffff, 'char', 'naïve ☃ 𝄞', 'ab', x'00ff', 'text', x'00ff00',
        'grün', 'a,c', '{\"a\": 1}', POINT(1, 2), TRUE, 'bin', REPEAT('l', 300), REPEAT('b', 70000),
        '2024-02-29 12:00:00', '12:34:56')",
    "INSERT INTO types (dt, dtm, t, i1, u1, f, d, y, b64, dt0, t0) VALUES (
        '0000-00-00', '0000-00-00 00:00:00', '00:00:00', 0, 0, 0, 0, 0, 0, '2024-02-29', '-00:00:01')",
    "INSERT INTO types (dt, dtm, t, vc, f, d) VALUES (
        '2016-07-00', '2016-00-00 00:00:01', '838:59:58.999999', '', -3.40282e38, 1.7976931348623157e308)",
    "INSERT INTO types (dt, dtm, t) VALUES ('2023-02-31', '2024-02-29 00:00:00.000001', '00:00:00.000001')",
    "INSERT INTO types () VALUES ()",
];

pub(crate) fn text_equals_binary(client: &mut Driver) {
    for sql in SETUP {
        let done = client.query(sql).unwrap();
        let expected = if sql.starts_with("CREATE") {
            done[0].warnings
        } else {
            0
        };
        assert_eq!(
            done[0].warnings,
            expected,
            "{:?} {sql}",
            client.query("SHOW WARNINGS").unwrap()[0].values()
        );
    }
    let text = client.query("SELECT * FROM types").unwrap().remove(0);
    let statement = client.prepare("SELECT * FROM types").unwrap();
    let binary = client.execute(&statement, ()).unwrap().remove(0);
    let (text_rows, binary_rows) = (text.values(), binary.values());
    assert_eq!(text_rows.len(), 5);
    let columns = text.columns.unwrap();
    for (row, (text, binary)) in text_rows.iter().zip(&binary_rows).enumerate() {
        for (at, (text, binary)) in text.iter().zip(binary).enumerate() {
            let name = String::from_utf8_lossy(columns.get(at).unwrap().name());
            assert_eq!(text, binary, "row {row}, column {name}");
        }
    }
    let of = |row: usize, name: &str| &text_rows[row][columns.index_of(name).unwrap()];
    let kind = |name: &str| columns.get(columns.index_of(name).unwrap()).unwrap().kind();
    let text = |text: &str| Value::Text(text.into());
    for (name, value) in [
        ("i1", Value::Int(-128)),
        ("u1", Value::Uint(255)),
        ("i3", Value::Int(-8_388_608)),
        ("u3", Value::Uint(16_777_215)),
        ("i8", Value::Int(i64::MIN)),
        ("u8", Value::Uint(u64::MAX)),
        ("zf", Value::Uint(42)),
        ("f", Value::Float(1.1)),
        ("d", Value::Double(f64::MIN_POSITIVE)),
        (
            "n",
            Value::Decimal(
                Decimal::new("-99999999999999999999999999999999999.999999999999999999999999999999")
                    .unwrap(),
            ),
        ),
        ("y", Value::Uint(2024)),
        ("dt", Value::Date(Date::new(2024, 2, 29).unwrap())),
        (
            "ts",
            Value::DateTime(
                DateTime::new(Date::new(2024, 2, 29).unwrap(), 23, 59, 59, 123_000).unwrap(),
            ),
        ),
        ("t", Value::Time(Time::new(true, 838, 59, 59, 0).unwrap())),
        ("b1", Value::Uint(1)),
        ("b64", Value::Uint(u64::MAX)),
        ("vc", text("naïve ☃ 𝄞")),
        ("bi", Value::Bytes(b"ab\0\0".to_vec())),
        ("bl", Value::Bytes(b"\0\xff\0".to_vec())),
        ("e", text("grün")),
        ("s", text("a,c")),
        ("j", text("{\"a\": 1}")),
        ("vbin", text("bin")),
        ("bo", Value::Int(1)),
    ] {
        assert_eq!(of(0, name), &value, "{name}");
    }
    assert_eq!(of(1, "dt"), &Value::Date(Date::default()));
    assert_eq!(of(1, "dtm"), &Value::DateTime(DateTime::default()));
    assert_eq!(
        of(1, "t0"),
        &Value::Time(Time::new(true, 0, 0, 1, 0).unwrap())
    );
    assert_eq!(of(2, "dt"), &Value::Date(Date::new(2016, 7, 0).unwrap()));
    assert_eq!(of(3, "dt"), &Value::Date(Date::new(2023, 2, 31).unwrap()));
    assert!(text_rows[4].iter().all(Value::is_null));
    assert_eq!(
        (kind("g"), kind("bl"), kind("tx"), kind("vbin")),
        (Kind::Bytes, Kind::Bytes, Kind::Text, Kind::Text)
    );
    null_bitmaps(client);
}

/// The bits of a binary row begin at the third, so that widths around 6 and 14 are where it can go wrong.
fn null_bitmaps(client: &mut Driver) {
    for width in [1, 5, 6, 7, 8, 13, 14, 15_usize] {
        for null in [0, width / 2, width - 1] {
            let cell = |at| {
                if at == null {
                    "NULL".into()
                } else {
                    format!("{at}")
                }
            };
            let cells: Vec<_> = (0..width).map(cell).collect();
            let sql = format!("SELECT {}", cells.join(", "));
            let statement = client.prepare(&sql).unwrap();
            let binary = client.execute(&statement, ()).unwrap()[0].values();
            assert_eq!(binary, client.query(&sql).unwrap()[0].values());
            assert!(binary[0][null].is_null());
        }
    }
}

pub(crate) fn parameters_come_back(client: &mut Driver) {
    client
        .query("SET sql_mode = 'ALLOW_INVALID_DATES'")
        .unwrap();
    client
        .query(
            "CREATE TABLE params (i BIGINT, u BIGINT UNSIGNED, f FLOAT, d DOUBLE, n DECIMAL(30,10), c VARCHAR(50),
             b VARBINARY(50), dt DATE, dtm DATETIME(6), t TIME(6)) CHARACTER SET utf8mb4",
        )
        .unwrap();
    let insert = client
        .prepare("INSERT INTO params VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .unwrap();
    let day = Date::new(2024, 2, 29).unwrap();
    let rows = [
        vec![
            Value::Int(i64::MIN),
            Value::Uint(u64::MAX),
            Value::Float(1.5),
            Value::Double(1e300),
            Value::Decimal(Decimal::new("-12345678901234567890.0123456789").unwrap()),
            Value::Text("☃ 'quoted' \\ \0".into()),
            Value::Bytes(b"\0\xff'\\".to_vec()),
            Value::Date(day),
            Value::DateTime(DateTime::new(day, 23, 59, 59, 999_999).unwrap()),
            Value::Time(Time::new(true, 838, 59, 59, 0).unwrap()),
        ],
        vec![
            Value::Int(0),
            Value::Uint(0),
            Value::Float(0.0),
            Value::Double(-0.5),
            Value::Decimal(Decimal::new("0.0000000000").unwrap()),
            Value::Text(String::new()),
            Value::Bytes(Vec::new()),
            Value::Date(Date::default()),
            Value::DateTime(DateTime::default()),
            Value::Time(Time::default()),
        ],
        vec![Value::Null; 10],
    ];
    for row in &rows {
        client.execute(&insert, row).unwrap();
    }
    assert_eq!(
        client.query("SELECT * FROM params").unwrap()[0].values(),
        rows
    );
}

/// What is written into a statement is what would have been bound, in both dialects.
pub(crate) fn formatted_equals_bound(client: &mut Driver) {
    for mode in ["", "NO_BACKSLASH_ESCAPES"] {
        client.query(&format!("SET sql_mode = '{mode}'")).unwrap();
        client.query("DO 0").unwrap();
        let dialect = Dialect::of(client.conversation.status());
        assert_eq!(dialect.backslash_escapes, mode.is_empty());
        for text in [
            "",
            "'",
            "\\",
            "\\'",
            "''",
            "\0",
            "%_\n\r\x1a\"`?",
            "☃ -- # /* 𝄞 */",
            "\\x'00'",
        ] {
            let params = (
                text,
                text.as_bytes(),
                -1.5_f64,
                i64::MIN,
                u64::MAX,
                None::<&str>,
            );
            let sql = "SELECT ?, ?, ?, ?, ?, ?, '?', \"?\" -- ?";
            client.send(|wire| {
                let fill = |wire: &mut Vec<u8>| format(wire, sql, &params, dialect);
                vec![command::query_with::<FormatError>(wire, MAX_PACKET, fill).unwrap()]
            });
            let formatted = client.answer().unwrap()[0].values();
            let statement = client.prepare(sql).unwrap();
            let bound = client.execute(&statement, params).unwrap()[0].values();
            let text = Value::Text(text.into());
            assert_eq!((&formatted[0][0], &bound[0][0]), (&text, &text), "{mode}");
            assert_eq!(formatted[0][1], bound[0][1], "{mode}");
            assert_eq!(formatted[0][2], Value::Double(-1.5));
            assert_eq!(
                (&formatted[0][3], &formatted[0][4]),
                (&Value::Int(i64::MIN), &Value::Uint(u64::MAX))
            );
            assert!(formatted[0][5].is_null());
        }
    }
}

pub(crate) fn vectors(client: &mut Driver) {
    client
        .query("CREATE TABLE vectors (v VECTOR(3) NOT NULL)")
        .unwrap();
    let insert = client.prepare("INSERT INTO vectors VALUES (?)").unwrap();
    let bytes: Vec<u8> = [1.0_f32, -2.5, 3.25]
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    client.execute(&insert, (&bytes,)).unwrap();
    let select = client.prepare("SELECT * FROM vectors").unwrap();
    let binary = client.execute(&select, ()).unwrap()[0].values();
    assert_eq!(
        binary,
        client.query("SELECT * FROM vectors").unwrap()[0].values()
    );
    assert_eq!(binary, [[Value::Bytes(bytes)]]);
}
