//! The machines: those that are written here, and the lab's own, called as a library.
//!
//! All share the lab's traffic, its checks and its course of phases, and differ in IO only.

#[cfg(target_os = "linux")]
pub(crate) mod epoll;
pub(crate) mod lab;
pub(crate) mod tls;
