//! Client and server shake hands: every plugin, every channel, wherever the stream is cut, and with every step failed.

use crate::mysql::auth::{AuthError, Plugin, Secret, ServerKey};
use crate::mysql::capabilities::Capabilities;
use crate::mysql::error::{ProtocolError, ServerError};
use crate::mysql::handshake::{
    ChangeUser, Config, Established, Greeting, Handshake, HandshakeError, Step, Tls,
};
use crate::mysql::packet::PacketWriter;
use crate::mysql::server;

const OFFERED: Capabilities = Capabilities::from_bits(0xffff_ffff)
    .without(Capabilities::COMPRESS)
    .without(Capabilities::MULTI_FACTOR);

/// What both sides are given.
#[derive(Clone)]
struct Case {
    config: Config,
    plugin: Plugin,
    greeted: Plugin,
    password: &'static str,
    cached: bool,
    has_key: bool,
    offered: Capabilities,
    verified: bool,
    /// Bytes that arrive at once.
    piece: usize,
}

/// One side says something, or something happens to what it said.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// The stream to the client ends.
    End,
    /// The client is told that the server gives up.
    Error,
    /// The client is told something that nobody understands.
    Garbage,
}

impl Case {
    fn new(plugin: Plugin, password: &'static str) -> Self {
        let mut config = Config::new("root", [9; 32]);
        config.passwords = vec![Secret::new(password)];
        config.database = Some("test".into());
        config.attributes = vec![("_client_name".into(), "arknet".into())];
        Self {
            config,
            plugin,
            greeted: plugin,
            password,
            cached: true,
            has_key: true,
            offered: OFFERED,
            verified: true,
            piece: usize::MAX,
        }
    }

    fn server(&self) -> server::Handshake {
        let greeting = Greeting::new(
            "9.7.4",
            42,
            self.offered,
            self.greeted,
            *b"abcdefghijklmnopqrst",
        );
        let mut config = server::Config::new(greeting, *b"ABCDEFGHIJKLMNOPQRST");
        config.public_key = self.has_key.then(|| b"the key".to_vec());
        server::Handshake::new(config)
    }

    fn run(&self) -> Result<Established, HandshakeError> {
        self.run_with(None).0
    }

    /// Returns also after how many messages to the client it was over.
    fn run_with(
        &self,
        fault: Option<(usize, Fault)>,
    ) -> (Result<Established, HandshakeError>, usize) {
        let client = match Handshake::new(self.config.clone()) {
            Ok(client) => client,
            Err(error) => return (Err(error), 0),
        };
        let mut pair = Pair {
            client,
            server: self.server(),
            to_client: Vec::new(),
            to_server: Vec::new(),
            said: Vec::new(),
            messages: 0,
        };
        let result = pair.run(self, fault);
        if let (Ok(_), server::Step::Done(accepted)) =
            (&result, pair.server.poll_step(&mut Vec::new()))
        {
            assert_eq!(
                (&accepted.user[..], accepted.database.as_deref()),
                (&b"root"[..], Some(&b"test"[..]))
            );
            assert_eq!(
                accepted.attributes,
                [(b"_client_name".to_vec(), b"arknet".to_vec())]
            );
        }
        // Nobody who listens learns the password.
        if self.config.tls == Tls::Disabled && !self.config.local && !self.password.is_empty() {
            let heard = |part: &[u8]| part == self.password.as_bytes();
            assert!(
                !pair.said.windows(self.password.len()).any(heard),
                "said in clear"
            );
        }
        (result, pair.messages)
    }
}

struct Pair {
    client: Handshake,
    server: server::Handshake,
    to_client: Vec<u8>,
    to_server: Vec<u8>,
    /// All that the client ever sent.
    said: Vec<u8>,
    messages: usize,
}

