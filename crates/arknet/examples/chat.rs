//! A chat room: callbacks, names, joining and leaving, and one message to everybody.
//!
//! ```sh
//! cargo run -p arknet --example chat                    # three people talk on loopback
//! cargo run -p arknet --example chat -- 127.0.0.1:7000  # a room; join it with `nc 127.0.0.1 7000`
//! ```
//!
//! A message is a line. The first line that somebody sends is their name. The room is shared by all sessions, which run
//! on several lanes, so it is behind a mutex; it holds handles, because sending to *another* session goes through its
//! handle.
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arknet::tcp::{ClientConfig, Framing, Server, ServerConfig, connect};
use arknet::{Bytes, CloseReason, Connection, Handler, Lanes, Session, SessionHandle, SessionId};

/// The longest line, with its end: more is no chat.
const LONGEST_LINE: usize = 1024;

/// What may wait for somebody who reads slowly, in bytes and lines; who falls further behind is cut off.
const BACKLOG: (usize, usize) = (256 * 1024, 256);

fn main() -> Result<(), Box<dyn Error>> {
    let Some(address) = std::env::args().nth(1) else {
        return demo();
    };
    let lanes = Lanes::sharded(2)?;
    let server = open_room(&lanes, &address)?;
    println!("the room is open on {}", server.local_addr());
    lanes.block_on(std::future::pending())?
}

fn open_room(lanes: &Lanes, address: &str) -> Result<Server, arknet::Error> {
    let config = ServerConfig::new()
        .framing(Framing::delimited("\n")?)
        .max_message(LONGEST_LINE)
        .send_queue(BACKLOG.0, BACKLOG.1);
    let room = Arc::new(Room::default());
    Server::start(lanes, address, config, move |_| Guest {
        room: room.clone(),
        name: None,
    })
}

/// Who is there. A lock is held for as long as it takes to look, never while anybody is being sent to.
#[derive(Default)]
struct Room {
    present: Mutex<BTreeMap<SessionId, SessionHandle>>,
}

impl Room {
    fn enter(&self, session: &Session) {
        self.lock().insert(session.id(), session.handle());
    }

    fn leave(&self, id: SessionId) {
        self.lock().remove(&id);
    }

    /// Tells a line to everybody. Its bytes are shared, not copied for each.
    fn tell(&self, line: String) {
        let line = Bytes::from(line);
        let present: Vec<SessionHandle> = self.lock().values().cloned().collect();
        for session in present {
            // Closed is on its way out by itself; full has not read for a long time.
            if session
                .send(line.clone())
                .is_err_and(|error| error.is_full())
            {
                session.abort();
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<SessionId, SessionHandle>> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection. Its fields are its state.
struct Guest {
    room: Arc<Room>,
    name: Option<String>,
}

impl Handler for Guest {
    fn on_open(&mut self, session: &mut Session) {
        // Refused is closed already, and `on_close` follows.
        let _ = session.send("your name?\n");
    }

    fn on_message(&mut self, session: &mut Session, message: &[u8]) {
        let line = String::from_utf8_lossy(message);
        let line = line.trim();
        match &self.name {
            _ if line.is_empty() => {}
            Some(name) => self.room.tell(format!("{name}: {line}\n")),
            None => {
                self.room.enter(session);
                self.room.tell(format!("* {line} joins\n"));
                self.name = Some(line.to_owned());
            }
        }
    }

    fn on_close(&mut self, session: &mut Session, _: &CloseReason) {
        if let Some(name) = self.name.take() {
            self.room.leave(session.id());
            self.room.tell(format!("* {name} leaves\n"));
        }
    }
}

/// Two people join, talk, and one leaves.
pub(crate) fn demo() -> Result<(), Box<dyn Error>> {
    let lanes = Lanes::sharded(2)?;
    let server = open_room(&lanes, "127.0.0.1:0")?;
    lanes.block_on(talk(&lanes, &server))??;
    server.shutdown(Duration::from_secs(5)).wait()?;
    Ok(())
}

async fn talk(lanes: &Lanes, server: &Server) -> Result<(), Box<dyn Error>> {
    let mut ann = join(lanes, server, "Ann").await?;
    let mut ben = join(lanes, server, "Ben").await?;
    hear(&mut ann, "* Ben joins").await?;

    ben.send("hello\n").await?;
    hear(&mut ann, "Ben: hello").await?;
    hear(&mut ben, "Ben: hello").await?;

    ben.close().await;
    hear(&mut ann, "* Ben leaves").await?;
    Ok(())
}

async fn join(lanes: &Lanes, server: &Server, name: &str) -> Result<Connection, Box<dyn Error>> {
    let config = ClientConfig::new().framing(Framing::delimited("\n")?);
    let mut guest = connect(lanes, server.local_addr(), config).await?;
    hear(&mut guest, "your name?").await?;
    guest.send(format!("{name}\n")).await?;
    hear(&mut guest, &format!("* {name} joins")).await?;
    Ok(guest)
}

/// The next line, which is to be this one.
async fn hear(guest: &mut Connection, expected: &str) -> Result<(), Box<dyn Error>> {
    let line = guest.recv().await?.ok_or("the room is closed")?;
    let line = String::from_utf8_lossy(&line);
    println!("{}", line.trim_end());
    assert_eq!(line.trim_end(), expected);
    Ok(())
}
