//! What a connection runs in one go: a command, or several.

use arknet_proto::redis::{Effects, Reply};

use super::error::Error;

/// Requests that are encoded together, and whose replies are decoded together: a command or a pipeline.
pub trait Batch: Send + sealed::Sealed {
    /// What comes of it.
    type Output: Send;
    /// Appends the requests to what goes on the wire.
    fn encode(&self, wire: &mut Vec<u8>);
    /// Bytes that `encode` appends.
    fn wire_len(&self) -> usize;
    /// How many requests, and so replies, it is.
    fn requests(&self) -> usize;
    /// What they do to the connection, all together.
    fn effects(&self) -> Effects;
    /// The name of the command, or of the first of several, for errors and spans.
    fn name(&self) -> &str;
    /// Decodes what came.
    fn finish(self, answers: Answers<'_>) -> Self::Output;
}

/// A batch that a shared connection takes too. Commands that wait, and those that change what their
/// connection means, are for leases.
pub trait Shareable: Batch {}

/// What came for a batch: the replies in order, and for every request behind them the failure.
pub struct Answers<'a> { .. }

impl<'a> Answers<'a> {
    /// `frames` are where the replies lie in `wire`, in order; `failure` makes the error of the request
    /// with that number (from 0) that has none.
    pub fn new(wire: &'a [u8], frames: &'a [std::ops::Range<usize>], failure: &'a dyn Fn(usize) -> Error) -> Self;
    /// Of a batch that failed as a whole, with the same error for each.
    pub fn failed(error: &'a Error) -> Self;
    /// The answer to the next request.
    pub fn next(&mut self) -> Result<Reply<'a>, Error>;
}