impl Pair {
    fn run(
        &mut self,
        case: &Case,
        fault: Option<(usize, Fault)>,
    ) -> Result<Established, HandshakeError> {
        for _ in 0..1000 {
            self.serve(case, fault);
            let mut wire = Vec::new();
            match self.client.poll_step(&mut wire) {
                Step::Read => {
                    let mut given = Vec::new();
                    while !self.to_client.is_empty() {
                        let len = case.piece.min(self.to_client.len());
                        given.extend(self.to_client.drain(..len));
                        let consumed = self.client.handle_input(&given);
                        given.drain(..consumed);
                    }
                    assert!(given.is_empty(), "the server says whole packets");
                }
                Step::Write => {
                    self.said.extend_from_slice(&wire);
                    self.to_server.extend_from_slice(&wire);
                }
                Step::StartTls => {
                    assert!(matches!(
                        self.server.poll_step(&mut Vec::new()),
                        server::Step::StartTls
                    ));
                    self.server.handle_tls();
                    self.client.handle_tls(case.verified);
                }
                Step::Encrypt(secret) => {
                    if secret.public_key != b"the key" {
                        // What RSA would say of it.
                        return Err(ProtocolError::malformed("public key").into());
                    }
                    let sealed = seal(secret.plaintext.expose());
                    self.client.handle_encrypted(sealed);
                }
                Step::Done(established) => return Ok(established.clone()),
                Step::Failed(error) => return Err(error.clone()),
            }
        }
        panic!("it goes on for ever");
    }

    /// Lets the server do what it can.
    fn serve(&mut self, case: &Case, fault: Option<(usize, Fault)>) {
        loop {
            let mut wire = Vec::new();
            match self.server.poll_step(&mut wire) {
                server::Step::Write => {
                    let fault = fault.filter(|(at, _)| *at == self.messages);
                    self.messages += 1;
                    match fault.map(|(_, fault)| fault) {
                        None => self.to_client.extend_from_slice(&wire),
                        Some(Fault::End) => self.client.handle_end(),
                        Some(Fault::Error) => self.to_client.extend(packet(3, b"\xff\x10\x04no")),
                        Some(Fault::Garbage) => self.to_client.extend(packet(wire[3], b"\x07??")),
                    }
                }
                server::Step::Read if !self.to_server.is_empty() => {
                    let consumed = self.server.handle_input(&self.to_server);
                    self.to_server.drain(..consumed);
                }
                server::Step::FindAccount(client) => {
                    let mut account = server::Account::new(case.plugin, Secret::new(case.password));
                    account.cached = case.cached;
                    let account = (client.user == b"root").then_some(account);
                    self.server.handle_account(account);
                }
                server::Step::Decrypt(sealed) => {
                    let plain = seal(sealed);
                    self.server.handle_decrypted(Some(&plain));
                }
                _ => return,
            }
        }
    }
}

/// In place of RSA.
fn seal(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| byte ^ 0x80).collect()
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut wire = Vec::new();
    let mut packet = PacketWriter::begin(&mut wire, sequence);
    packet.payload().extend_from_slice(payload);
    packet.finish();
    wire
}

const PLUGINS: [Plugin; 2] = [Plugin::NativePassword, Plugin::CachingSha2Password];

/// Every way that leads in.
fn ways_in() -> Vec<Case> {
    let mut cases = Vec::new();
    for plugin in PLUGINS {
        for greeted in PLUGINS {
            for password in ["", "secret"] {
                for tls in [Tls::Disabled, Tls::Required] {
                    for cached in [false, true] {
                        for key in [ServerKey::Fetch, ServerKey::Pinned(b"the key".to_vec())] {
                            let mut case = Case::new(plugin, password);
                            case.greeted = greeted;
                            case.cached = cached;
                            case.config.tls = tls;
                            case.config.server_key = key;
                            cases.push(case);
                        }
                    }
                }
            }
        }
    }
    cases
}

#[test]
fn the_right_password_leads_in_by_every_way() {
    for case in ways_in() {
        let established = case.run().unwrap();
        assert_eq!(
            (
                &*established.server.version,
                established.server.connection_id
            ),
            ("9.7.4", 42)
        );
        assert!(!established.server.is_mariadb);
        assert!(
            established
                .capabilities
                .contains(Capabilities::DEPRECATE_EOF)
        );
        assert!(!established.capabilities.contains(Capabilities::LOCAL_FILES));
        assert!(
            !established
                .capabilities
                .contains(Capabilities::MULTI_STATEMENTS)
        );
    }
}

