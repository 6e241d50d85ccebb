//! Looking for work for a while before a lane sleeps.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Poll, Waker};
use std::time::Duration;

thread_local! {
    /// Turns that connections took on this lane.
    static TURNS: Cell<u64> = const { Cell::new(0) };
    /// The spinner, while it sleeps.
    static SLEEPING: RefCell<Option<Waker>> = const { RefCell::new(None) };
    static SPINS: Cell<bool> = const { Cell::new(false) };
}

/// Tells the lane's spinner that there was work.
#[inline]
pub(crate) fn worked() {
    if SPINS.get() {
        TURNS.set(TURNS.get().wrapping_add(1));
        if let Some(waker) = SLEEPING.take() {
            waker.wake();
        }
    }
}

/// Keeps the lane awake for `duration` after the last work. While it yields, the scheduler looks at its sockets without
/// sleeping.
pub(super) async fn spin(duration: Duration) {
    SPINS.set(true);
    loop {
        let mut seen = TURNS.get();
        let mut until = crate::io::after(duration);
        loop {
            tokio::task::yield_now().await;
            let turns = TURNS.get();
            let now = crate::io::now();
            if turns != seen {
                seen = turns;
                until = crate::io::after(duration);
            } else if now >= until {
                break;
            }
        }
        sleep_until_work(seen).await;
    }
}

async fn sleep_until_work(seen: u64) {
    poll_fn(|cx| {
        if TURNS.get() != seen {
            return Poll::Ready(());
        }
        SLEEPING.set(Some(cx.waker().clone()));
        Poll::Pending
    })
    .await;
}
