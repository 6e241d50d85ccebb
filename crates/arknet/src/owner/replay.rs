//! Delivers what a journal says, in its order, at its time.

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::core::Core;
use super::error::OwnerError;
use super::signal::SourceId;
use super::turn;

/// How long a replay waits for what the journal has next: for the thread or the lane that is to bring it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Between two looks for it.
const PAUSE: Duration = Duration::from_micros(50);

/// The clock that the journal has for this tick, if it delivers something in it.
pub(crate) fn clock<W>(core: &Core<W>, tick: u64) -> Option<Instant> {
    let mut recorder = core.recorder.borrow_mut();
    let delivery = recorder.peek().filter(|delivery| delivery.tick == tick)?;
    Some(super::missed::add(
        core.began,
        Duration::from_nanos(delivery.nanos),
    ))
}

/// Delivers everything that the journal has for this tick.
pub(crate) fn take<W>(
    core: &Rc<Core<W>>,
    scratch: &mut Vec<SourceId>,
    now: Instant,
) -> Result<u32, OwnerError> {
    let tick = core.tick.get();
    core.recorder.borrow_mut().nanos = turn::nanos_of(core, now);
    let mut ran = 0;
    loop {
        let next = core.recorder.borrow_mut().peek().cloned();
        let Some(next) = next else {
            return Ok(finish(core, ran));
        };
        if next.tick > tick {
            return Ok(ran);
        }
        let until = crate::io::now() + PATIENCE;
        let found = loop {
            if let Some(node) = find(
                core,
                usize::from(next.class),
                &next.source,
                next.key,
                next.payload.as_deref(),
            ) {
                break Some(node);
            }
            if crate::io::now() >= until {
                break None;
            }
            if core.inline {
                let lanes = core.lanes.borrow().clone();
                if let Some(lanes) = lanes {
                    lanes.poll_owned()?;
                }
            } else {
                std::thread::sleep(PAUSE);
            }
            turn::take_in(core, scratch, now);
        };
        let Some(node) = found else {
            return Err(OwnerError::Replay {
                tick,
                expected: next.to_string(),
            });
        };
        core.recorder.borrow_mut().advance();
        core.operation.set(core.operation.get() + 1);
        node.source.deliver(core);
        node.source.settle();
        turn::account(core, usize::from(next.class), &node, 1, now);
        ran += 1;
        if core.stop.get() {
            return Ok(ran);
        }
    }
}

fn find<W>(
    core: &Core<W>,
    class: usize,
    source: &str,
    key: u64,
    payload: Option<&[u8]>,
) -> Option<Rc<super::core::Node<W>>> {
    core.sources()
        .into_iter()
        .map(|(_, node)| node)
        .find(|node| {
            node.class.index() == class
                && node.source.name() == source
                && node.source.bring_forward(key, payload)
        })
}

/// The journal is at its end: from here on things come as they come.
fn finish<W>(core: &Core<W>, ran: u32) -> u32 {
    let sources = core.sources();
    for (_, node) in &sources {
        node.source.live();
    }
    core.waiting
        .set(sources.iter().map(|(_, node)| node.source.ready()).sum());
    ran
}
