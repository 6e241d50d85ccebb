//! Who runs: a name, a style, and how to run it once.
//!
//! To add a rival, write a function from a load to a sample and add a line here.

use crate::failure::Failure;
use crate::load::{Load, Protocol};
use crate::machine::{lab, tls};
use crate::sample::Sample;

/// Whose figures stand above the line of a ratio, and whose below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// arknet's own endpoints.
    Ours,
    /// Somebody else's way to do the same.
    Peer,
}

/// How its user writes programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Functions that the library calls.
    Callback,
    /// Tasks or coroutines.
    Async,
}

/// How a variant is run once.
#[derive(Clone, Copy, Debug)]
pub(crate) enum How {
    /// By a function, in a fresh process of this binary.
    Here(fn(&Load) -> Result<Sample, Failure>),
    /// By the Boost.Asio program, in this style.
    Asio(&'static str),
    /// Not on this machine, for this reason.
    #[cfg_attr(
        target_os = "linux",
        allow(dead_code, reason = "everything runs on Linux")
    )]
    Nowhere(&'static str),
}

/// One way to run a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variant {
    /// The name in the output.
    pub(crate) name: &'static str,
    pub(crate) side: Side,
    pub(crate) style: Style,
    /// Whether it can run on several threads.
    pub(crate) threads: bool,
    pub(crate) how: How,
}

const fn ours(
    name: &'static str,
    style: Style,
    run: fn(&Load) -> Result<Sample, Failure>,
) -> Variant {
    Variant {
        name,
        side: Side::Ours,
        style,
        threads: true,
        how: How::Here(run),
    }
}

const fn peer(name: &'static str, style: Style, threads: bool, how: How) -> Variant {
    Variant {
        name,
        side: Side::Peer,
        style,
        threads,
        how,
    }
}

#[cfg(target_os = "linux")]
const EPOLL: How = How::Here(crate::machine::epoll::run);
#[cfg(not(target_os = "linux"))]
const EPOLL: How = How::Nowhere("epoll is Linux's");

const TCP: &[Variant] = &[
    ours("callback", Style::Callback, lab::tcp_callback),
    ours("async", Style::Async, lab::tcp_async),
    peer("epoll", Style::Callback, false, EPOLL),
    peer("mio", Style::Callback, true, How::Here(lab::mio)),
    peer("tokio", Style::Async, true, How::Here(lab::tokio)),
    peer(
        "asio-callback",
        Style::Callback,
        true,
        How::Asio("callback"),
    ),
    peer("asio-coroutine", Style::Async, true, How::Asio("coroutine")),
];

const TLS: &[Variant] = &[
    ours("callback", Style::Callback, lab::tls_callback),
    ours("async", Style::Async, lab::tls_async),
    peer(
        "tokio-rustls",
        Style::Async,
        false,
        How::Here(tls::run_plain),
    ),
    peer(
        "tokio-rustls-buffered",
        Style::Async,
        false,
        How::Here(tls::run_buffered),
    ),
];

impl Variant {
    /// Every variant of a protocol, ours first.
    pub(crate) fn all(protocol: Protocol) -> &'static [Self] {
        match protocol {
            Protocol::Tcp => TCP,
            Protocol::Tls => TLS,
        }
    }

    /// Whether ours is compared with this peer under the load. On one thread everybody is compared
    /// with everybody; on several, each style with its own, because there the style decides how
    /// the work is spread.
    pub(crate) fn meets(&self, peer: &Self, load: &Load) -> bool {
        load.threads == 1 || self.style == peer.style
    }
}
