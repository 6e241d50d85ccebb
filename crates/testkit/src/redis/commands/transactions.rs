//! MULTI, EXEC, DISCARD, WATCH.

use crate::redis::args::Args;
use crate::redis::call::{Call, Done};
use crate::redis::refusal::Refusal;
use crate::redis::session::Queue;

pub(in crate::redis) fn multi(call: &mut Call<'_>) -> Done {
    if call.session.queue.is_some() {
        return Err(Refusal::fixed("ERR MULTI calls can not be nested"));
    }
    call.session.queue = Some(Queue::default());
    call.out.ok();
    Ok(())
}

pub(in crate::redis) fn discard(call: &mut Call<'_>) -> Done {
    if call.session.queue.take().is_none() {
        return Err(Refusal::fixed("ERR DISCARD without MULTI"));
    }
    call.world.store.unwatch(call.session.id);
    call.out.ok();
    Ok(())
}

pub(in crate::redis) fn exec(call: &mut Call<'_>) -> Done {
    let Some(queue) = call.session.queue.take() else {
        return Err(Refusal::fixed("ERR EXEC without MULTI"));
    };
    let id = call.session.id;
    let broken = call.world.store.is_broken(id, call.world.unix);
    call.world.store.unwatch(id);
    if queue.failed {
        return Err(Refusal::fixed(
            "EXECABORT Transaction discarded because of previous errors.",
        ));
    }
    if broken {
        call.out.nil_array();
        return Ok(());
    }
    call.out.array(queue.commands.len());
    for command in &queue.commands {
        let mut inner = Call {
            args: Args::Queued(command),
            session: call.session,
            world: call.world,
            out: call.out.by_ref(),
            in_transaction: true,
        };
        inner.run();
        call.out.set_version(call.session.version);
    }
    Ok(())
}

pub(in crate::redis) fn watch(call: &mut Call<'_>) -> Done {
    if call.session.queue.is_some() {
        return Err(Refusal::fixed("ERR WATCH inside MULTI is not allowed"));
    }
    for key in call.args.from(1) {
        call.world
            .store
            .watch(call.session.id, call.session.database, key);
    }
    call.out.ok();
    Ok(())
}

pub(in crate::redis) fn unwatch(call: &mut Call<'_>) -> Done {
    call.world.store.unwatch(call.session.id);
    call.out.ok();
    Ok(())
}
