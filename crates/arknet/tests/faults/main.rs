//! What goes wrong on the way, or at the other end, and what both ends make of it.
//!
//! `proxy_*` breaks connections with the fault proxy, in every cell of {tcp, tcps} × {callbacks, async} × {sharded 4,
//! manual}; `tls_*` shows the promises of TLS on real sockets; `peers_*` lets programs that share no code with arknet
//! talk to it. Every story ends with a look at what the lanes, and the process, still hold.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]

/// A test for each cell of stories that take one.
macro_rules! in_every_cell {
    ($($story:ident),+ $(,)?) => {$(
        tests_in_cells! { $story:
            tcp_callbacks_sharded Tcp Callbacks Sharded4,
            tcp_callbacks_manual Tcp Callbacks Manual,
            tcp_async_sharded Tcp Async Sharded4,
            tcp_async_manual Tcp Async Manual,
            tcps_callbacks_sharded Tcps Callbacks Sharded4,
            tcps_callbacks_manual Tcps Callbacks Manual,
            tcps_async_sharded Tcps Async Sharded4,
            tcps_async_manual Tcps Async Manual
        }
    )+};
}

/// The same for stories about plain TCP.
macro_rules! in_every_plain_cell {
    ($($story:ident),+ $(,)?) => {$(
        tests_in_cells! { $story:
            callbacks_sharded Tcp Callbacks Sharded4,
            callbacks_manual Tcp Callbacks Manual,
            async_sharded Tcp Async Sharded4,
            async_manual Tcp Async Manual
        }
    )+};
}

/// The same for stories about TLS.
macro_rules! in_every_secure_cell {
    ($($story:ident),+ $(,)?) => {$(
        tests_in_cells! { $story:
            callbacks_sharded Tcps Callbacks Sharded4,
            callbacks_manual Tcps Callbacks Manual,
            async_sharded Tcps Async Sharded4,
            async_manual Tcps Async Manual
        }
    )+};
}

macro_rules! tests_in_cells {
    ($story:ident: $($test:ident $carrier:ident $style:ident $model:ident),+) => {
        mod $story {
            use crate::support::{Carrier, Cell, Model, Style};
            $(
                #[test]
                fn $test() {
                    super::$story(Cell::new(Carrier::$carrier, Style::$style, Model::$model));
                }
            )+
        }
    };
}

mod support;

mod peers_openssl;
mod peers_python;
mod peers_socat;
mod proxy_cut;
mod proxy_garbage;
mod proxy_half_close;
mod proxy_pace;
mod proxy_reconnect;
mod proxy_reset;
mod proxy_stall;
mod tls_mutual;
mod tls_session;
mod tls_verify;
