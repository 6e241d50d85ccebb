//! The machines that are written here; the lab's own are called as a library.

#[cfg(target_os = "linux")]
pub(crate) mod epoll;
pub(crate) mod tls;
