//! Large values pass both ways, whole, and what follows them is not disturbed.

use arknet::redis::cmd;

use crate::harness::{Host, bytes};

in_every_cell![large_values_pass_whole];

fn large_values_pass_whole(host: &Host) {
    let key = host.key("large");
    for size in [16 * 1024, 1 << 20, 5_000_001] {
        let value = bytes(size);
        host.run(cmd::<()>("SET").arg(&key).arg(&value)).unwrap();
        assert!(
            host.run(cmd::<Vec<u8>>("GET").arg(&key)).unwrap() == value,
            "{size} bytes"
        );
        assert_eq!(host.run(cmd::<usize>("STRLEN").arg(&key)).unwrap(), size);
    }
    host.run(cmd::<()>("DEL").arg(&key)).unwrap();
}
