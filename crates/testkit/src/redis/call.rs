//! One command at work: what it may look at, and what becomes of it.

use std::collections::HashMap;
use std::time::Instant;

use arknet_proto::redis::server::ReplyWriter;

use super::args::Args;
use super::connection::Connection;
use super::hub::Hub;
use super::options::Settings;
use super::refusal::{LOADING, NO_AUTH, OUT_OF_MEMORY, READ_ONLY, Refusal};
use super::session::{Blocked, MAX_QUEUED_BYTES, Session};
use super::store::{Database, End, Key, Store};
use super::table::{self, Entry};

/// What all clients share.
#[derive(Debug)]
pub(super) struct World {
    pub(super) settings: Settings,
    pub(super) store: Store,
    pub(super) hub: Hub,
    /// All clients but the one whose command is at work.
    pub(super) peers: HashMap<u64, Box<Connection>>,
    /// Clients that have something to write, or are to be closed.
    pub(super) woken: Vec<u64>,
    pub(super) now: Instant,
    /// Milliseconds since 1970.
    pub(super) unix: u64,
    pub(super) started: Instant,
    /// Waiting commands so far, for their order.
    pub(super) turns: u64,
    pub(super) commands: u64,
}

/// A command at work.
pub(super) struct Call<'a> {
    pub(super) args: Args<'a>,
    pub(super) session: &'a mut Session,
    pub(super) world: &'a mut World,
    pub(super) out: ReplyWriter<'a>,
    /// It is one of a transaction, and must not wait.
    pub(super) in_transaction: bool,
}

/// What a command comes to: its reply is written, or it is refused.
pub(super) type Done = Result<(), Refusal>;

impl<'a> Call<'a> {
    /// The database that is selected, the reply and the arguments, to be used at the same time.
    pub(super) fn parts(
        &mut self,
    ) -> Result<(&mut Database, &mut ReplyWriter<'a>, Args<'a>), Refusal> {
        let database = self
            .world
            .store
            .database(self.session.database, self.world.unix)
            .ok_or(Refusal::fixed("ERR DB index is out of range"))?;
        Ok((database, &mut self.out, self.args))
    }

    /// Waits until one of `keys` has an element.
    pub(super) fn block(&mut self, keys: Vec<Key>, end: End, until: Option<Instant>) {
        self.world.turns += 1;
        self.session.blocked = Some(Blocked {
            database: self.session.database,
            keys,
            end,
            until,
            turn: self.world.turns,
        });
    }

    /// Runs the command: the checks that are the same for all, then its own work.
    pub(super) fn run(&mut self) {
        let known = table::find(self.args.get(0));
        let known = known.filter(|entry| !self.world.settings.refuses(entry.name));
        let refused = match known {
            Some(entry) => match self.check(entry) {
                Ok(()) if self.is_queued(entry) => {
                    self.queue();
                    return;
                }
                Ok(()) => {
                    entry.name.clone_into(&mut self.session.last_command);
                    (entry.run)(self)
                }
                Err(refusal) => self.spoil(refusal),
            },
            None => {
                let refusal = self.unknown();
                self.spoil(refusal)
            }
        };
        if let Err(refusal) = refused {
            self.out.error(&refusal.0);
        }
    }

    /// What Redis says to a command that it does not know.
    pub(super) fn unknown(&self) -> Refusal {
        let mut arguments = String::new();
        for index in 1..self.args.len() {
            if arguments.len() >= 128 {
                break;
            }
            let argument: String = self.args.text(index).chars().take(128).collect();
            arguments.push_str(&format!("'{argument}' "));
        }
        let name: String = self.args.text(0).chars().take(128).collect();
        Refusal::said(format!(
            "ERR unknown command '{name}', with args beginning with: {arguments}"
        ))
    }

    fn check(&self, entry: &Entry) -> Done {
        if !entry.arity.fits(self.args.len()) {
            return Err(Refusal::arity(entry.name));
        }
        if self.session.user.is_none() && !entry.without_auth {
            return Err(NO_AUTH);
        }
        let full = || self.world.store.bytes() > self.world.settings.max_memory;
        if entry.writes && full() {
            return Err(OUT_OF_MEMORY);
        }
        if entry.writes && self.world.settings.read_only {
            return Err(READ_ONLY);
        }
        if self.world.settings.loading && !entry.without_data {
            return Err(LOADING);
        }
        if self.session.is_subscriber_only() && !entry.while_subscribed {
            return Err(Refusal::said(format!(
                "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET \
                 are allowed in this context",
                entry.name
            )));
        }
        Ok(())
    }

    fn is_queued(&self, entry: &Entry) -> bool {
        self.session.queue.is_some() && !self.in_transaction && !entry.while_queueing
    }

    fn queue(&mut self) {
        let Some(queue) = &mut self.session.queue else {
            return;
        };
        let command = self.args.owned();
        queue.bytes += command.iter().map(Vec::len).sum::<usize>();
        if queue.bytes > MAX_QUEUED_BYTES {
            queue.failed = true;
            queue.commands.clear();
            self.out.error("ERR too many bytes in a transaction");
            return;
        }
        queue.commands.push(command);
        self.out.simple("QUEUED");
    }

    /// A refusal between MULTI and EXEC spoils the transaction.
    fn spoil(&mut self, refusal: Refusal) -> Done {
        if let Some(queue) = &mut self.session.queue
            && !self.in_transaction
        {
            queue.failed = true;
        }
        Err(refusal)
    }
}
