//! Counting what the whole process allocates.
//!
//! A test binary that wants figures installs the allocator once; without it every figure here is
//! zero and [`installed`] says so:
//!
//! ```
//! use arknet_testkit::alloc;
//!
//! #[global_allocator]
//! static ALLOCATOR: alloc::Counting = alloc::Counting;
//!
//! fn main() {
//!     let counts = alloc::measure(|| drop(vec![0_u8; 4096]));
//!     assert!(counts.allocations >= 1 && counts.allocated_bytes >= 4096);
//! }
//! ```
//!
//! The counters belong to the process, not to a thread, because a library that hands work to
//! lanes would otherwise hide its allocations there. So the figures are only exact where nothing
//! else runs: one test per test binary, or a process per test (`cargo nextest`), after
//! [`wait_until_quiet`].

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// Calls of `alloc`, `alloc_zeroed` and `realloc`.
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
/// Calls of `dealloc`.
static FREES: AtomicU64 = AtomicU64::new(0);
/// Bytes asked for, ever.
static ALLOCATED: AtomicU64 = AtomicU64::new(0);
/// Bytes asked for and not given back.
static LIVE: AtomicU64 = AtomicU64::new(0);
/// The largest `LIVE` since the process began or [`reset_peak`].
static PEAK: AtomicU64 = AtomicU64::new(0);

/// The system's allocator with counters; see the [module](self) for how to install it.
///
/// Each call costs a few relaxed atomic additions on shared cache lines, so a timed benchmark
/// should not carry it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counting;

// SAFETY: every call is passed on to `System` unchanged and its answer is returned unchanged, so
// `System`'s guarantees are ours. The counters are atomics: they neither allocate nor unwind.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises about `layout` are passed on.
        let pointer = unsafe { System.alloc(layout) };
        grown(pointer, 0, layout.size());
        pointer
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        let pointer = unsafe { System.alloc_zeroed(layout) };
        grown(pointer, 0, layout.size());
        pointer
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: `pointer` came from `System` through this allocator, with this `layout`, and
        // the caller's promises about `size` are passed on.
        let pointer = unsafe { System.realloc(pointer, layout, size) };
        grown(pointer, layout.size(), size);
        pointer
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `System` through this allocator, with this `layout`.
        unsafe { System.dealloc(pointer, layout) };
        FREES.fetch_add(1, Relaxed);
        LIVE.fetch_sub(layout.size() as u64, Relaxed);
    }
}

/// What the process allocated: absolute from [`counts`], a difference from [`measure`] and
/// [`Counts::since`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Allocations, a reallocation counted as one.
    pub allocations: u64,
    /// Deallocations.
    pub frees: u64,
    /// Bytes asked for, with the new size of each reallocation.
    pub allocated_bytes: u64,
    /// Bytes held; in a difference, negative when more was given back than taken.
    pub live_bytes: i64,
    /// The largest number of bytes held at once; in a difference, above what was held at its
    /// beginning. It is exact to the races between threads.
    pub peak_bytes: u64,
}

impl Counts {
    /// What happened between `earlier` and this.
    ///
    /// `peak_bytes` reaches back to the process's beginning unless [`reset_peak`] was called when
    /// `earlier` was taken.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let held = u64::try_from(earlier.live_bytes).unwrap_or(0);
        Self {
            allocations: self.allocations.wrapping_sub(earlier.allocations),
            frees: self.frees.wrapping_sub(earlier.frees),
            allocated_bytes: self.allocated_bytes.wrapping_sub(earlier.allocated_bytes),
            live_bytes: self.live_bytes.wrapping_sub(earlier.live_bytes),
            peak_bytes: self.peak_bytes.saturating_sub(held),
        }
    }
}

/// The counters now, since the process began; all zero without [`Counting`].
#[must_use]
pub fn counts() -> Counts {
    Counts {
        allocations: ALLOCATIONS.load(Relaxed),
        frees: FREES.load(Relaxed),
        allocated_bytes: ALLOCATED.load(Relaxed),
        live_bytes: LIVE.load(Relaxed).cast_signed(),
        peak_bytes: PEAK.load(Relaxed),
    }
}

/// Runs `work` and says what the process allocated meanwhile.
///
/// What `work` returns is dropped after the counters are read, so `live_bytes` tells its size.
/// The peak begins anew with the call: two measurements at once disturb each other's peak.
pub fn measure<T>(work: impl FnOnce() -> T) -> Counts {
    reset_peak();
    let before = counts();
    let kept = work();
    let after = counts();
    drop(kept);
    after.since(&before)
}

/// Waits until the process has allocated and freed nothing for `quiet`, and says whether that
/// came `within`.
///
/// A test harness still books a test as started while the test runs already, and a runtime's
/// threads still set themselves up: exact figures begin after that.
#[must_use]
pub fn wait_until_quiet(quiet: Duration, within: Duration) -> bool {
    let end = Instant::now() + within;
    loop {
        let before = counts();
        thread::sleep(quiet);
        let now = counts();
        if (now.allocations, now.frees) == (before.allocations, before.frees) {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
    }
}

/// Lets the peak begin anew at what is held now.
pub fn reset_peak() {
    PEAK.store(LIVE.load(Relaxed), Relaxed);
}

/// Whether [`Counting`] is this process's global allocator.
#[must_use]
pub fn installed() -> bool {
    // The runtime allocates before `main`; a boxed byte makes it certain.
    drop(std::hint::black_box(Box::new(0_u8)));
    ALLOCATIONS.load(Relaxed) > 0
}

/// Books an allocation that turned `from` bytes into `to`; a failed one changed nothing.
fn grown(pointer: *mut u8, from: usize, to: usize) {
    if pointer.is_null() {
        return;
    }
    let (from, to) = (from as u64, to as u64);
    ALLOCATIONS.fetch_add(1, Relaxed);
    ALLOCATED.fetch_add(to, Relaxed);
    // One addition that wraps, so that no moment exists in which the old size is missing.
    let change = to.wrapping_sub(from);
    let live = LIVE.fetch_add(change, Relaxed).wrapping_add(change);
    PEAK.fetch_max(live, Relaxed);
}
