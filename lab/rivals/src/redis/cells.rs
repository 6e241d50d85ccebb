//! The cells: every work with everybody who does it.

use std::net::SocketAddr;
use std::time::Duration;

use super::load::Load;
use super::variant::{Taking, Variant};
use super::work::{self, Work};
use crate::cell::{Cell, Match, Pace, Runner, Start};
use crate::failure::Failure;

/// Threads of the works that are reported beside the gate.
const THREADS: usize = 2;

/// A decoder alone has no server to wait for, and its passes are short.
const DECODING_SHARE: f64 = 0.4;

/// Rounds of a short run in which the works on two threads take part: they are reported, the gate
/// is the current-thread runtime.
const SHORT_ROUNDS_ON_THREADS: usize = 3;

/// Seven pairs at least: what a claim is made from.
pub(crate) fn pace(short: bool, wanted: Option<usize>) -> Pace {
    if short {
        Pace::new(7, (0.1, 0.25), Duration::from_secs(6 * 60), wanted)
    } else {
        Pace::new(7, (0.3, 1.2), Duration::from_secs(40 * 60), wanted)
    }
}

/// The cells whose work's name contains `only`. With `stand_in`, that peer takes our place.
///
/// # Errors
///
/// When no work is left.
pub(crate) fn cells(
    pace: Pace,
    short: bool,
    stand_in: Option<&str>,
    only: Option<&str>,
    address: SocketAddr,
) -> Result<Vec<Cell>, Failure> {
    let of = |work: Work, threads| Load {
        work,
        threads,
        warmup: pace.warmup,
        seconds: pace.seconds,
        address: Some(address),
    };
    let with_server = || work::WITH_SERVER.iter().copied();
    let gate = with_server().map(|work| of(work, 1));
    let threads = with_server().map(|work| of(work, THREADS));
    let decoding = work::decoding().map(|work| Load {
        warmup: pace.warmup * DECODING_SHARE,
        seconds: pace.seconds * DECODING_SHARE,
        ..of(work, 1)
    });
    let wanted = |load: &Load| only.is_none_or(|part| load.name().contains(part));
    let loads = gate.chain(decoding).chain(threads).filter(wanted);
    let cells = loads.map(|load| {
        let rounds = match load.threads {
            1 => pace.rounds,
            _ if short => pace.rounds.min(SHORT_ROUNDS_ON_THREADS),
            _ => pace.rounds,
        };
        cell(&load, pace, rounds, stand_in)
    });
    let cells = cells.collect::<Vec<_>>();
    if cells.is_empty() {
        let part = only.unwrap_or_default();
        return Err(Failure::Usage(format!("no work is called like {part}")));
    }
    Ok(cells)
}

fn cell(load: &Load, pace: Pace, rounds: usize, stand_in: Option<&str>) -> Cell {
    let Taking { ours, peers } = Taking::part_in(&load.work.kind);
    let ours = match stand_in {
        Some(name) => peers.iter().filter(|peer| peer.name == name).collect(),
        None => ours.iter().collect::<Vec<_>>(),
    };
    let runner = |variant: &Variant| Runner {
        name: variant.name,
        start: Start::Here(
            [
                vec!["run-redis".to_owned(), variant.name.to_owned()],
                load.flags(),
            ]
            .concat(),
        ),
    };
    let peers = peers.iter().map(runner).collect::<Vec<_>>();
    let matches = (0..ours.len()).flat_map(|ours| {
        (0..peers.len()).map(move |peer| Match {
            work: load.name(),
            ours,
            peer,
        })
    });
    Cell {
        title: load.name(),
        matches: matches.collect(),
        ours: ours.into_iter().map(runner).collect(),
        peers,
        a_run: pace.a_run(),
        rounds,
    }
}
