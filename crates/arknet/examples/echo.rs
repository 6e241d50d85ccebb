//! An echo server, in both styles.
//!
//! ```sh
//! cargo run -p arknet --example echo                              # shows both on loopback
//! cargo run -p arknet --example echo -- callbacks 127.0.0.1:7000  # serves until it is interrupted
//! cargo run -p arknet --example echo -- async 127.0.0.1:7000
//! ```
//!
//! Without a framing a message is whatever has arrived, which is all that an echo needs.
#![allow(clippy::print_stdout, reason = "standard output belongs to programs")]

use std::error::Error;
use std::time::Duration;

use arknet::tcp::{ClientConfig, Server, ServerConfig, connect};
use arknet::{Connection, Lanes, Session};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let lanes = Lanes::sharded(2)?;
    let server = match arguments[..] {
        [] => return demo(),
        ["callbacks", address] => with_callbacks(&lanes, address)?,
        ["async", address] => with_async_code(&lanes, address)?,
        _ => return Err("usage: echo [callbacks|async ADDRESS]".into()),
    };
    println!("echoes on {}", server.local_addr());
    // The lanes have threads of their own; this one has nothing left to do.
    lanes.block_on(std::future::pending())?
}

/// Callbacks: a closure is a handler that has messages only.
fn with_callbacks(lanes: &Lanes, address: &str) -> Result<Server, arknet::Error> {
    Server::start(lanes, address, ServerConfig::new(), |_| {
        |session: &mut Session, message: &[u8]| {
            // Refused means that the peer does not read what it asked for: 16 MiB of it wait.
            if session.send(message).is_err() {
                session.close();
            }
        }
    })
}

/// Async code: `send` waits for room instead, which also keeps from reading more.
fn with_async_code(lanes: &Lanes, address: &str) -> Result<Server, arknet::Error> {
    Server::serve(lanes, address, ServerConfig::new(), echo)
}

async fn echo(mut connection: Connection) {
    while let Ok(Some(message)) = connection.recv().await {
        if connection.send(message).await.is_err() {
            return;
        }
    }
}

/// Serves in both styles on a free port, and asks each for an echo.
pub(crate) fn demo() -> Result<(), Box<dyn Error>> {
    let lanes = Lanes::sharded(2)?;
    for (style, server) in [
        ("callbacks", with_callbacks(&lanes, "127.0.0.1:0")?),
        ("async", with_async_code(&lanes, "127.0.0.1:0")?),
    ] {
        let answer = lanes.block_on(ask(&lanes, &server))??;
        assert_eq!(answer, b"hello");
        println!("{style}: {}", String::from_utf8_lossy(&answer));
        let report = server.shutdown(Duration::from_secs(5)).wait()?;
        assert_eq!(report.forced, 0);
    }
    Ok(())
}

async fn ask(lanes: &Lanes, server: &Server) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut connection = connect(lanes, server.local_addr(), ClientConfig::new()).await?;
    connection.send("hello").await?;
    let mut answer = Vec::new();
    // Raw: five bytes that were sent at once may come in pieces.
    while answer.len() < 5 {
        let piece = connection.recv().await?.ok_or("the server hung up")?;
        answer.extend_from_slice(&piece);
    }
    connection.close().await;
    Ok(answer)
}
