//! The part of a drain that is the network's: when everything that was accepted has been delivered, the sessions hand over
//! what they were sent, and end; what their ends cause is waited for in turn.

use std::future::poll_fn;
use std::rc::Rc;

use super::endpoint::Endpoint;
use crate::owner::core::Core;
use crate::owner::cx::Cx;
use crate::owner::drain::Finaliser;
use crate::owner::label::Label;

/// What is cut at the end is to be told within the deadline, and what that causes done: a fifth of the time that is left is
/// for that.
const TO_TELL: u32 = 5;

/// Ends the sessions of an endpoint in a drain, in turn with the finalisers of the application.
pub(super) fn register<W: 'static>(
    cx: &Cx<W>,
    label: Label,
    number: u64,
    endpoint: Rc<Endpoint<W>>,
) {
    let label = label.named("close the sessions");
    let finaliser = Finaliser::new(label, cx.clone(), async move |cx| {
        close(&cx, &endpoint).await;
    });
    cx.core
        .finalisers
        .borrow_mut()
        .push_front(finaliser.of(number));
}

/// An endpoint that has ended needs no end.
pub(super) fn unregister<W>(core: &Core<W>, number: u64) {
    let ended = {
        let mut finalisers = core.finalisers.borrow_mut();
        let at = finalisers
            .iter()
            .position(|finaliser| finaliser.endpoint == Some(number));
        at.and_then(|at| finalisers.remove(at))
    };
    drop(ended);
}

async fn close<W: 'static>(cx: &Cx<W>, endpoint: &Endpoint<W>) {
    let left = cx.core.network.left();
    let within = left.saturating_sub(left / TO_TELL);
    if let Some(shutdown) = endpoint.shutdown(within) {
        let report = shutdown.await;
        cx.core.network.add(&report);
    }
    poll_fn(|cx| endpoint.poll_empty(cx)).await;
}
