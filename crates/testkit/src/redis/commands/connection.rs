//! Commands about the connection itself.

use arknet_proto::redis::server::Version;

use super::client;
use crate::redis::args::integer;
use crate::redis::call::{Call, Done};
use crate::redis::options::{Settings, VERSION};
use crate::redis::refusal::{NOT_INTEGER, Refusal, SYNTAX, WRONG_PASS};
use crate::redis::session::Replies;

pub(in crate::redis) fn ping(call: &mut Call<'_>) -> Done {
    let message = call.args.find(1);
    if call.args.len() > 2 {
        return Err(Refusal::arity("ping"));
    }
    if call.session.is_subscriber_only() {
        call.out.array(2);
        call.out.bulk(b"pong");
        call.out.bulk(message.unwrap_or_default());
        return Ok(());
    }
    match message {
        Some(message) => call.out.bulk(message),
        None => call.out.simple("PONG"),
    }
    Ok(())
}

pub(in crate::redis) fn echo(call: &mut Call<'_>) -> Done {
    call.out.bulk(call.args.get(1));
    Ok(())
}

pub(in crate::redis) fn quit(call: &mut Call<'_>) -> Done {
    call.session.closing = true;
    call.out.ok();
    Ok(())
}

pub(in crate::redis) fn select(call: &mut Call<'_>) -> Done {
    let number = call.args.integer(1)?;
    let number = usize::try_from(number)
        .ok()
        .filter(|number| *number < call.world.store.len());
    call.session.database = number.ok_or(Refusal::fixed("ERR DB index is out of range"))?;
    call.out.ok();
    Ok(())
}

pub(in crate::redis) fn auth(call: &mut Call<'_>) -> Done {
    let args = call.args;
    let (user, password) = match args.len() {
        2 if call.world.settings.password.is_none() => {
            return Err(Refusal::fixed(
                "ERR AUTH <password> called without any password configured for the default user. \
                 Are you sure your configuration is correct?",
            ));
        }
        2 => ("default".to_owned(), args.get(1)),
        3 => (args.text(1), args.get(2)),
        _ => return Err(SYNTAX),
    };
    authenticate(call, user, password)?;
    call.out.ok();
    Ok(())
}

fn authenticate(call: &mut Call<'_>, user: String, password: &[u8]) -> Done {
    if !call.world.settings.admits(&user, password) {
        return Err(WRONG_PASS);
    }
    call.session.user = Some(user);
    Ok(())
}

pub(in crate::redis) fn acl(call: &mut Call<'_>) -> Done {
    if call.args.is(1, "whoami") {
        let user = call.session.user.clone().unwrap_or_default();
        call.out.bulk(user.as_bytes());
        return Ok(());
    }
    Err(unknown_subcommand(call, "ACL"))
}

/// What Redis says to a subcommand that it does not know.
pub(super) fn unknown_subcommand(call: &Call<'_>, command: &str) -> Refusal {
    let name = call.args.text(1);
    Refusal::said(format!(
        "ERR unknown subcommand '{name}'. Try {command} HELP."
    ))
}

pub(in crate::redis) fn hello(call: &mut Call<'_>) -> Done {
    let args = call.args;
    let version = match args.find(1).map(integer) {
        None => call.session.version,
        Some(Some(2)) => Version::Resp2,
        Some(Some(3)) => Version::Resp3,
        Some(Some(_)) => return Err(Refusal::fixed("NOPROTO unsupported protocol version")),
        Some(None) => {
            return Err(Refusal::fixed(
                "ERR Protocol version is not an integer or out of range",
            ));
        }
    };
    let (mut at, mut login, mut name) = (2, None, None);
    while at < args.len() {
        if args.is(at, "auth") && at + 2 < args.len() {
            login = Some((args.text(at + 1), args.get(at + 2)));
            at += 3;
        } else if args.is(at, "setname") && at + 1 < args.len() {
            name = Some(args.get(at + 1));
            at += 2;
        } else {
            let option = args.text(at);
            return Err(Refusal::said(format!(
                "ERR Syntax error in HELLO option '{option}'"
            )));
        }
    }
    if let Some((user, password)) = login {
        authenticate(call, user, password)?;
    }
    if call.session.user.is_none() {
        return Err(Refusal::fixed(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO \
             AUTH <user> <pass> option can be used to authenticate the client and select the \
             RESP protocol version at the same time",
        ));
    }
    if let Some(name) = name {
        client::set_name(call, name)?;
    }
    call.session.version = version;
    call.out.set_version(version);
    greet(call);
    Ok(())
}

/// What the server says of itself.
fn greet(call: &mut Call<'_>) {
    let id = i64::try_from(call.session.id).unwrap_or(i64::MAX);
    let resp = match call.session.version {
        Version::Resp2 => 2,
        Version::Resp3 => 3,
    };
    let out = &mut call.out;
    out.map(7);
    for (field, value) in [("server", "redis"), ("version", VERSION)] {
        out.bulk(field.as_bytes());
        out.bulk(value.as_bytes());
    }
    for (field, value) in [("proto", resp), ("id", id)] {
        out.bulk(field.as_bytes());
        out.integer(value);
    }
    for (field, value) in [("mode", "standalone"), ("role", "master")] {
        out.bulk(field.as_bytes());
        out.bulk(value.as_bytes());
    }
    out.bulk(b"modules");
    out.array(0);
}

pub(in crate::redis) fn reset(call: &mut Call<'_>) -> Done {
    let id = call.session.id;
    call.world.store.unwatch(id);
    call.world.hub.forget(id);
    let session = &mut *call.session;
    session.queue = None;
    session.channels.clear();
    session.patterns.clear();
    session.shards.clear();
    session.replies = Replies::On;
    session.tracking = false;
    session.version = Version::Resp2;
    session.database = 0;
    session.name.clear();
    session.user = first_user(&call.world.settings);
    call.out.set_version(Version::Resp2);
    call.out.simple("RESET");
    Ok(())
}

/// Whom a connection belongs to before it says anything.
pub(in crate::redis) fn first_user(settings: &Settings) -> Option<String> {
    settings.password.is_none().then(|| "default".to_owned())
}

pub(in crate::redis) fn client(call: &mut Call<'_>) -> Done {
    client::run(call)
}

/// A number that must not be negative, with Redis's complaint if it is none.
pub(super) fn id(text: &[u8]) -> Result<u64, Refusal> {
    integer(text)
        .and_then(|number| u64::try_from(number).ok())
        .ok_or(NOT_INTEGER)
}
