//! The smallest client: it does what the engines say, and waits for everything.

use std::io::{Read, Write};
use std::process::Command;
use std::sync::Arc;

use arknet_proto::mysql::answer::{Conversation, Event};
use arknet_proto::mysql::auth::Encrypt;
use arknet_proto::mysql::command::{self, Params, Prepared, Request};
use arknet_proto::mysql::compression::{Compressor, Inflater};
use arknet_proto::mysql::handshake::{Config, Established, Handshake, HandshakeError, Step, Tls};
use arknet_proto::mysql::row::OwnedRow;
use arknet_proto::mysql::value::Value;
use arknet_proto::mysql::{Capabilities, Columns, Limits, ServerError};
use arknet_testkit::TempDir;
use arknet_testkit::process::which;
use rustls::ClientConfig;

use super::stream::Stream;

/// What the server takes: its `max_allowed_packet` in these tests.
pub(crate) const MAX_PACKET: usize = 64 << 20;

pub(crate) struct Driver {
    stream: Stream,
    pub(crate) established: Established,
    pub(crate) conversation: Conversation,
    compression: Option<(Compressor, Inflater)>,
    received: Vec<u8>,
    at: usize,
    /// Reads of the stream so far.
    pub(crate) reads: usize,
}

/// One result of a request.
#[derive(Debug, Default)]
pub(crate) struct ResultSet {
    pub(crate) columns: Option<Arc<Columns>>,
    pub(crate) rows: Vec<OwnedRow>,
    pub(crate) affected_rows: u64,
    pub(crate) last_insert_id: u64,
    pub(crate) warnings: u16,
    pub(crate) info: String,
    pub(crate) is_out_parameters: bool,
    /// Session changes, as `Debug` shows them.
    pub(crate) changes: Vec<String>,
}

impl ResultSet {
    pub(crate) fn values(&self) -> Vec<Vec<Value>> {
        self.rows.iter().map(|row| row.values().unwrap()).collect()
    }
}

impl Driver {
    pub(crate) fn connect(stream: Stream, config: Config) -> Result<Self, HandshakeError> {
        Self::log_in(stream, config, None)
    }

    /// Over TLS, with a server that this trust is for.
    pub(crate) fn connect_tls(
        stream: Stream,
        mut config: Config,
        trust: &Arc<ClientConfig>,
    ) -> Result<Self, HandshakeError> {
        config.tls = Tls::Required;
        Self::log_in(stream, config, Some(trust))
    }

    fn log_in(
        mut stream: Stream,
        config: Config,
        trust: Option<&Arc<ClientConfig>>,
    ) -> Result<Self, HandshakeError> {
        let mut handshake = Handshake::new(config).unwrap();
        let (mut received, mut wire) = (Vec::new(), Vec::new());
        let mut chunk = [0; 4096];
        let established = loop {
            match handshake.poll_step(&mut wire) {
                Step::Read => match stream.read(&mut chunk).unwrap() {
                    0 => handshake.handle_end(),
                    len => {
                        received.extend_from_slice(&chunk[..len]);
                        let consumed = handshake.handle_input(&received);
                        received.drain(..consumed);
                    }
                },
                Step::Write => {
                    stream.write_all(&wire).unwrap();
                    stream.flush().unwrap();
                    wire.clear();
                }
                Step::StartTls => {
                    stream = stream.start_tls(trust.unwrap());
                    handshake.handle_tls(true);
                }
                Step::Encrypt(secret) => {
                    let sealed = encrypt(secret);
                    handshake.handle_encrypted(sealed);
                }
                Step::Done(established) => break established.clone(),
                Step::Failed(error) => return Err(error.clone()),
            }
        };
        let compressed = established.capabilities.contains(Capabilities::COMPRESS);
        let limits = Limits::default();
        Ok(Self {
            stream,
            conversation: Conversation::after(&established, limits),
            compression: compressed.then(|| (Compressor::new(), Inflater::new(&limits))),
            established,
            received,
            at: 0,
            reads: 0,
        })
    }

    /// What lies under it, for tests that look at bytes.
    pub(crate) fn into_stream(self) -> Stream {
        self.stream
    }

    /// Writes what `encode` appends, as one flight.
    pub(crate) fn send(&mut self, encode: impl FnOnce(&mut Vec<u8>) -> Vec<Request>) {
        let mut wire = Vec::new();
        for request in encode(&mut wire) {
            self.conversation.submit(request);
        }
        if let Some((compressor, _)) = &mut self.compression {
            let mut sealed = Vec::new();
            compressor.compress(&wire, &mut sealed);
            wire = sealed;
        }
        self.stream.write_all(&wire).unwrap();
        self.stream.flush().unwrap();
    }

