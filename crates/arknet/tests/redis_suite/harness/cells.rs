//! The cells: transport × protocol × access × style, and the macros that make a test for each.

use arknet::redis::Protocol;
use arknet_testkit::need;
use arknet_testkit::servers::redis::{Product, Transport};

use super::Host;

/// What runs the commands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Access {
    /// The shared client.
    Client,
    /// A lease of a pool, acquired and returned for each batch.
    Lease,
}

/// How the application is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Style {
    Tasks,
    Callbacks,
}

/// One combination.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) transport: Transport,
    pub(crate) protocol: Protocol,
    pub(crate) access: Access,
    pub(crate) style: Style,
}

const ALL: [Cell; 32] = {
    let first = Cell {
        transport: Transport::Tcp,
        protocol: Protocol::Resp2,
        access: Access::Client,
        style: Style::Tasks,
    };
    let mut cells = [first; 32];
    let mut at = 0;
    while at < cells.len() {
        cells[at].transport = Transport::ALL[at / 8];
        if at / 4 % 2 == 1 {
            cells[at].protocol = Protocol::Resp3;
        }
        if at / 2 % 2 == 1 {
            cells[at].access = Access::Lease;
        }
        if at % 2 == 1 {
            cells[at].style = Style::Callbacks;
        }
        at += 1;
    }
    cells
};

/// All combinations.
pub(crate) const CELLS: &[Cell] = &ALL;

/// Those in which a lease runs the commands.
pub(crate) const LEASE_CELLS: &[Cell] = &{
    let mut cells = [ALL[2]; 16];
    let mut at = 0;
    while at < cells.len() {
        cells[at] = ALL[at / 2 * 4 + 2 + at % 2];
        at += 1;
    }
    cells
};

/// Runs a case in these cells against Valkey, or skips it loudly.
pub(crate) fn on_valkey(cells: &[Cell], case: impl Fn(&Host)) {
    for cell in cells {
        let host = need!(Host::start_on(Product::Valkey, *cell));
        case(&host);
        host.finish();
    }
}

/// A test of each named case in each cell, as `case::transport::protocol::access::style`, and one of all cells on
/// Valkey, as `case::valkey`.
macro_rules! in_every_cell {
    ($($case:ident),* $(,)?) => {$(
        mod $case {
            mod tcp { in_every_cell!(@protocols $case, Tcp); }
            mod tls { in_every_cell!(@protocols $case, Tls); }
            mod mtls { in_every_cell!(@protocols $case, Mtls); }
            mod unix { in_every_cell!(@protocols $case, Unix); }

            #[test]
            fn valkey() {
                $crate::harness::on_valkey($crate::harness::CELLS, super::$case);
            }
        }
    )*};
    (@protocols $case:ident, $transport:ident) => {
        mod resp2 {
            mod client { in_every_cell!(@styles super::super::super::super::$case, $transport, Resp2, Client); }
            mod lease { in_every_cell!(@styles super::super::super::super::$case, $transport, Resp2, Lease); }
        }
        mod resp3 {
            mod client { in_every_cell!(@styles super::super::super::super::$case, $transport, Resp3, Client); }
            mod lease { in_every_cell!(@styles super::super::super::super::$case, $transport, Resp3, Lease); }
        }
    };
    (@styles $case:path, $transport:ident, $protocol:ident, $access:ident) => {
        in_every_cell!(@test tasks, $case, $transport, $protocol, $access, Tasks);
        in_every_cell!(@test callbacks, $case, $transport, $protocol, $access, Callbacks);
    };
    (@test $name:ident, $case:path, $transport:ident, $protocol:ident, $access:ident, $style:ident) => {
        #[test]
        fn $name() {
            let host = ::arknet_testkit::need!($crate::harness::Host::start($crate::harness::Cell {
                transport: $crate::harness::Transport::$transport,
                protocol: ::arknet::redis::Protocol::$protocol,
                access: $crate::harness::Access::$access,
                style: $crate::harness::Style::$style,
            }));
            $case(&host);
            host.finish();
        }
    };
}

/// A test of each named case in each cell whose access is a lease, as `case::transport::protocol::style`, and one of
/// all of them on Valkey.
macro_rules! in_every_lease_cell {
    ($($case:ident),* $(,)?) => {$(
        mod $case {
            mod tcp { in_every_lease_cell!(@protocols $case, Tcp); }
            mod tls { in_every_lease_cell!(@protocols $case, Tls); }
            mod mtls { in_every_lease_cell!(@protocols $case, Mtls); }
            mod unix { in_every_lease_cell!(@protocols $case, Unix); }

            #[test]
            fn valkey() {
                $crate::harness::on_valkey($crate::harness::LEASE_CELLS, super::$case);
            }
        }
    )*};
    (@protocols $case:ident, $transport:ident) => {
        mod resp2 { in_every_cell!(@styles super::super::super::$case, $transport, Resp2, Lease); }
        mod resp3 { in_every_cell!(@styles super::super::super::$case, $transport, Resp3, Lease); }
    };
}

/// A lease over TCP in a protocol, for what is the same for every transport, access and style.
pub(crate) const fn over_tcp(protocol: Protocol) -> Cell {
    Cell {
        transport: Transport::Tcp,
        protocol,
        access: Access::Lease,
        style: Style::Tasks,
    }
}

/// A test of each named case in both protocols, as `case::protocol`, with a server of its own, and the same on Valkey.
macro_rules! in_both_protocols {
    ($($case:ident),* $(,)?) => {$(
        mod $case {
            in_both_protocols!(@test resp2, super::$case, Resp2, Redis);
            in_both_protocols!(@test resp3, super::$case, Resp3, Redis);
            mod valkey {
                in_both_protocols!(@test resp2, super::super::$case, Resp2, Valkey);
                in_both_protocols!(@test resp3, super::super::$case, Resp3, Valkey);
            }
        }
    )*};
    (@test $name:ident, $case:path, $protocol:ident, $product:ident) => {
        #[test]
        fn $name() {
            let cell = $crate::harness::over_tcp(::arknet::redis::Protocol::$protocol);
            let product = ::arknet_testkit::servers::redis::Product::$product;
            let host = ::arknet_testkit::need!($crate::harness::Host::alone(product, cell));
            $case(&host);
            host.finish();
        }
    };
}

#[test]
fn every_combination_is_a_cell_once() {
    let mut seen: Vec<String> = CELLS.iter().map(|cell| format!("{cell:?}")).collect();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 4 * 2 * 2 * 2);
    let mut leases: Vec<String> = LEASE_CELLS.iter().map(|cell| format!("{cell:?}")).collect();
    assert!(LEASE_CELLS.iter().all(|cell| cell.access == Access::Lease));
    leases.sort();
    leases.dedup();
    assert_eq!(leases.len(), 4 * 2 * 2);
}
