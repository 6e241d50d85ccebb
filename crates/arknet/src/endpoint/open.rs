//! The part of a connection's life before it is open: connecting, shaking hands.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arknet_proto::session::{Cause, Event, State};

use super::core::Core;
use super::error::{CloseReason, Error};
use crate::link::Transport;

/// Runs `work` until it is done, the connect deadline has passed, or the session has been closed from outside.
pub(super) async fn opening<T>(
    core: &mut Core,
    work: impl Future<Output = Result<T, Error>>,
    timed_out: impl Fn() -> Error,
) -> Result<T, CloseReason> {
    let mut work = pin!(work);
    poll_fn(|cx| {
        if let Some(reason) = begin(core, cx, &timed_out) {
            return Poll::Ready(Err(reason));
        }
        let done = ready!(work.as_mut().poll(cx));
        Poll::Ready(done.map_err(|error| CloseReason::Error(Arc::new(error))))
    })
    .await
}

/// Begins a turn: the mail, the deadline. A session that has ended by them says why.
fn begin(
    core: &mut Core,
    cx: &mut Context<'_>,
    timed_out: impl Fn() -> Error,
) -> Option<CloseReason> {
    core.begin(cx);
    core.poll_opening_deadline(cx);
    (core.state() == State::Closed).then(|| end(core, timed_out))
}

fn end(core: &mut Core, timed_out: impl Fn() -> Error) -> CloseReason {
    while let Some(event) = core.session.engine_mut().poll_event() {
        if let Event::Closed { cause, .. } = event {
            return match cause {
                Cause::ConnectTimeout => CloseReason::Error(Arc::new(timed_out())),
                cause => core.session.reason(cause),
            };
        }
    }
    CloseReason::Local
}

/// Shakes hands on a secure transport; a plain one has nothing to do.
pub(super) async fn shake_hands(
    core: &mut Core,
    transport: Transport,
    timed_out: impl Fn() -> Error,
) -> Result<Transport, CloseReason> {
    core.session.introduce(&transport);
    match transport {
        Transport::Plain(_) => Ok(transport),
        #[cfg(feature = "tls")]
        Transport::Secure(mut secure) => {
            poll_fn(|cx| {
                if let Some(reason) = begin(core, cx, &timed_out) {
                    return Poll::Ready(Err(reason));
                }
                let done = ready!(secure.poll_handshake(cx, core.inbound.buffer_mut()));
                Poll::Ready(done.map_err(|error| {
                    let error = core.session.error("shake hands with", error);
                    CloseReason::Error(Arc::new(error))
                }))
            })
            .await?;
            Ok(Transport::Secure(secure))
        }
    }
}
