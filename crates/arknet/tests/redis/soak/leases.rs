//! Borrowers of connections, who find each as new, and leave it in any state.

use std::sync::Arc;
use std::time::Duration;

use arknet::redis::commands::lists::blpop;
use arknet::redis::commands::strings::{get, incr, set};
use arknet::redis::{Commit, Error, Lease, cmd, pipeline};

use super::chance::{Chance, perhaps};
use super::shared::echo;
use super::tally::Executed;
use super::world::{POOL, World};

/// One request in so many is dropped by its caller.
const CANCELLED: u64 = 6;

/// What a session is left with.
const CHANGES: [&[&str]; 6] = [
    &["SELECT", "5"],
    &["WATCH", "added"],
    &["MULTI"],
    &["CLIENT", "SETNAME", "somebody"],
    &["CLIENT", "TRACKING", "ON"],
    &["READONLY"],
];

pub(super) async fn borrow(world: Arc<World>, number: u64) {
    let mut borrower = Borrower {
        // Other numbers than those of the callers.
        chance: world.chance(1_000 + number),
        number,
        round: 0,
        counter: Executed::default(),
        added: Executed::default(),
        world,
    };
    while borrower.world.runs() {
        let acquire = borrower.world.pool.acquire();
        let lease = perhaps(&mut borrower.chance, CANCELLED, acquire).await;
        match borrower.world.tally.value(lease) {
            Some(lease) => borrower.use_up(lease).await,
            None => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
    let counter = format!("borrowed:{number}");
    borrower.world.counted(&counter, borrower.counter);
    borrower.world.counted("added", borrower.added);
}

struct Borrower {
    world: Arc<World>,
    chance: Chance,
    number: u64,
    round: u64,
    counter: Executed,
    added: Executed,
}

impl Borrower {
    async fn use_up(&mut self, mut lease: Lease) {
        for _ in 0..self.chance.below(5) {
            self.round += 1;
            let goes_on = match self.chance.below(8) {
                0 | 1 => self.echoes(&mut lease).await,
                2 => self.count(&mut lease).await,
                3 => self.look(&mut lease).await,
                4 | 5 => self.add(&mut lease).await,
                6 => self.wait(&mut lease).await,
                _ => self.change(&mut lease).await,
            };
            if !goes_on {
                break;
            }
        }
        if self.chance.one_in(50) {
            lease.discard();
        }
    }

    async fn echoes(&mut self, lease: &mut Lease) -> bool {
        let tokens: Vec<_> = (0..=self.chance.below(20))
            .map(|part| format!("lease {} {} {part}", self.number, self.round))
            .collect();
        let asked = pipeline().extend(tokens.iter().map(|token| echo(token)));
        let Some(heard) = perhaps(&mut self.chance, CANCELLED, lease.run(asked)).await else {
            // What is run behind it has to be right all the same.
            return true;
        };
        let mut all = true;
        for (heard, token) in heard.into_iter().zip(tokens) {
            match self.world.tally.value(Some(heard)) {
                Some(heard) => assert_eq!(heard, token),
                None => all = false,
            }
        }
        all
    }

    async fn count(&mut self, lease: &mut Lease) -> bool {
        let asked = lease.run(incr(format!("borrowed:{}", self.number)));
        let counted = perhaps(&mut self.chance, CANCELLED, asked).await;
        self.world.tally.note(counted, &mut self.counter).is_some()
    }

    /// The session is as it began, whoever had it before.
    async fn look(&mut self, lease: &mut Lease) -> bool {
        let asked = lease.run(cmd::<String>("CLIENT INFO"));
        let info = perhaps(&mut self.chance, CANCELLED, asked).await;
        let Some(info) = self.world.tally.value(info) else {
            return false;
        };
        let name = format!(" name={POOL} ");
        for new in [
            name.as_str(),
            " db=0 ",
            " sub=0 ",
            " multi=-1 ",
            " resp=3",
            " redir=-1 ",
        ] {
            assert!(info.contains(new), "not as it began: {new} in {info}");
        }
        true
    }

    /// Adds one to what everybody adds to, by reading and writing.
    async fn add(&mut self, lease: &mut Lease) -> bool {
        let added = perhaps(&mut self.chance, CANCELLED, add_one(lease)).await;
        match added {
            Some(Ok(Commit::Conflict)) => true,
            Some(Ok(Commit::Applied(()))) => {
                self.world.tally.note(Some(Ok(())), &mut self.added);
                true
            }
            Some(Err(error)) => {
                self.world
                    .tally
                    .note::<()>(Some(Err(error)), &mut self.added);
                false
            }
            None => {
                self.world.tally.note::<()>(None, &mut self.added);
                true
            }
        }
    }

    /// Waits for what never comes, and not always to the end.
    async fn wait(&mut self, lease: &mut Lease) -> bool {
        let pop = blpop::<String>("nothing", Some(Duration::from_millis(10)));
        let popped = perhaps(&mut self.chance, 2, lease.run(pop)).await;
        self.world.tally.value(popped).is_some_and(|popped| {
            assert_eq!(popped, None);
            true
        })
    }

    /// Leaves the session changed, and uses it no more.
    async fn change(&mut self, lease: &mut Lease) -> bool {
        let change = CHANGES[usize::try_from(self.chance.below(6)).unwrap()];
        let change = cmd::<()>(change[0]).args(&change[1..]);
        let changed = perhaps(&mut self.chance, CANCELLED, lease.run(change)).await;
        // A server that is not of a cluster refuses one of them.
        if let Some(Err(error)) = &changed
            && error
                .server()
                .is_some_and(|said| said.text().contains("cluster"))
        {
            return false;
        }
        self.world.tally.value(changed);
        false
    }
}

async fn add_one(lease: &mut Lease) -> Result<Commit<()>, Error> {
    let mut transaction = lease.transaction();
    transaction.watch("added").await?;
    let now: Option<u64> = transaction.run(get("added")).await?;
    match transaction
        .commit(set("added", now.unwrap_or(0) + 1))
        .await?
    {
        Commit::Applied(done) => done.map(Commit::Applied),
        Commit::Conflict => Ok(Commit::Conflict),
    }
}
