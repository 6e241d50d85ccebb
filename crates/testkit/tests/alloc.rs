//! The counting allocator, in a process of its own: a single test, so that nothing else allocates.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::hint::black_box;
use std::time::Duration;

use arknet_testkit::alloc::{self, Counting, counts, measure};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn counts_what_is_taken_given_back_and_held() {
    assert!(alloc::installed());
    // The harness's own thread still books this test as started.
    assert!(alloc::wait_until_quiet(
        Duration::from_millis(20),
        Duration::from_secs(10)
    ));

    let nothing = measure(|| black_box(1 + 1));
    assert_eq!(
        (nothing.allocations, nothing.frees, nothing.live_bytes),
        (0, 0, 0)
    );
    assert_eq!(nothing.peak_bytes, 0);

    let transient = measure(|| drop(black_box(vec![1_u8; 4_096])));
    assert_eq!((transient.allocations, transient.frees), (1, 1));
    assert_eq!(
        (transient.allocated_bytes, transient.live_bytes),
        (4_096, 0)
    );
    assert_eq!(transient.peak_bytes, 4_096);

    let kept = measure(|| black_box(vec![0_u8; 1_000]));
    assert_eq!(
        (kept.allocations, kept.live_bytes),
        (1, 1_000),
        "what is returned is still held"
    );

    let grown = measure(|| {
        let mut bytes: Vec<u8> = Vec::with_capacity(100);
        bytes.push(black_box(1));
        bytes.reserve_exact(999);
        assert_eq!(bytes.capacity(), 1_000);
    });
    assert_eq!(
        (grown.allocations, grown.frees),
        (2, 1),
        "a reallocation is an allocation"
    );
    assert_eq!((grown.allocated_bytes, grown.live_bytes), (1_100, 0));

    let held = black_box(vec![1_u8; 500]);
    let freed = measure(move || drop(held));
    assert_eq!((freed.live_bytes, freed.peak_bytes), (-500, 0));

    let busy = std::thread::spawn(|| {
        for _ in 0..20 {
            drop(black_box(Box::new(0_u8)));
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let never = Duration::ZERO;
    assert!(
        !alloc::wait_until_quiet(Duration::from_millis(10), never),
        "somebody allocates"
    );
    busy.join().unwrap();

    // Another thread's allocations are the process's too.
    let before = counts();
    let far = std::thread::spawn(|| black_box(vec![1_u8; 100_000]))
        .join()
        .unwrap();
    assert!(counts().since(&before).live_bytes >= 100_000);
    drop(far);
}