    /// Gives the next event to `each`.
    pub(crate) fn receive_one(&mut self, each: impl FnOnce(Event<'_>)) {
        loop {
            match self
                .conversation
                .next(&self.received, &mut self.at)
                .unwrap()
            {
                Some(event) => return each(event),
                None => self.fill(),
            }
        }
    }

    fn fill(&mut self) {
        self.received.drain(..self.at);
        self.at = 0;
        let mut chunk = vec![0; 64 * 1024];
        let len = self.stream.read(&mut chunk).unwrap();
        self.reads += 1;
        assert!(len > 0, "the server ended its stream");
        match &mut self.compression {
            None => self.received.extend_from_slice(&chunk[..len]),
            Some((_, inflater)) => inflater.inflate(&chunk[..len], &mut self.received).unwrap(),
        }
    }

    /// The answer to the next request: its results, or the error that ended it.
    pub(crate) fn answer(&mut self) -> Result<Vec<ResultSet>, ServerError> {
        let mut results = Vec::new();
        let mut current = ResultSet::default();
        loop {
            let Some(event) = self
                .conversation
                .next(&self.received, &mut self.at)
                .unwrap()
            else {
                self.fill();
                continue;
            };
            match event {
                Event::Columns(columns) => current.columns = Some(Arc::clone(columns)),
                Event::Row(row) => current.rows.push(row.to_owned()),
                Event::Ok(ok) => {
                    current.affected_rows = ok.affected_rows;
                    current.last_insert_id = ok.last_insert_id;
                    current.warnings = ok.warnings;
                    current.info = String::from_utf8_lossy(ok.info).into_owned();
                    current.is_out_parameters = ok.is_out_parameters();
                    current.changes = ok.changes().map(|change| format!("{change:?}")).collect();
                    results.push(std::mem::take(&mut current));
                    if !ok.has_more() {
                        return Ok(results);
                    }
                }
                Event::Error(error) => return Err(error),
                other => panic!("{other:?} in an answer with results"),
            }
        }
    }

    pub(crate) fn query(&mut self, sql: &str) -> Result<Vec<ResultSet>, ServerError> {
        self.send(|wire| vec![command::query(wire, sql.as_bytes(), MAX_PACKET).unwrap()]);
        self.answer()
    }

    pub(crate) fn prepare(&mut self, sql: &str) -> Result<Prepared, ServerError> {
        self.send(|wire| vec![command::prepare(wire, sql.as_bytes(), MAX_PACKET).unwrap()]);
        self.prepared()
    }

    pub(crate) fn prepared(&mut self) -> Result<Prepared, ServerError> {
        loop {
            match self
                .conversation
                .next(&self.received, &mut self.at)
                .unwrap()
            {
                Some(Event::Prepared(prepared)) => return Ok(prepared),
                Some(Event::Error(error)) => return Err(error),
                Some(other) => panic!("{other:?} for a prepared statement"),
                None => self.fill(),
            }
        }
    }

    pub(crate) fn execute(
        &mut self,
        statement: &Prepared,
        params: impl Params,
    ) -> Result<Vec<ResultSet>, ServerError> {
        self.send(|wire| vec![statement.execute(wire, &params, MAX_PACKET).unwrap()]);
        self.answer()
    }

    pub(crate) fn write_raw(&mut self, encode: impl FnOnce(&mut Vec<u8>, &mut Conversation)) {
        let mut wire = Vec::new();
        encode(&mut wire, &mut self.conversation);
        self.stream.write_all(&wire).unwrap();
        self.stream.flush().unwrap();
    }
}

/// RSA by another program, which is what tells that ours need not be asked.
fn encrypt(secret: &Encrypt) -> Vec<u8> {
    let openssl = which("openssl").expect("openssl is installed where MySQL is");
    let folder = TempDir::new("arknet-rsa").unwrap();
    let (key, plain) = (folder.join("key.pem"), folder.join("plain"));
    std::fs::write(&key, &secret.public_key).unwrap();
    std::fs::write(&plain, secret.plaintext.expose()).unwrap();
    let output = Command::new(openssl)
        .args([
            "pkeyutl",
            "-encrypt",
            "-pubin",
            "-pkeyopt",
            "rsa_padding_mode:oaep",
            "-inkey",
        ])
        .arg(&key)
        .arg("-in")
        .arg(&plain)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}
