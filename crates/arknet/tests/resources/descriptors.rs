//! A process without a free descriptor goes on: it says so about once a second, does not burn a core over it, and accepts
//! again when there are some.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

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
        let whole = getrlimit(Resource::Nofile);
        setrlimit(
            Resource::Nofile,
            Rlimit {
                current: Some(limit_with_free(LEFT)),
                maximum: whole.maximum,
            },
        )
        .unwrap();
        let mut sockets = exhaust(address);
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
        // Some end, and the one that waited in the kernel's queue is served.
        let mut last = sockets.pop().unwrap();
        sockets.truncate(sockets.len() / 2);
        rig.beside(move || talk(&mut last));
        setrlimit(Resource::Nofile, whole).unwrap();
        rig.beside(move || talk(&mut TcpStream::connect(address).unwrap()));
        drop(sockets);
        rig.finish(server);
    }
}

/// Connects until there is no descriptor left, for client or server.
fn exhaust(address: SocketAddr) -> Vec<TcpStream> {
    let mut sockets = Vec::new();
    while let Ok(socket) = TcpStream::connect(address) {
        sockets.push(socket);
        assert!(sockets.len() as u64 <= 2 * LEFT, "the limit does not hold");
    }
    sockets
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