#[test]
fn a_wrong_password_leads_nowhere() {
    for mut case in ways_in() {
        case.config.passwords = vec![Secret::new("wrong")];
        let Err(HandshakeError::Server(error)) = case.run() else {
            panic!("{:?}", case.plugin)
        };
        assert_eq!(error.code(), 1045);
        case.config.passwords = vec![Secret::new(case.password)];
        case.config.user = "nobody".into();
        let Err(HandshakeError::Server(error)) = case.run() else {
            panic!("{:?}", case.plugin)
        };
        assert_eq!(error.code(), 1045);
    }
}

#[test]
fn every_cut_of_the_stream_gives_the_same() {
    for mut case in ways_in() {
        let expected = case.run().unwrap();
        for piece in 1..=100 {
            case.piece = piece;
            assert_eq!(case.run(), Ok(expected.clone()));
        }
    }
}

#[test]
fn every_step_may_fail() {
    for case in ways_in() {
        let (_, messages) = case.run_with(None);
        assert!(messages >= 2);
        for at in 0..messages {
            for fault in [Fault::End, Fault::Error, Fault::Garbage] {
                let (result, _) = case.run_with(Some((at, fault)));
                let error = result.unwrap_err();
                match (fault, &error) {
                    (Fault::End, HandshakeError::Protocol(ProtocolError::UnexpectedEnd { .. })) => {
                    }
                    (Fault::Error, HandshakeError::Server(error)) => assert_eq!(error.code(), 1040),
                    (Fault::Garbage, HandshakeError::Server(_) | HandshakeError::Config(_)) => {
                        panic!("{fault:?} at {at}: {error}")
                    }
                    (Fault::Garbage, _) => {}
                    _ => panic!("{fault:?} at {at}: {error}"),
                }
            }
        }
    }
}

#[test]
fn a_server_that_is_full_says_so_before_it_greets() {
    for sequence in [0, 1] {
        let mut client = Handshake::new(Config::new("root", [0; 32])).unwrap();
        client.handle_input(&packet(sequence, b"\xff\x10\x04Too many connections"));
        let expected = ServerError::new(1040, *b"HY000", "Too many connections");
        let mut wire = Vec::new();
        assert_eq!(client.poll_step(&mut wire), Step::Failed(&expected.into()));
        assert!(wire.is_empty());
    }
}

#[test]
fn tls_that_is_required_is_not_done_without() {
    let mut case = Case::new(Plugin::NativePassword, "secret");
    case.config.tls = Tls::Required;
    case.offered = OFFERED.without(Capabilities::SSL);
    assert_eq!(case.run(), Err(HandshakeError::NoTls));
    let mut client = Handshake::new(case.config.clone()).unwrap();
    let mut greeting = Vec::new();
    let mut wire = Vec::new();
    assert_eq!(case.server().poll_step(&mut greeting), server::Step::Write);
    client.handle_input(&greeting);
    assert_eq!(
        client.poll_step(&mut wire),
        Step::Failed(&HandshakeError::NoTls)
    );
    assert!(wire.is_empty(), "nothing was said");
}

#[test]
fn bytes_in_clear_after_the_request_for_tls_are_an_error() {
    let mut case = Case::new(Plugin::NativePassword, "secret");
    case.config.tls = Tls::Required;
    let mut greeting = Vec::new();
    assert_eq!(case.server().poll_step(&mut greeting), server::Step::Write);
    let injected = packet(2, b"\0\0\0\x02\0\0\0");
    for extra in 1..injected.len() {
        let unsolicited = HandshakeError::from(ProtocolError::Unsolicited { len: extra });
        // With the greeting, and behind it.
        let mut client = Handshake::new(case.config.clone()).unwrap();
        client.handle_input(&[&greeting[..], &injected[..extra]].concat());
        assert_eq!(
            client.poll_step(&mut Vec::new()),
            Step::Failed(&unsolicited)
        );
        let mut client = Handshake::new(case.config.clone()).unwrap();
        client.handle_input(&greeting);
        let mut wire = Vec::new();
        assert_eq!(client.poll_step(&mut wire), Step::Write);
        assert_eq!(wire.len(), 36, "a request for TLS and no name");
        assert_eq!(client.poll_step(&mut wire), Step::StartTls);
        client.handle_input(&injected[..extra]);
        assert_eq!(client.poll_step(&mut wire), Step::Failed(&unsolicited));
        client.handle_tls(true);
        assert!(
            matches!(client.poll_step(&mut wire), Step::Failed(_)),
            "it stays so"
        );
    }
}

