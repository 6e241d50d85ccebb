//! Commands about the server.

use super::connection::unknown_subcommand;
use super::int;
use crate::redis::call::{Call, Done};
use crate::redis::options::VERSION;
use crate::redis::table;

pub(in crate::redis) fn info(call: &mut Call<'_>) -> Done {
    let world = &*call.world;
    let uptime = world.now.saturating_duration_since(world.started).as_secs();
    let text = format!(
        "# Server\r\nredis_version:{VERSION}\r\nredis_mode:standalone\r\nos:arknet-testkit\r\n\
         process_id:{}\r\nuptime_in_seconds:{uptime}\r\n\r\n\
         # Clients\r\nconnected_clients:{}\r\n\r\n# Memory\r\nused_memory:{}\r\n\r\n\
         # Stats\r\ntotal_commands_processed:{}\r\n\r\n# Replication\r\nrole:master\r\n",
        std::process::id(),
        world.peers.len() + 1,
        world.store.bytes(),
        world.commands,
    );
    call.out.verbatim(*b"txt", text.as_bytes());
    Ok(())
}

/// A stub: clients that ask for the table of commands get an empty one.
pub(in crate::redis) fn command(call: &mut Call<'_>) -> Done {
    match call.args.len() {
        1 => call.out.array(0),
        2 if call.args.is(1, "count") => call.out.integer(int(table::len())),
        2.. if call.args.is(1, "docs") => call.out.map(0),
        3.. if call.args.is(1, "info") => {
            let asked = call.args.len() - 2;
            call.out.array(asked);
            for _ in 0..asked {
                call.out.nil_array();
            }
        }
        _ => return Err(unknown_subcommand(call, "COMMAND")),
    }
    Ok(())
}

/// A stub: nothing can be configured.
pub(in crate::redis) fn config(call: &mut Call<'_>) -> Done {
    match call.args.len() {
        3.. if call.args.is(1, "get") => call.out.map(0),
        2 if call.args.is(1, "resetstat") => call.out.ok(),
        _ => return Err(unknown_subcommand(call, "CONFIG")),
    }
    Ok(())
}

pub(in crate::redis) fn role(call: &mut Call<'_>) -> Done {
    call.out.array(3);
    call.out.bulk(b"master");
    call.out.integer(0);
    call.out.array(0);
    Ok(())
}

pub(in crate::redis) fn time(call: &mut Call<'_>) -> Done {
    let unix = call.world.unix;
    call.out.array(2);
    call.out.bulk((unix / 1_000).to_string().as_bytes());
    call.out.bulk((unix % 1_000 * 1_000).to_string().as_bytes());
    Ok(())
}
