//! What the server is given before a run, by the launcher's own client, so that no library has a part
//! in it.

use arknet_testkit::servers::mysql::MySqlServer;

/// Rows of the table that is scanned.
pub(crate) const ROWS: u64 = 1_000_000;

/// What a scan asks for: a `BIGINT UNSIGNED`, a `BIGINT`, a `VARCHAR(37)` of 20 letters, a `DOUBLE`.
pub(crate) const SCAN: &str = "SELECT id, delta, name, ratio FROM test.scan";

/// The sum of all of a whole scan's ids.
pub(crate) const SUM: u64 = ROWS * (ROWS + 1) / 2;

/// Doublings of one row that make more rows than are wanted.
const DOUBLINGS: u32 = 20;

/// Makes the table.
///
/// # Panics
///
/// When the server refuses.
pub(crate) fn sow(server: &MySqlServer) {
    server.sql(
        "CREATE TABLE test.scan (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, \
         delta BIGINT NOT NULL, name VARCHAR(37) NOT NULL, ratio DOUBLE NOT NULL)",
    );
    server.sql("CREATE TABLE test.two (n INT)");
    server.sql("INSERT INTO test.two VALUES (0), (1)");
    let joined = (0..DOUBLINGS).map(|n| format!("test.two t{n}"));
    let joined = joined.collect::<Vec<_>>().join(", ");
    server.sql("SET @n := 0");
    let filled = server.sql(&format!(
        "INSERT INTO test.scan SELECT @n := @n + 1, 7 - @n, CONCAT('name-', LPAD(@n, 15, '0')), \
         @n * 0.37 FROM {joined} LIMIT {ROWS}"
    ));
    assert_eq!(filled.affected_rows, ROWS, "the rows of the table");
}
