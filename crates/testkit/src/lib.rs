//! Test tools of arknet.
