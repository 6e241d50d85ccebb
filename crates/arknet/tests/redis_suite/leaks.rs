//! What a client took of the process, it gives back, in every cell.

use arknet::redis::{cmd, pipeline};
use arknet_testkit::leak::Snapshot;
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Product, RedisServer, Transport};

use crate::harness::{CELLS, Host, LIMIT};

fn exercise(cell: crate::harness::Cell) {
    let host = need!(Host::start(cell));
    let key = host.key("leak");
    host.run(cmd::<()>("SET").arg(&key).arg(vec![b'x'; 100_000]))
        .unwrap();
    let batch = pipeline().extend((0..100).map(|_| cmd::<Vec<u8>>("GET").arg(&key)));
    assert!(
        host.run(batch)
            .into_iter()
            .all(|value| value.unwrap().len() == 100_000)
    );
    assert!(host.run(cmd::<i64>("INCR").arg(&key)).is_err());
    host.finish();
}

/// One test, since it looks at the whole process.
#[test]
fn nothing_leaks_in_any_cell() {
    // They are there before the first look, so that the servers' own pipes and threads are none of the leaks.
    let _open = need!(RedisServer::shared(Product::Redis, Transport::Tcp));
    let _strict = need!(RedisServer::shared(Product::Redis, Transport::Mtls));
    for cell in CELLS {
        exercise(*cell);
        let before = Snapshot::take();
        exercise(*cell);
        exercise(*cell);
        before.assert_no_leaks(LIMIT);
    }
}
