//! CLIENT and its subcommands.

use super::connection::{id, unknown_subcommand};
use super::int;
use crate::redis::call::{Call, Done, World};
use crate::redis::refusal::{Refusal, SYNTAX};
use crate::redis::session::{Replies, Session};

pub(super) fn run(call: &mut Call<'_>) -> Done {
    let name = call.args.text(1).to_ascii_lowercase();
    if call.world.settings.refuses(&format!("client {name}")) {
        return Err(unknown_subcommand(call, "CLIENT"));
    }
    let count = call.args.len();
    match (name.as_str(), count) {
        ("id", 2) => call
            .out
            .integer(i64::try_from(call.session.id).unwrap_or(i64::MAX)),
        ("info", 2) => {
            let line = own_line(call);
            call.out.verbatim(*b"txt", line.as_bytes());
        }
        ("list", _) => return list(call),
        ("getname", 2) => {
            let name = Some(call.session.name.as_bytes()).filter(|name| !name.is_empty());
            call.out.bulk_or_nil(name);
        }
        ("setname", 3) => {
            set_name(call, call.args.get(2))?;
            call.out.ok();
        }
        ("setinfo", 4) => return set_info(call),
        ("reply", 3) => return reply(call),
        ("kill", 3..) => return kill(call),
        ("unblock", 3 | 4) => return unblock(call),
        ("tracking", 3..) => {
            call.session.tracking = match () {
                () if call.args.is(2, "on") => true,
                () if call.args.is(2, "off") => false,
                () => return Err(SYNTAX),
            };
            call.out.ok();
        }
        ("no-evict" | "no-touch", 3) => call.out.ok(),
        ("id" | "info" | "getname" | "setname" | "setinfo" | "reply" | "kill" | "unblock", _)
        | ("tracking" | "no-evict" | "no-touch", _) => {
            return Err(Refusal::arity(&format!("client|{name}")));
        }
        _ => return Err(unknown_subcommand(call, "CLIENT")),
    }
    Ok(())
}

/// Gives the client a name that a line of CLIENT LIST can hold.
pub(super) fn set_name(call: &mut Call<'_>, name: &[u8]) -> Done {
    call.session.name = printable(name).ok_or(Refusal::fixed(
        "ERR Client names cannot contain spaces, newlines or special characters.",
    ))?;
    Ok(())
}

fn printable(text: &[u8]) -> Option<String> {
    let fits = text.iter().all(|byte| (b'!'..=b'~').contains(byte));
    fits.then(|| String::from_utf8_lossy(text).into_owned())
}

fn set_info(call: &mut Call<'_>) -> Done {
    let place = match () {
        () if call.args.is(2, "lib-name") => 0,
        () if call.args.is(2, "lib-ver") => 1,
        () => {
            let option = call.args.text(2);
            return Err(Refusal::said(format!("ERR Unrecognized option '{option}'")));
        }
    };
    let value = printable(call.args.get(3)).ok_or(Refusal::said(format!(
        "ERR {} cannot contain spaces, newlines or special characters.",
        call.args.text(2).to_ascii_lowercase()
    )))?;
    if let Some(place) = call.session.library.get_mut(place) {
        *place = value;
    }
    call.out.ok();
    Ok(())
}

fn reply(call: &mut Call<'_>) -> Done {
    match () {
        () if call.args.is(2, "on") => {
            call.session.replies = Replies::On;
            call.out.ok();
        }
        () if call.args.is(2, "off") => call.session.replies = Replies::Off,
        () if call.args.is(2, "skip") => {
            if call.session.replies == Replies::On {
                call.session.replies = Replies::SkipNext;
            }
        }
        () => return Err(SYNTAX),
    }
    Ok(())
}

fn line_of(world: &mut World, session: &Session) -> String {
    let broken = world.store.is_broken(session.id, world.unix);
    session.line(world.now, world.store.watched(session.id), broken)
}

fn own_line(call: &mut Call<'_>) -> String {
    "client|info".clone_into(&mut call.session.last_command);
    let mut line = line_of(call.world, call.session);
    line.push('\n');
    line
}

/// Which clients a filter of LIST or KILL means.
#[derive(Debug, Default)]
struct Filter {
    ids: Option<Vec<u64>>,
    kind: Option<String>,
    addr: Option<String>,
    local: Option<String>,
    user: Option<String>,
}

