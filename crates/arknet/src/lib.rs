//! arknet.
