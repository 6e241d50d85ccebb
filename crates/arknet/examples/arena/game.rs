//! The life of a player: joins, is loaded, plays, is saved now and then, leaves and is saved for the last time.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use arknet::CloseReason;
use arknet::owner::net::{Handler, Server, Session, SessionId, broadcast};
use arknet::owner::{Cx, Missed, Owner};
use arknet::tcp::{Framing, ServerConfig};

use super::protocol::{self, LARGEST_REQUEST, Request, Seen};
use super::storage::{Operation, Profile, Reply, Store, StoreError};
use super::world::{Player, SQUARE, World};

/// How often a player is saved.
const SAVE_EVERY: Duration = Duration::from_secs(5);

/// How often the leaderboard is asked for.
const TOP_EVERY: Duration = Duration::from_secs(1);

/// Players at once; more are refused.
const MOST_PLAYERS: usize = 2000;

/// A player who does not read for so many bytes is left behind.
const BEHIND: usize = 64 << 10;

/// Opens the arena for players.
pub(crate) fn open(
    owner: &Owner<World>,
    address: &str,
    store: &Store,
) -> Result<Server<World>, Box<dyn Error>> {
    let config = ServerConfig::new()
        .framing(Framing::LengthPrefix)
        .max_message(LARGEST_REQUEST)
        .max_connections(MOST_PLAYERS)
        .send_queue(BEHIND, 256)
        .idle_timeout(Duration::from_secs(60));
    let cx = owner.cx();
    let of_each = store.clone();
    let server = Server::start(owner, address, config, move |_, _| Guest {
        cx: cx.clone(),
        store: of_each.clone(),
    })?;
    // Registered after the server, so that in a drain it runs before the sessions are closed.
    let everybody = server.clone();
    owner.on_drain("say goodbye", async move |_| {
        // Who does not take it is gone, or has fallen behind.
        everybody.broadcast(protocol::goodbye());
    });
    let best = store.clone();
    owner.every(TOP_EVERY, Missed::Skip, move |_, _| {
        // Refused, the store is far behind, and the board a little old.
        let _ = best.send(Operation::Top, |world, reply| {
            if let Ok(Reply::Top(top)) = reply {
                world.top = top;
            }
        });
    })?;
    Ok(server)
}

/// One for each connection.
struct Guest {
    cx: Cx<World>,
    store: Store,
}

impl Handler<World> for Guest {
    fn on_message(&mut self, world: &mut World, session: &Session, message: &[u8]) {
        match Request::read(message) {
            Some(Request::Join(name)) if !world.players.contains_key(&session.id()) => {
                if let Err(error) = self.join(world, session, name) {
                    println!("{name} was not let in: {error}");
                    session.close();
                }
            }
            Some(Request::Move(x, y)) => {
                if let Some(player) = world.players.get_mut(&session.id()) {
                    player.wish = (x, y);
                }
            }
            // Joins twice, or speaks another protocol.
            _ => session.kick(protocol::goodbye()),
        }
    }

    fn on_close(&mut self, world: &mut World, session: &Session, _: &CloseReason) {
        let Some(player) = world.players.remove(&session.id()) else {
            return;
        };
        world.names.remove(&player.name);
        let Player { name, profile, .. } = player;
        // The group was dropped just now: neither the load nor the timer will ever run again. Whatever was not loaded
        // has not changed.
        if let Some(profile) = profile {
            world.left.insert(name.clone(), profile.score);
            submit(
                &self.store,
                world,
                &name.clone(),
                Operation::Leave(name, profile),
            );
        }
    }
}

impl Guest {
    fn join(&self, world: &mut World, session: &Session, name: &str) -> Result<(), Box<dyn Error>> {
        if !world.names.insert(name.to_owned()) {
            return Err("the name is taken".into());
        }
        // Everything that follows belongs to the player, and ends when the player does.
        let group = self
            .cx
            .group(&format!("player {name}"))
            .map_err(|full| full.reason)?;
        let id = session.id();
        let store = self.store.clone();
        let loading = name.to_owned();
        group
            .spawn(async move |cx| {
                // In the order of this name: a save that is still under way is seen.
                let operation = Operation::Enter(loading.clone());
                let reply = store.ordered(loading.as_str()).call(operation).await;
                cx.with(|world| enter(world, id, reply));
            })
            .map_err(|full| full.reason)?;
        let store = self.store.clone();
        group.every(SAVE_EVERY, Missed::Skip, move |world, _| {
            save(world, &store, id);
        })?;
        let player = Player {
            name: name.to_owned(),
            session: session.clone(),
            _group: group,
            profile: None,
            changed: false,
            wish: (0, 0),
        };
        world.players.insert(id, player);
        Ok(())
    }
}

/// A profile has been loaded: the player is in the arena.
fn enter(world: &mut World, id: SessionId, reply: Result<Reply, StoreError>) {
    let profile = match reply {
        Ok(Reply::Profile(Some(profile))) => profile,
        Ok(_) => world.birthplace(),
        Err(error) => {
            println!("a profile was not loaded: {error}");
            if let Some(player) = world.players.get(&id) {
                player.session.kick(protocol::goodbye());
            }
            return;
        }
    };
    if let Some(player) = world.players.get_mut(&id) {
        player.profile = Some(profile);
        // Who cannot be told will be seen to have gone.
        let _ = player.session.send(protocol::welcome(profile.score));
    }
}

/// Saves a player who has changed.
fn save(world: &mut World, store: &Store, id: SessionId) {
    let Some(player) = world.players.get_mut(&id) else {
        return;
    };
    let Some(profile) = player.profile.filter(|_| player.changed) else {
        return;
    };
    player.changed = false;
    let name = player.name.clone();
    submit(store, world, &name.clone(), Operation::Save(name, profile));
}

/// Submits a save, behind those of the same player.
fn submit(store: &Store, world: &mut World, name: &str, operation: Operation) {
    let submitted = store
        .ordered(name)
        .send(operation, |world, reply| match reply {
            Ok(_) => world.saves.done += 1,
            Err(error) => {
                println!("a save failed: {error}");
                world.saves.failed += 1;
            }
        });
    match submitted {
        Ok(()) => world.saves.accepted += 1,
        Err(rejected) => println!("{name} was not saved: {rejected}"),
    }
}

/// Tells everybody who is near, at the end of a step: one message for each square.
pub(crate) fn show_everybody(world: &World) {
    let mut squares: BTreeMap<(u16, u16), Vec<(&Player, Profile)>> = BTreeMap::new();
    for player in world.players.values() {
        if let Some(profile) = player.profile {
            let square = (profile.x / SQUARE, profile.y / SQUARE);
            squares.entry(square).or_default().push((player, profile));
        }
    }
    let mut message = Vec::new();
    for players in squares.values() {
        let seen = players
            .iter()
            .map(|(player, Profile { x, y, score })| Seen {
                id: u32::try_from(player.session.id().get()).unwrap_or(u32::MAX),
                x: *x,
                y: *y,
                score: *score,
            });
        protocol::snapshot(&mut message, seen);
        // Who has fallen behind does not get this one, and will get a later one.
        broadcast(players.iter().map(|(player, _)| &player.session), &message);
    }
}
