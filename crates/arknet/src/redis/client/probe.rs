//! What is atomic, with a function that gets the output, on a connection that has not accepted a `MULTI` yet.
//!
//! In one flight a `MULTI` that is refused does not keep what is behind it from being carried out, command by command. So
//! the server is asked first, once on a connection, by a transaction of nothing.

use std::sync::Arc;

use super::finish::{Callback, refuse};
use super::left;
use super::shared::Shared;
use crate::error::Outcome;
use crate::link;
use crate::redis::batch::Batch;
use crate::redis::error::Error;
use crate::redis::transaction::probe::Probe;

/// Asks, and then goes on, within one limit.
///
/// # Errors
///
/// Nothing was taken in, and the function is not called.
pub(super) fn submit_with<B, F>(
    shared: &Arc<Shared>,
    mut callback: Callback<B, F>,
) -> Result<(), Error>
where
    B: Batch + 'static,
    F: FnOnce(B::Output) + Send + 'static,
{
    let within = callback.within;
    let until = within.map(link::after);
    // The client would otherwise keep itself.
    let client = Arc::downgrade(shared);
    let go_on = move |probed: Result<(), Error>| {
        let accepted = probed.and_then(|()| client.upgrade().ok_or(Error::Closed));
        let failed = match accepted {
            Ok(shared) => {
                shared.note_multi();
                callback.within = left(until);
                shared.submit_with(callback).err()
            }
            Err(error) => Some((error.with_outcome(Outcome::NotSent), callback)),
        };
        if let Some((error, callback)) = failed {
            (callback.function)(refuse(callback.batch, &error));
        }
    };
    let probe = Callback {
        batch: Probe,
        within,
        function: go_on,
    };
    shared.submit_with(probe).map_err(|(error, _)| error)
}
