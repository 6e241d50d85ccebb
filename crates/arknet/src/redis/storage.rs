//! The storage of commands, used again and again.

use std::ops::Deref;

use arknet_proto::redis::Command;

use crate::link::storage::{give_back, lend};

/// Borrowed storage.
#[derive(Clone)]
pub(super) struct Buffer(Vec<u8>);

impl Buffer {
    /// An empty one.
    #[inline]
    pub(super) fn lend() -> Self {
        Self(lend())
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[u8] {
        &self.0
    }

    #[inline]
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        give_back(std::mem::take(&mut self.0));
    }
}

/// A command in borrowed storage.
#[derive(Clone)]
pub(super) struct Stored(Command);

impl Stored {
    #[inline]
    pub(super) fn new(build: impl FnOnce(Vec<u8>) -> Command) -> Self {
        Self(build(lend()))
    }

    #[inline]
    pub(super) fn command(&mut self) -> &mut Command {
        &mut self.0
    }

    /// Gives the storage back before the end. The name stays, the words do not.
    #[inline]
    pub(super) fn release(&mut self) {
        give_back(self.0.take_buffer());
    }
}

impl Deref for Stored {
    type Target = Command;

    #[inline]
    fn deref(&self) -> &Command {
        &self.0
    }
}

impl Drop for Stored {
    #[inline]
    fn drop(&mut self) {
        self.release();
    }
}
