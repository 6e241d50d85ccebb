//! Replies in pieces, large ones and small, and what is kept of their buffers.

use bytes::BufMut;
use proptest::prelude::*;

use super::*;

fn incoming() -> Incoming {
    Incoming::new(ReplyLimits::default(), BytesMut::new())
}

/// Everything that is whole after these bytes have come in pieces: replies and pushes, in order each.
fn feed(incoming: &mut Incoming, mut bytes: &[u8], piece: usize) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let (mut replies, mut pushes) = (Vec::new(), Vec::new());
    while !bytes.is_empty() {
        let buffer = incoming.buffer();
        let room = buffer.capacity() - buffer.len();
        assert!(
            room >= LEAST_ROOM,
            "a read of {room} bytes is worth nothing"
        );
        let (now, later) = bytes.split_at(piece.min(room).min(bytes.len()));
        buffer.put_slice(now);
        bytes = later;
        incoming.note_read(now.len());
        while incoming.scan().unwrap().is_some() {
            let wave = incoming.wave();
            for frame in wave.frames {
                let reply = &wave.bytes[frame.clone()];
                let shared = wave.shared.map(|shared| &shared[frame.clone()]);
                assert!(shared.is_none_or(|shared| shared == reply));
                replies.push(reply.to_vec());
            }
            pushes.extend(incoming.pushes().map(<[u8]>::to_vec));
            incoming.settle();
        }
    }
    (replies, pushes)
}

fn bulk(length: usize) -> Vec<u8> {
    let mut frame = format!("${length}\r\n").into_bytes();
    frame.extend((0..length).map(|at| b'a' + (at % 26) as u8));
    frame.extend(b"\r\n");
    frame
}

#[test]
fn a_read_only_server_is_noticed() {
    let mut incoming = incoming();
    incoming
        .buffer()
        .put_slice(b"+OK\r\n-READONLY You can't write\r\n");
    let scanned = incoming.scan().unwrap().unwrap();
    assert!(scanned.read_only && !scanned.full);
}

#[test]
fn a_wave_is_bounded() {
    let mut incoming = incoming();
    incoming.buffer().put_slice(&b"+OK\r\n".repeat(1000));
    assert!(incoming.scan().unwrap().unwrap().full);
    assert_eq!(incoming.wave().frames.len(), FRAMES);
}

#[test]
fn an_announced_reply_costs_nothing_before_it_comes() {
    let mut incoming = incoming();
    feed(&mut incoming, b"$60000000\r\nabc", 100);
    incoming.make_room();
    assert!(incoming.buffer.capacity() <= GROWTH * ROOM + ROOM);
}

#[test]
fn what_a_large_reply_needed_is_given_back() {
    let mut incoming = incoming();
    let large = bulk(20_000_000);
    let (replies, _) = feed(&mut incoming, &large, ROOM);
    assert!(replies == [large]);
    let (replies, _) = feed(&mut incoming, b"+OK\r\n", ROOM);
    assert_eq!(replies, [b"+OK\r\n"]);
    assert!(incoming.allocated <= KEPT, "{}", incoming.allocated);
    assert!(incoming.retired.iter().all(|old| old.capacity() <= KEPT));
}

#[test]
fn a_reply_of_many_elements_is_not_moved_for_each_read() {
    let mut incoming = incoming();
    let mut list = b"*1000000\r\n".to_vec();
    list.extend(b"$9\r\nsomething\r\n".repeat(1_000_000));
    let (mut moves, mut allocated) = (0, 0);
    for piece in list.chunks(ROOM / 4) {
        feed(&mut incoming, piece, piece.len());
        moves += usize::from(incoming.allocated != allocated);
        allocated = incoming.allocated;
    }
    assert!(moves < 12, "{moves} moves");
}

#[derive(Clone, Debug)]
enum Sent {
    Reply(usize),
    Push(usize),
    Line,
}

fn sent() -> impl Strategy<Value = Sent> {
    prop_oneof![
        6 => (0..40_usize).prop_map(Sent::Reply),
        1 => (4000..5000_usize).prop_map(Sent::Reply),
        1 => (10_000..200_000_usize).prop_map(Sent::Reply),
        1 => (0..5000_usize).prop_map(Sent::Push),
        2 => Just(Sent::Line),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn however_bytes_arrive_the_frames_are_the_same(
        all in prop::collection::vec(sent(), 1..40),
        piece in prop_oneof![1..50_usize, 1000..100_000_usize],
    ) {
        let (mut wire, mut replies, mut pushes) = (Vec::new(), Vec::new(), Vec::new());
        for one in all {
            match one {
                Sent::Reply(length) => {
                    let frame = bulk(length);
                    wire.extend(&frame);
                    replies.push(frame);
                }
                Sent::Push(length) => {
                    let mut frame = b">2\r\n+invalidate\r\n".to_vec();
                    frame.extend(bulk(length));
                    wire.extend(&frame);
                    pushes.push(frame);
                }
                Sent::Line => {
                    wire.extend(b":42\r\n");
                    replies.push(b":42\r\n".to_vec());
                }
            }
        }
        let found = feed(&mut incoming(), &wire, piece);
        prop_assert!(found == (replies, pushes));
    }
}
