//! A server that answers as a test says.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use arknet_proto::redis::server::{RequestDecoder, RequestLimits};

/// Runs until it is dropped. `HELLO` and what else a session begins with it answers itself.
pub(crate) struct Fake {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
    thread: Option<JoinHandle<()>>,
}

type Answer = dyn FnMut(&[Vec<u8>], &mut TcpStream) + Send;

impl Fake {
    /// `answer` gets each request and writes what it likes; it is made anew for each connection.
    pub(crate) fn start<A>(mut make: impl FnMut() -> A + Send + 'static) -> Self
    where
        A: FnMut(&[Vec<u8>], &mut TcpStream) + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let ended = Arc::new(AtomicBool::new(false));
        let streams = Arc::new(Mutex::new(Vec::new()));
        let (over, open) = (ended.clone(), streams.clone());
        let thread = thread::spawn(move || {
            let mut connections = Vec::new();
            for stream in listener.incoming() {
                if over.load(Ordering::Acquire) {
                    break;
                }
                let stream = stream.unwrap();
                open.lock().unwrap().push(stream.try_clone().unwrap());
                let mut answer: Box<Answer> = Box::new(make());
                connections.push(thread::spawn(move || serve(stream, &mut answer)));
            }
            for connection in connections {
                let _ = connection.join();
            }
        });
        Self {
            address,
            ended,
            streams,
            thread: Some(thread),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        for stream in self.streams.lock().unwrap().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // Its accept is waiting for somebody.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(mut stream: TcpStream, answer: &mut Answer) {
    stream.set_nodelay(true).unwrap();
    let mut decoder = RequestDecoder::new(RequestLimits::default());
    let mut received = Vec::new();
    let mut piece = [0; 16 * 1024];
    loop {
        let Ok(count @ 1..) = stream.read(&mut piece) else {
            return;
        };
        received.extend_from_slice(&piece[..count]);
        while let Some(words) = next(&mut decoder, &mut received) {
            let written = match words[0].to_ascii_uppercase().as_slice() {
                b"HELLO" => stream.write_all(b"%1\r\n$5\r\nproto\r\n:3\r\n"),
                b"CLIENT" | b"SELECT" => stream.write_all(b"+OK\r\n"),
                b"RESET" => stream.write_all(b"+RESET\r\n"),
                _ => {
                    answer(&words, &mut stream);
                    Ok(())
                }
            };
            if written.is_err() {
                return;
            }
        }
    }
}

fn next(decoder: &mut RequestDecoder, received: &mut Vec<u8>) -> Option<Vec<Vec<u8>>> {
    let request = decoder.decode(received).unwrap()?;
    let words = request.arguments().map(<[u8]>::to_vec).collect();
    let len = request.consumed();
    received.drain(..len);
    Some(words)
}
