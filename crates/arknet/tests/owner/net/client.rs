//! Clients of an owner: they connect again, and each connection is opened after the last was closed.

use std::sync::Arc;
use std::time::Duration;

use arknet::owner::net::{Client, Handler, Server, Session};
use arknet::tcp::{ClientConfig, Framing, ReconnectPolicy};
use arknet::{CloseReason, Error};

use super::rig::{everywhere, lines, text};

#[derive(Default)]
struct World {
    trace: Vec<String>,
    failed: usize,
    served: usize,
}

/// Stays from one connection to the next.
struct Caller {
    connections: usize,
}

impl Handler<World> for Caller {
    fn on_open(&mut self, world: &mut World, session: &Session) {
        self.connections += 1;
        world.trace.push(format!("opened {}", self.connections));
        session
            .send(format!("call {}\n", self.connections))
            .unwrap();
    }

    fn on_message(&mut self, world: &mut World, _: &Session, message: &[u8]) {
        world.trace.push(text(message));
    }

    fn on_close(&mut self, world: &mut World, _: &Session, _: &CloseReason) {
        world.trace.push(format!("closed {}", self.connections));
    }

    fn on_connect_failed(&mut self, world: &mut World, _: &Arc<Error>) {
        world.failed += 1;
    }
}

fn config() -> ClientConfig {
    ClientConfig::new()
        .framing(Framing::delimited("\n").unwrap())
        .reconnect(ReconnectPolicy::fixed(Duration::from_millis(1)))
}

#[test]
fn a_client_connects_again_and_again_in_order() {
    everywhere::<World>(|stage| {
        let server = Server::start(stage, "127.0.0.1:0", lines(), |_, _| {
            |world: &mut World, session: &Session, message: &[u8]| {
                world.served += 1;
                session.send(message).unwrap();
                session.close();
            }
        })
        .unwrap();
        let client = Client::start(
            stage,
            server.local_addr(),
            config(),
            Caller { connections: 0 },
        )
        .unwrap();
        stage.until(|world| world.trace.len() >= 30);
        let shutdown = client.shutdown(Duration::from_secs(10));
        let ended = stage
            .spawn(async move |cx| {
                let _ = shutdown.await;
                cx.with(|world| world.failed = usize::MAX);
            })
            .unwrap();
        stage.until(|world| world.failed == usize::MAX);
        assert!(ended.is_finished());
        while client.session().is_some() || !server.is_empty() {
            let _ = stage.update();
        }
        for (round, heard) in stage.world.trace.chunks_exact(3).enumerate() {
            let round = round + 1;
            let expected = [
                format!("opened {round}"),
                format!("call {round}"),
                format!("closed {round}"),
            ];
            assert_eq!(heard, expected);
        }
    });
}

#[test]
fn failures_to_connect_are_told_and_the_client_goes_on() {
    everywhere::<World>(|stage| {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let client = Client::start(stage, address, config(), Caller { connections: 0 }).unwrap();
        stage.until(|world| world.failed >= 3);
        assert!(client.session().is_none() && stage.world.trace.is_empty());
    });
}

#[test]
fn the_task_of_a_client_ends_it() {
    everywhere::<World>(|stage| {
        let server = Server::serve(
            stage,
            "127.0.0.1:0",
            lines(),
            |_, mut connection| async move {
                while let Ok(Some(message)) = connection.recv().await {
                    connection.send(message).unwrap();
                }
            },
        )
        .unwrap();
        let client = Client::run(
            stage,
            server.local_addr(),
            config(),
            |cx, mut connection| async move {
                for number in 0..100 {
                    connection.send(format!("{number}\n")).unwrap();
                    let answer = connection.recv_with(text).await.unwrap();
                    assert_eq!(answer.unwrap(), number.to_string());
                }
                cx.with(|world| world.served += 1);
            },
        )
        .unwrap();
        stage.until(|world| world.served == 1);
        while client.session().is_some() || !server.is_empty() {
            let _ = stage.update();
        }
        // It does not come back.
        for _ in 0..100 {
            let _ = stage.update();
        }
        assert_eq!(stage.world.served, 1);
    });
}
