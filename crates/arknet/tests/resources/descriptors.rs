//! A process without a free descriptor goes on: it says so about once a second, does not burn a core over it, and accepts
//! again when there are some.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use socket2::{Domain, Socket, Type};

use crate::support::{At, Carrier, Cell, Model, PATIENCE, Rig, Style, What, ip};

/// Descriptors that are left to the process when its limit is lowered.
const LEFT: u64 = 20;

/// Failures that are waited for.
const FAILURES: usize = 3;

/// The time between two failures.
const RETRY: Duration = Duration::from_secs(1);

/// A length prefix and a payload.
const HELLO: &[u8] = b"\x05hello";

#[test]
fn counted_descriptors_run_out_and_accepting_goes_on() {
    for style in [Style::Callbacks, Style::Async] {
        let rig = Rig::new(Cell::new(Carrier::Tcp, style, Model::Sharded4));
        let server = rig.echo();
        let address = ip(&server);
        talk(&mut TcpStream::connect(address).unwrap());
        // Made before, because a socket is a descriptor too.
        let waiting = [(); 2].map(|()| Socket::new(Domain::IPV4, Type::STREAM, None).unwrap());
        let whole = getrlimit(Resource::Nofile);
        let limit = Rlimit {
            current: Some(limit_with_free(LEFT)),
            maximum: whole.maximum,
        };
        setrlimit(Resource::Nofile, limit).unwrap();
        let fillers = exhaust();
        let mut waiting = waiting.map(|socket| {
            socket.connect(&address.into()).unwrap();
            TcpStream::from(socket)
        });
        let (began, cpu) = (Instant::now(), processor_time());
        let texts = rig.wait("failures to accept", |facts| {
            let failed: Vec<String> = facts
                .iter()
                .filter_map(|fact| match &fact.what {
                    What::AcceptFailed(text) if fact.at == At::Server => Some(text.clone()),
                    _ => None,
                })
                .collect();
            (failed.len() >= FAILURES).then_some(failed)
        });
        let (took, spent) = (began.elapsed(), processor_time() - cpu);
        assert_eq!(texts.len(), FAILURES);
        assert!(
            texts
                .iter()
                .all(|text| text.contains("Too many open files")),
            "{texts:?}"
        );
        // The first came at once, the others a second apart.
        assert!(
            took >= RETRY * (FAILURES as u32 - 1) - RETRY / 2,
            "{took:?}"
        );
        assert!(spent < took / 4, "{spent:?} of processor time in {took:?}");
        // There are some again, and those that waited in the kernel's queue are served.
        drop(fillers);
        rig.beside(move || waiting.iter_mut().for_each(talk));
        setrlimit(Resource::Nofile, whole).unwrap();
        rig.beside(move || talk(&mut TcpStream::connect(address).unwrap()));
        rig.finish(server);
    }
}

/// Opens files until there is no descriptor left.
fn exhaust() -> Vec<File> {
    let mut files = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        files.push(file);
        // One more is free since the folder that told of the others was closed.
        assert!(files.len() as u64 <= LEFT + 1, "the limit does not hold");
    }
    files
}

fn talk(stream: &mut TcpStream) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(HELLO).unwrap();
    let mut echo = [0; HELLO.len()];
    stream.read_exact(&mut echo).unwrap();
    assert_eq!(echo, HELLO);
}

/// The limit that leaves so many descriptors free; those above it stay open and count no more.
fn limit_with_free(free: u64) -> u64 {
    let open: BTreeSet<u64> = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    let mut left = free;
    let mut limit = 0;
    while left > 0 {
        left -= u64::from(!open.contains(&limit));
        limit += 1;
    }
    limit
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.try_into().unwrap(),
        time.tv_nsec.try_into().unwrap(),
    )
}
