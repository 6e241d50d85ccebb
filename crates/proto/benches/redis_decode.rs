//! What it costs to find and decode Redis replies, in processor time of the thread.
//!
//! Every case appends a stream of replies to a buffer in reads of a size, as a connection would, scans
//! after each, and decodes what is whole. `scan` is the same without decoding.
//!
//! `cargo bench -p arknet-proto --bench redis_decode` prints nanoseconds for each case, the median of
//! some rounds. For instructions, run the binary under `valgrind --tool=callgrind` as
//! `redis_decode "get 20 B" 1000`, and again with 2000.

#![allow(missing_docs, reason = "a program")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking"
)]

use std::hint::black_box;

use arknet_proto::redis::{Frame, FromReply, ReplyLimits, Scanner};
use rustix::time::{ClockId, clock_gettime};

const ROUNDS: usize = 9;
/// Processor time of one case in one round, in nanoseconds: long against the clock's resolution.
const ROUND: u64 = 30_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let mut cases = cases();
    match arguments.as_slice() {
        [name, times] => {
            let times = times.parse().unwrap();
            let case = cases.iter_mut().find(|case| case.name == name).unwrap();
            (0..times).for_each(|_| case.run());
        }
        // `cargo test` runs benches without this flag: only whether they work is asked then.
        _ if std::env::args().any(|argument| argument == "--bench") => report(&mut cases),
        _ => cases.iter_mut().for_each(Case::run),
    }
}

fn report(cases: &mut [Case]) {
    println!("{:<42} {:>10}", "case", "ns");
    for case in cases {
        let mut rounds: Vec<u64> = (0..ROUNDS).map(|_| case.round()).collect();
        rounds.sort_unstable();
        println!("{:<42} {:>10}", case.name, rounds[ROUNDS / 2]);
    }
}

struct Case {
    name: &'static str,
    stream: Vec<u8>,
    /// Bytes of a read.
    read: usize,
    frames: usize,
    decode: fn(Frame, &[u8]),
    scanner: Scanner,
    buffer: Vec<u8>,
}

impl Case {
    fn new(name: &'static str, stream: Vec<u8>, read: usize, decode: fn(Frame, &[u8])) -> Self {
        let mut case = Self {
            name,
            read: read.min(stream.len()),
            frames: 0,
            decode,
            scanner: Scanner::new(ReplyLimits::default()),
            buffer: Vec::with_capacity(2 * stream.len().max(64 << 10)),
            stream,
        };
        case.frames = case.pass();
        case
    }

    fn run(&mut self) {
        let frames = self.pass();
        assert_eq!(frames, self.frames);
    }

    fn pass(&mut self) -> usize {
        let mut frames = 0;
        for piece in self.stream.chunks(self.read) {
            self.buffer.extend_from_slice(piece);
            let mut taken = 0;
            while let Some(frame) = self.scanner.scan(&self.buffer[taken..]).unwrap() {
                (self.decode)(frame, &self.buffer[taken..]);
                taken += frame.len;
                frames += 1;
            }
            self.buffer.drain(..taken);
        }
        assert!(self.buffer.is_empty());
        frames
    }

    fn round(&mut self) -> u64 {
        let (start, mut passes) = (thread_time(), 0);
        loop {
            self.run();
            passes += 1;
            let spent = thread_time() - start;
            if spent >= ROUND {
                return spent / passes;
            }
        }
    }
}

fn thread_time() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(now.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap()
}

fn to<T: FromReply>(frame: Frame, buffer: &[u8]) {
    black_box(T::from_reply(frame.reply(buffer).unwrap()).unwrap());
}

fn unread(frame: Frame, _: &[u8]) {
    black_box(frame);
}

fn cases() -> Vec<Case> {
    const SMALL: usize = 8 << 10;
    const LARGE: usize = 16 << 10;
    const WHOLE: usize = usize::MAX;
    let bulk = |len: usize| [format!("${len}\r\n").as_bytes(), &vec![b'x'; len], b"\r\n"].concat();
    let list = |kind: &str, count: usize, elements: usize, len: usize| {
        [
            format!("{kind}{count}\r\n").as_bytes(),
            &bulk(len).repeat(elements),
        ]
        .concat()
    };
    let gets = bulk(20).repeat(1_000);
    let integers: Vec<u8> = (0..1_000)
        .flat_map(|n| format!(":{n}\r\n").into_bytes())
        .collect();
    let mget = list("*", 100, 100, 1_024);
    let lrange = list("*", 5_000, 5_000, 50);
    let map = list("%", 1_000, 2_000, 50);
    let large = bulk(1 << 20);
    type Pairs = Vec<(String, String)>;
    vec![
        Case::new("get 20 B, scan", gets.clone(), SMALL, unread),
        Case::new("get 20 B", gets.clone(), SMALL, to::<String>),
        Case::new("get 20 B, bytes", gets, SMALL, to::<Vec<u8>>),
        Case::new("integers, scan", integers.clone(), SMALL, unread),
        Case::new("integers", integers, SMALL, to::<i64>),
        Case::new("mget 100 of 1 KiB, scan", mget.clone(), LARGE, unread),
        Case::new("mget 100 of 1 KiB", mget, LARGE, to::<Vec<Vec<u8>>>),
        Case::new(
            "lrange 5000 of 50 B whole, scan",
            lrange.clone(),
            WHOLE,
            unread,
        ),
        Case::new(
            "lrange 5000 of 50 B in reads, scan",
            lrange.clone(),
            LARGE,
            unread,
        ),
        Case::new(
            "lrange 5000 of 50 B whole",
            lrange.clone(),
            WHOLE,
            to::<Vec<String>>,
        ),
        Case::new(
            "lrange 5000 of 50 B in reads",
            lrange,
            LARGE,
            to::<Vec<String>>,
        ),
        Case::new("hgetall 1000 of 50 B, scan", map.clone(), LARGE, unread),
        Case::new("hgetall 1000 of 50 B", map, LARGE, to::<Pairs>),
        Case::new("get 1 MiB, scan", large.clone(), LARGE, unread),
        Case::new("get 1 MiB", large, LARGE, to::<Vec<u8>>),
    ]
}
