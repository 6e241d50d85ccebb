//! The cells: every work on every server with everybody who does it.

use std::time::Duration;

use super::load::{Load, Place};
use super::variant::{Taking, Variant};
use super::work;
use crate::cell::{Cell, Match, Pace, Runner, Start};
use crate::failure::Failure;
use crate::meter::Phases;

/// Seven pairs at least: what a claim is made from.
pub(crate) fn pace(short: bool, wanted: Option<usize>) -> Pace {
    if short {
        Pace::new(7, (0.1, 0.3), Duration::from_secs(8 * 60), wanted)
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
    stand_in: Option<&str>,
    only: Option<&str>,
    places: &[Place],
) -> Result<Vec<Cell>, Failure> {
    let phases = Phases {
        warmup: pace.warmup,
        seconds: pace.seconds,
    };
    let loads = places.iter().flat_map(|place| {
        let works = work::ALL.iter();
        works.map(|work| Load::new(*work, phases, place.clone()))
    });
    let wanted = |load: &Load| only.is_none_or(|part| load.name().contains(part));
    let cells = loads
        .filter(wanted)
        .map(|load| cell(&load, pace, stand_in))
        .collect::<Result<Vec<_>, _>>()?;
    if cells.is_empty() {
        let part = only.unwrap_or_default();
        return Err(Failure::Usage(format!("no work is called like {part}")));
    }
    Ok(cells)
}

fn cell(load: &Load, pace: Pace, stand_in: Option<&str>) -> Result<Cell, Failure> {
    let Taking { ours, peers } = Taking::part_in(&load.work.kind);
    let ours = match stand_in {
        Some(name) => peers.iter().filter(|peer| peer.name == name).collect(),
        None => ours.iter().collect::<Vec<_>>(),
    };
    let flags = load.flags()?;
    let runner = |variant: &Variant| Runner {
        name: variant.name,
        start: Start::Here(
            [
                vec!["run-mysql".to_owned(), variant.name.to_owned()],
                flags.clone(),
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
    Ok(Cell {
        title: load.name(),
        matches: matches.collect(),
        ours: ours.into_iter().map(runner).collect(),
        peers,
        a_run: pace.a_run(),
        rounds: pace.rounds,
    })
}