impl Filter {
    fn means(&self, session: &Session) -> bool {
        let kind = if session.subscriptions() > 0 {
            "pubsub"
        } else {
            "normal"
        };
        self.ids
            .as_ref()
            .is_none_or(|ids| ids.contains(&session.id))
            && self.kind.as_ref().is_none_or(|wanted| wanted == kind)
            && self.addr.as_ref().is_none_or(|addr| *addr == session.addr)
            && self
                .local
                .as_ref()
                .is_none_or(|local| *local == session.local)
            && self
                .user
                .as_ref()
                .is_none_or(|user| Some(user) == session.user.as_ref())
    }

    fn kind(text: &str) -> Result<String, Refusal> {
        let kind = text.to_ascii_lowercase();
        match kind.as_str() {
            "normal" | "pubsub" | "master" | "replica" | "slave" => Ok(kind),
            _ => Err(Refusal::said(format!("ERR Unknown client type '{text}'"))),
        }
    }
}

fn list(call: &mut Call<'_>) -> Done {
    let args = call.args;
    let mut filter = Filter::default();
    match args.len() {
        2 => {}
        4 if args.is(2, "type") => filter.kind = Some(Filter::kind(&args.text(3))?),
        4.. if args.is(2, "id") => {
            let ids: Result<_, _> = args.from(3).map(id).collect();
            filter.ids = Some(ids.map_err(|_| Refusal::fixed("ERR Invalid client ID"))?);
        }
        _ => return Err(SYNTAX),
    }
    "client|list".clone_into(&mut call.session.last_command);
    let mut lines = Vec::new();
    if filter.means(call.session) {
        lines.push((call.session.id, line_of(call.world, call.session)));
    }
    let peers: Vec<u64> = call.world.peers.keys().copied().collect();
    for peer in peers {
        // Taken out, because its line asks the rest of the world about it.
        if let Some(connection) = call.world.peers.remove(&peer) {
            if filter.means(&connection.session) {
                lines.push((peer, line_of(call.world, &connection.session)));
            }
            call.world.peers.insert(peer, connection);
        }
    }
    lines.sort();
    let text: String = lines.into_iter().map(|(_, line)| line + "\n").collect();
    call.out.verbatim(*b"txt", text.as_bytes());
    Ok(())
}

fn kill(call: &mut Call<'_>) -> Done {
    let args = call.args;
    let old_form = args.len() == 3;
    let (mut filter, mut spare_me) = (Filter::default(), !old_form);
    if old_form {
        filter.addr = Some(args.text(2));
    }
    let mut at = 2;
    while !old_form && at < args.len() {
        let value = args.find(at + 1).ok_or(SYNTAX)?;
        let text = args.text(at + 1);
        match () {
            () if args.is(at, "id") => {
                let client = id(value).ok().filter(|client| *client > 0);
                let client =
                    client.ok_or(Refusal::fixed("ERR client-id should be greater than 0"))?;
                filter.ids = Some(vec![client]);
            }
            () if args.is(at, "type") => filter.kind = Some(Filter::kind(&text)?),
            () if args.is(at, "addr") => filter.addr = Some(text),
            () if args.is(at, "laddr") => filter.local = Some(text),
            () if args.is(at, "user") => filter.user = Some(text),
            () if args.is(at, "skipme") => spare_me = text.eq_ignore_ascii_case("yes"),
            () => return Err(SYNTAX),
        }
        at += 2;
    }
    let mut killed = 0;
    if !spare_me && filter.means(call.session) {
        call.session.closing = true;
        killed += 1;
    }
    let world = &mut *call.world;
    for (peer, connection) in &mut world.peers {
        if filter.means(&connection.session) && !connection.session.closing {
            connection.kill();
            world.woken.push(*peer);
            killed += 1;
        }
    }
    match (old_form, killed) {
        (true, 0) => return Err(Refusal::fixed("ERR No such client")),
        (true, _) => call.out.ok(),
        (false, killed) => call.out.integer(int(killed)),
    }
    Ok(())
}

fn unblock(call: &mut Call<'_>) -> Done {
    let client = id(call.args.get(2))?;
    let with_error = match call.args.find(3) {
        None => false,
        Some(_) if call.args.is(3, "timeout") => false,
        Some(_) if call.args.is(3, "error") => true,
        Some(_) => {
            return Err(Refusal::fixed(
                "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR",
            ));
        }
    };
    let world = &mut *call.world;
    let waiting = world
        .peers
        .get_mut(&client)
        .filter(|peer| peer.session.blocked.is_some());
    let found = waiting.is_some();
    if let Some(peer) = waiting {
        peer.session.blocked = None;
        let mut out = peer.writer();
        if with_error {
            out.error("UNBLOCKED client unblocked via CLIENT UNBLOCK");
        } else {
            out.nil_array();
        }
        world.woken.push(client);
    }
    call.out.integer(found.into());
    Ok(())
}
