//! The cells of the echo over TCP and TLS.

use std::time::Duration;

use crate::asio::Program;
use crate::cell::{Cell, Match, Pace, Runner, Start};
use crate::load::{Load, Protocol};
use crate::variant::{How, Side, Variant};

/// Enough pairs for a median that one disturbed round cannot move, and few enough that all rounds,
/// of 26 runs each with TCP, end well within the limit on a quiet machine.
pub(crate) fn pace(short: bool, wanted: Option<usize>) -> Pace {
    if short {
        Pace::new(5, (0.2, 0.6), Duration::from_secs(3 * 60), wanted)
    } else {
        // Compiling included.
        Pace::new(7, (0.5, 3.0), Duration::from_secs(20 * 60), wanted)
    }
}

/// The cells of a protocol. With `stand_in`, that peer takes our place.
pub(crate) fn cells(
    protocol: Protocol,
    pace: Pace,
    stand_in: Option<&'static Variant>,
    asio: &Program,
) -> Vec<Cell> {
    let shapes: &[(usize, usize)] = match protocol {
        Protocol::Tcp => &[(1, 1), (1, 16), (2, 1), (2, 16)],
        Protocol::Tls => &[(1, 1), (1, 16)],
    };
    let cell = |&(threads, window)| {
        let Pace {
            warmup, seconds, ..
        } = pace;
        let load = Load {
            payload: 1024,
            clients: 16,
            window,
            threads,
            warmup,
            seconds,
        };
        cell(protocol, &load, pace, stand_in, asio)
    };
    shapes.iter().map(cell).collect()
}

fn cell(
    protocol: Protocol,
    load: &Load,
    pace: Pace,
    stand_in: Option<&'static Variant>,
    asio: &Program,
) -> Cell {
    let able = |variant: &&Variant| variant.threads || load.threads == 1;
    let of = |side| {
        let all = Variant::all(protocol).iter();
        all.filter(move |v| v.side == side).filter(able)
    };
    let ours: Vec<&Variant> = match stand_in {
        Some(variant) => [variant].into_iter().filter(able).collect(),
        None => of(Side::Ours).collect(),
    };
    let peers: Vec<&Variant> = of(Side::Peer).collect();
    let runner = |variant: &&Variant| Runner {
        name: variant.name,
        start: start(variant, protocol, load, asio),
    };
    Cell {
        title: format!("{protocol} {}", load.name()),
        ours: ours.iter().map(runner).collect(),
        peers: peers.iter().map(runner).collect(),
        matches: matches(protocol, load, &ours, &peers),
        a_run: pace.a_run(),
        rounds: pace.rounds,
    }
}

/// Every pair that is compared; the work is named like `tcp callback 1 KiB 16x1 1 thread`.
fn matches(protocol: Protocol, load: &Load, ours: &[&Variant], peers: &[&Variant]) -> Vec<Match> {
    let mut matches = Vec::new();
    for (our, variant) in ours.iter().enumerate() {
        for (peer, other) in peers.iter().enumerate() {
            if variant.meets(other, load) {
                matches.push(Match {
                    work: format!("{protocol} {} {}", variant.name, load.name()),
                    ours: our,
                    peer,
                });
            }
        }
    }
    matches
}

fn start(variant: &Variant, protocol: Protocol, load: &Load, asio: &Program) -> Start {
    match (variant.how, asio) {
        (How::Here(_), _) => {
            let run_one = ["run-one", &protocol.to_string(), variant.name].map(str::to_owned);
            Start::Here([run_one.to_vec(), load.flags()].concat())
        }
        (How::Asio(style), Program::Ready(path)) => {
            let style = ["--style", style].map(str::to_owned);
            Start::Program(path.clone(), [style.to_vec(), load.flags()].concat())
        }
        (How::Asio(_), Program::Missing(why)) => Start::Missing(why.clone()),
        (How::Nowhere(why), _) => Start::Missing(why.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells_without_a_compiler() -> Vec<Cell> {
        let asio = Program::Missing("no compiler".to_owned());
        cells(Protocol::Tcp, pace(true, None), None, &asio)
    }

    #[test]
    fn a_work_is_named_after_ours_and_the_load() {
        let cells = cells_without_a_compiler();
        assert_eq!(cells[0].matches[0].work, "tcp callback 1 KiB 16x1 1 thread");
    }

    #[test]
    fn on_two_threads_each_style_meets_its_own() {
        let cells = cells_without_a_compiler();
        let two = &cells[2];
        let names = two
            .matches
            .iter()
            .map(|m| (two.ours[m.ours].name, two.peers[m.peer].name));
        let expected = [
            ("callback", "mio"),
            ("callback", "asio-callback"),
            ("async", "tokio"),
            ("async", "asio-coroutine"),
        ];
        assert_eq!(names.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn without_a_compiler_the_program_is_missing_and_the_rest_is_not() {
        let cells = cells_without_a_compiler();
        for runner in cells.iter().flat_map(Cell::runners) {
            let is_asio = runner.name.starts_with("asio");
            assert_eq!(runner.missing().is_some(), is_asio, "{}", runner.name);
        }
    }
}