#[test]
fn bytes_behind_the_end_are_an_error() {
    let case = Case::new(Plugin::NativePassword, "secret");
    let mut server = case.server();
    let mut client = Handshake::new(case.config.clone()).unwrap();
    let (mut to_client, mut to_server) = (Vec::new(), Vec::new());
    assert_eq!(server.poll_step(&mut to_client), server::Step::Write);
    client.handle_input(&to_client);
    assert_eq!(client.poll_step(&mut to_server), Step::Write);
    server.handle_input(&to_server);
    server.handle_account(Some(server::Account::new(
        case.plugin,
        Secret::new("secret"),
    )));
    to_client.clear();
    assert_eq!(server.poll_step(&mut to_client), server::Step::Write);
    to_client.push(7);
    client.handle_input(&to_client);
    let unsolicited = ProtocolError::Unsolicited { len: 1 }.into();
    assert_eq!(
        client.poll_step(&mut Vec::new()),
        Step::Failed(&unsolicited)
    );
}

#[test]
fn a_key_is_used_only_as_allowed() {
    let mut case = Case::new(Plugin::CachingSha2Password, "secret");
    case.cached = false;
    let refused = AuthError::PublicKeyRefused {
        plugin: "caching_sha2_password",
    };
    assert_eq!(case.run(), Err(refused.into()));
    case.has_key = false;
    case.config.server_key = ServerKey::Fetch;
    assert!(matches!(case.run(), Err(HandshakeError::Server(_))));
}

/// What a server says in place of a yes, and what a client answers.
fn switched(config: Config, tls: Option<bool>, says: &[&[u8]]) -> Result<Vec<u8>, HandshakeError> {
    let mut client = Handshake::new(config).unwrap();
    let greeting = Greeting::new(
        "9.7.4",
        1,
        Capabilities::from_bits(0xffff_ffff),
        Plugin::CachingSha2Password,
        [7; 20],
    );
    let mut payload = Vec::new();
    greeting.encode(&mut payload);
    client.handle_input(&packet(0, &payload));
    let (mut wire, mut sequence) = (Vec::new(), 2);
    let _ = client.poll_step(&mut wire);
    if let Some(verified) = tls {
        client.handle_tls(verified);
        let _ = client.poll_step(&mut wire);
        sequence += 1;
    }
    for said in says {
        wire.clear();
        client.handle_input(&packet(sequence, said));
        match client.poll_step(&mut wire) {
            Step::Failed(error) => return Err(error.clone()),
            Step::Write => sequence = wire[3] + 1,
            _ => sequence += 1,
        }
    }
    Ok(wire.split_off(4.min(wire.len())))
}

fn with_password(tls: Tls) -> Config {
    let mut config = Config::new("root", [9; 32]);
    config.passwords = vec![Secret::new("first"), Secret::new("second")];
    config.tls = tls;
    config
}

#[test]
fn a_password_in_clear_needs_tls_that_was_verified_and_leave() {
    let request = &b"\xfemysql_clear_password\0"[..];
    let not_allowed = AuthError::NotAllowed {
        name: "mysql_clear_password",
    };
    assert_eq!(
        switched(with_password(Tls::Disabled), None, &[request]),
        Err(not_allowed.into())
    );
    for (tls, expected) in [
        (None, Err(AuthError::ClearPassword.into())),
        (Some(false), Err(AuthError::ClearPassword.into())),
        (Some(true), Ok(b"first\0".to_vec())),
    ] {
        let mut config = with_password(if tls.is_some() {
            Tls::Required
        } else {
            Tls::Disabled
        });
        config.plugins = config.plugins.with(Plugin::ClearPassword);
        assert_eq!(switched(config, tls, &[request]), expected);
    }
}

