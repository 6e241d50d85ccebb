//! A million rows, taken as they come: memory stays as it is, however many there are.
//!
//! ```sh
//! cargo run -p arknet --example mysql_stream -- mysql://app:secret@127.0.0.1/test
//! ```
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

use std::error::Error;

use arknet::Lanes;
use arknet::mysql::{Config, Conn, FromRow, exec};

/// Six digits make a million numbers.
const MILLION: &str = "WITH digits AS (SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 \
    UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) \
    SELECT a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d + 100000 * f.d, CONCAT('row ', a.d) \
    FROM digits a, digits b, digits c, digits d, digits e, digits f";

fn main() -> Result<(), Box<dyn Error>> {
    run(&std::env::args().nth(1).ok_or("needs the URL of a server")?)
}

pub(crate) fn run(url: &str) -> Result<(), Box<dyn Error>> {
    let lanes = Lanes::sharded(1)?;
    lanes.block_on(async {
        let mut conn = Conn::connect(Config::from_url(url)?, &lanes).await?;
        let mut rows = conn.stream(exec::<()>(MILLION, ()));
        // How a row is read is found out once; the text is borrowed from the receive buffer.
        let plan = <(u64, &str)>::plan(rows.columns().await?)?;
        let (mut count, mut sum, mut letters) = (0_u64, 0_u64, 0);
        rows.for_each(|row| {
            let (number, text): (u64, &str) = row.decode(&plan)?;
            count += 1;
            sum += number;
            letters += text.len();
            Ok(())
        })
        .await?;
        drop(rows);
        println!("{count} rows, {letters} letters, the numbers are {sum} together");
        assert_eq!((count, sum), (1_000_000, 499_999_500_000));
        conn.close().await;
        Ok(())
    })?
}
