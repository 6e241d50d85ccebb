//! One cell of the matrix: what carries the bytes, which style uses them, and where it all runs.

/// What carries the bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Carrier {
    /// Plain TCP.
    Tcp,
    /// TLS over TCP.
    Tcps,
    /// A Unix domain socket.
    Unix,
}

/// How client and server are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Style {
    Callbacks,
    Async,
}

/// The lanes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Model {
    Shared1,
    Shared4,
    Sharded4,
    Manual,
    Current,
}

/// One cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) carrier: Carrier,
    pub(crate) style: Style,
    pub(crate) model: Model,
}

impl Cell {
    pub(crate) const fn new(carrier: Carrier, style: Style, model: Model) -> Self {
        Self {
            carrier,
            style,
            model,
        }
    }

    pub(crate) fn is_secure(self) -> bool {
        self.carrier == Carrier::Tcps
    }
}
