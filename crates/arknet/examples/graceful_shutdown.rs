//! A server that ends in good order on Ctrl-C: it stops accepting, answers what it has been asked, and goes.
//!
//! ```sh
//! cargo run -p arknet --example graceful_shutdown                    # shows it on loopback
//! cargo run -p arknet --example graceful_shutdown -- 127.0.0.1:7000  # until Ctrl-C; twice is at once
//! ```
//!
//! What has been accepted for sending is handed over, then each stream is ended and the peer's end awaited, all of it
//! until a deadline. A peer that does not read cannot hold the server longer than that; the report counts what was cut.
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

use std::error::Error;
use std::future::Future;
use std::time::Duration;

use arknet::tcp::{ClientConfig, Framing, Server, ServerConfig, connect};
use arknet::{Connection, Lanes, ShutdownReport};
use tokio::sync::oneshot;

/// How long the sessions have to end. What supervises the process should wait a little longer before it kills.
const DRAIN: Duration = Duration::from_secs(10);

/// How long an answer is, in bytes: more than the kernel takes at once, so that one is still on its way when the server is
/// told to end.
const ANSWER: usize = 8 * 1024 * 1024;

fn main() -> Result<(), Box<dyn Error>> {
    let Some(address) = std::env::args().nth(1) else {
        return demo();
    };
    let lanes = Lanes::shared(2)?;
    let server = serve(&lanes, &address)?;
    println!("serves on {}; Ctrl-C ends it", server.local_addr());
    let interrupted = async { tokio::signal::ctrl_c().await.map_err(Into::into) };
    let report = lanes.block_on(async {
        tokio::select! {
            report = until(interrupted, &server) => report,
            // Somebody who presses it again does not want to wait. One press wakes both.
            twice = pressed_twice() => { twice?; Err("interrupted twice".into()) }
        }
    })??;
    println!("{report:?}");
    lanes.block_on(lanes.shutdown(DRAIN))?;
    Ok(())
}

async fn pressed_twice() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await?;
    tokio::signal::ctrl_c().await
}

/// Serves until `stop` is there, and then drains.
async fn until(
    stop: impl Future<Output = Result<(), Box<dyn Error>>>,
    server: &Server,
) -> Result<ShutdownReport, Box<dyn Error>> {
    stop.await?;
    println!("draining {} sessions", server.len());
    Ok(server.shutdown(DRAIN).await)
}

fn serve(lanes: &Lanes, address: &str) -> Result<Server, arknet::Error> {
    let config = ServerConfig::new().framing(Framing::LengthPrefix);
    Server::serve(lanes, address, config, answer)
}

/// Answers at length. It need not know of the shutdown: `recv` says `None` when the session drains, as it does when the
/// peer has gone.
async fn answer(mut connection: Connection) {
    while let Ok(Some(message)) = connection.recv().await {
        if connection
            .send(message.repeat(ANSWER / message.len().max(1)))
            .await
            .is_err()
        {
            return;
        }
    }
}

/// Two clients, one of which waits for a long answer when the server is told to end: it gets all of it.
pub(crate) fn demo() -> Result<(), Box<dyn Error>> {
    let lanes = Lanes::shared(2)?;
    let server = serve(&lanes, "127.0.0.1:0")?;
    let (interrupt, interrupted) = oneshot::channel::<()>();
    let stop = async { interrupted.await.map_err(Into::into) };
    let clients = async {
        let config = ClientConfig::new().framing(Framing::LengthPrefix);
        let mut idle = connect(&lanes, server.local_addr(), config.clone()).await?;
        let mut busy = connect(&lanes, server.local_addr(), config).await?;
        idle.send("?").await?;
        idle.recv().await?.ok_or("no answer")?;

        busy.send("!").await?;
        tokio::time::timeout(DRAIN, under_way(&server)).await?;
        // The other half listens, or has failed and says so.
        let _ = interrupt.send(());
        let answer = busy.recv().await?.ok_or("the answer was lost")?;
        assert_eq!(answer.len(), ANSWER);
        assert_eq!(busy.recv().await?, None);
        assert_eq!(idle.recv().await?, None);
        Ok::<(), Box<dyn Error>>(())
    };
    let (report, clients) =
        lanes.block_on(async { tokio::join!(until(stop, &server), clients) })?;
    clients?;
    let report = report?;
    println!("{report:?}");
    assert_eq!(
        (report.closed, report.forced, report.dropped_bytes),
        (2, 0, 0)
    );
    Ok(())
}

/// Waits until an answer waits to be sent, because its client reads only later.
async fn under_way(server: &Server) {
    while server
        .sessions()
        .iter()
        .all(|session| session.queued_bytes() == 0)
    {
        tokio::task::yield_now().await;
    }
}