#[test]
fn factors_are_asked_for_one_by_one() {
    let next = &b"\x02mysql_native_password\0abcdefghijklmnopqrst\0"[..];
    let second = switched(with_password(Tls::Disabled), None, &[b"\x01\x03", next]).unwrap();
    assert_eq!(
        second,
        crate::mysql::auth::Native::answer(b"second", b"abcdefghijklmnopqrst")
    );
    let none = AuthError::NoPassword {
        factor: 3,
        configured: 2,
    };
    assert_eq!(
        switched(
            with_password(Tls::Disabled),
            None,
            &[b"\x01\x03", next, next]
        ),
        Err(none.into())
    );
}

#[test]
fn plugins_that_are_not_known_are_named() {
    let unknown = AuthError::UnknownPlugin {
        name: "auth_gssapi".into(),
    };
    let says = &b"\xfeauth_gssapi\0data"[..];
    assert_eq!(
        switched(with_password(Tls::Disabled), None, &[says]),
        Err(unknown.into())
    );
    let old = AuthError::UnknownPlugin {
        name: "mysql_old_password".into(),
    };
    assert_eq!(
        switched(with_password(Tls::Disabled), None, &[b"\xfe"]),
        Err(old.into())
    );
}

#[test]
fn an_exchange_has_an_end() {
    let switch = &b"\xfemysql_native_password\0abcdefghijklmnopqrst\0"[..];
    let endless = switched(with_password(Tls::Disabled), None, &[switch; 30]);
    assert!(matches!(
        endless,
        Err(HandshakeError::Protocol(ProtocolError::Unexpected { .. }))
    ));
}

#[test]
fn another_user_is_asked_for_afresh() {
    for plugin in PLUGINS {
        let mut case = Case::new(plugin, "secret");
        case.config.server_key = ServerKey::Fetch;
        let established = case.run().unwrap();
        for (password, cached) in [("secret", true), ("secret", false), ("wrong", true)] {
            case.config.passwords = vec![Secret::new(password)];
            let channel = crate::mysql::auth::Channel::Plain;
            let mut client = ChangeUser::new(&case.config, established.clone(), channel).unwrap();
            let mut wire = Vec::new();
            assert_eq!(client.poll_step(&mut wire), Step::Write);
            let Ok(server::Command::ChangeUser(request)) = server::Command::parse(&wire[4..])
            else {
                panic!("{wire:?}")
            };
            let mut config = server::Config::new(
                Greeting::new("9.7.4", 1, OFFERED, plugin, [1; 20]),
                *b"ABCDEFGHIJKLMNOPQRST",
            );
            config.public_key = Some(b"the key".to_vec());
            let mut server =
                server::Handshake::change_user(config, request, established.capabilities, false)
                    .unwrap();
            let mut is_in = None;
            for _ in 0..50 {
                let mut wire = Vec::new();
                match server.poll_step(&mut wire) {
                    server::Step::FindAccount(_) => {
                        let mut account = server::Account::new(plugin, Secret::new("secret"));
                        account.cached = cached;
                        server.handle_account(Some(account));
                    }
                    server::Step::Write => drop(client.handle_input(&wire)),
                    server::Step::Decrypt(sealed) => {
                        let plain = seal(sealed);
                        server.handle_decrypted(Some(&plain));
                    }
                    _ => {}
                }
                wire.clear();
                match client.poll_step(&mut wire) {
                    Step::Write => drop(server.handle_input(&wire)),
                    Step::Encrypt(secret) => {
                        let sealed = seal(secret.plaintext.expose());
                        client.handle_encrypted(sealed);
                    }
                    Step::Done(_) => is_in = Some(true),
                    Step::Failed(HandshakeError::Server(_)) => is_in = Some(false),
                    Step::Failed(error) => panic!("{error}"),
                    _ => {}
                }
            }
            assert_eq!(is_in, Some(password == "secret"), "{plugin:?} {password}");
        }
    }
}
