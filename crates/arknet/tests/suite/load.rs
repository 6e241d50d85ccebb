//! Load: many clients, content and order and completions checked on both sides, restarts between rounds.

use std::sync::mpsc::channel;

use arknet::SendError;
use arknet::tcp::Client;

use crate::harness::{Cell, Host, LIMIT, Log, Role, eventually, pattern, receive, wait};

in_every_cell![nothing_is_lost_doubled_or_mixed_up];

const CLIENTS: usize = 8;
const ROUNDS: usize = 2;
const MESSAGES: usize = 100;

/// What a client sends: whose it is, and then bytes that only this message has.
fn message(round: usize, client: usize, number: usize) -> Vec<u8> {
    let seed = (round * CLIENTS + client) * MESSAGES + number;
    let mut message = vec![round as u8, client as u8, number as u8];
    message.extend(pattern(seed, 32 + seed % 792));
    message
}

fn nothing_is_lost_doubled_or_mixed_up(cell: Cell) {
    let host = Host::new(cell);
    let (probe, seen) = crate::harness::log();
    let mut address = None;
    for round in 0..ROUNDS {
        let at = address.clone().map_or_else(
            || host.address().to_string(),
            |at: arknet::PeerAddress| at.to_string(),
        );
        let server = host.server_on(at, host.server_config(), &probe, Role::Echo);
        address = Some(server.local_addr().clone());
        let mut clients: Vec<_> = (0..CLIENTS)
            .map(|_| host.client(&server, host.client_config()))
            .collect();
        std::thread::scope(|scope| {
            for (number, (client, log)) in clients.iter_mut().enumerate() {
                scope.spawn(move || drive(client, log, round, number));
            }
        });
        for (client, log) in &clients {
            let report = wait("the client ends", client.shutdown(LIMIT));
            assert_eq!(
                (report.closed, report.forced, report.dropped_messages),
                (1, 0, 0)
            );
            log.ended();
        }
        for _ in 0..CLIENTS {
            seen.ended();
        }
        eventually("no session is left", || server.is_empty());
        let report = wait("the server ends", server.shutdown(LIMIT));
        assert_eq!(report, arknet::ShutdownReport::default());
    }
    host.finish();
}

fn drive(client: &Client, log: &mut Log, round: usize, number: usize) {
    log.opened();
    let (told, completions) = channel::<(usize, Result<usize, SendError>)>();
    for index in 0..MESSAGES {
        let told = told.clone();
        let completed = move |_: &mut arknet::Session, sent| told.send((index, sent)).unwrap();
        client
            .handle()
            .send_with(message(round, number, index), completed)
            .unwrap();
    }
    drop(told);
    for index in 0..MESSAGES {
        let expected = message(round, number, index);
        assert!(
            log.message() == expected,
            "round {round}, client {number}, message {index}"
        );
        let (completed, sent) = receive(&completions, "a completion");
        assert_eq!((completed, sent.unwrap()), (index, expected.len()));
    }
    assert!(completions.recv().is_err(), "each send completes once");
}
