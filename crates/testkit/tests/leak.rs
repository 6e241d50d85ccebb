//! The leak check, in a process of its own: a single test, so that nothing else opens files.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

use std::hint::black_box;
use std::net::TcpListener;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use arknet_testkit::alloc::{self, Counting};
use arknet_testkit::leak::{Slack, Snapshot};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Long enough for the kernel to take an ended thread out of `/proc`.
const PATIENCE: Duration = Duration::from_secs(5);

/// The check must fail before this; nothing will change while it waits.
const IMPATIENCE: Duration = Duration::from_millis(20);

#[test]
fn finds_files_threads_and_memory_and_nothing_else() {
    // The harness's own thread still books this test as started.
    assert!(alloc::wait_until_quiet(IMPATIENCE, PATIENCE));
    let before = Snapshot::take();
    before.assert_no_leaks(PATIENCE);
    assert!(
        before
            .leaks(Slack {
                heap: 0,
                resident: 0
            })
            .is_empty(),
        "it finds no leak in itself"
    );

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let report = failure(&before);
    assert!(
        report.contains("file descriptor") && report.contains("socket:["),
        "{report}"
    );
    drop(listener);
    before.assert_no_leaks(PATIENCE);

    let (release, held) = mpsc::channel::<()>();
    let worker = thread::Builder::new()
        .name("leaked-worker".to_owned())
        .spawn(move || held.recv().unwrap_err())
        .unwrap();
    let report = failure(&before);
    assert!(report.contains("\"leaked-worker\""), "{report}");
    drop(release);
    worker.join().unwrap();
    before.assert_no_leaks(PATIENCE);

    let memory = black_box(vec![1_u8; 100_000]);
    let report = failure(&before);
    assert!(report.contains("more heap bytes"), "{report}");
    before.assert_no_leaks_beyond(
        PATIENCE,
        Slack {
            heap: 200_000,
            ..Slack::default()
        },
    );
    drop(memory);
    before.assert_no_leaks(PATIENCE);

    // It waits for what is on its way out.
    let late = TcpListener::bind("127.0.0.1:0").unwrap();
    let closer = thread::spawn(move || {
        thread::sleep(IMPATIENCE);
        drop(late);
    });
    before.assert_no_leaks(PATIENCE);
    closer.join().unwrap();
}

/// What the check says when it panics.
fn failure(before: &Snapshot) -> String {
    let check = || before.assert_no_leaks(IMPATIENCE);
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let caught = panic::catch_unwind(AssertUnwindSafe(check));
    panic::set_hook(hook);
    *caught.unwrap_err().downcast::<String>().unwrap()
}
