//! Any server, and any client: nobody gets in without the password, nobody who listens learns it, an end is final, and
//! every exchange has one.
//!
//! Input: a byte of choices, one for the piece, then what the peer says.

use arknet_proto::mysql::Capabilities;
use arknet_proto::mysql::auth::{Plugin, Secret, ServerKey};
use arknet_proto::mysql::handshake::{Config, Greeting, Handshake, Step, Tls};
use arknet_proto::mysql::server;

use super::Input;

const PASSWORD: &[u8] = b"correct horse battery staple";

/// Steps after which an exchange goes on for ever. A server may say some dozens of packets.
const STEPS: usize = 10_000;

/// Runs one input.
pub(crate) fn run(data: &[u8]) {
    let mut input = Input(data);
    let choices = input.byte();
    let piece = usize::from(input.byte()).max(1);
    if choices & 1 == 0 {
        as_client(choices, piece, input.0);
    } else {
        as_server(choices, piece, input.0);
    }
}

/// Against a server that says these bytes.
fn as_client(choices: u8, piece: usize, says: &[u8]) {
    let mut config = Config::new("root", [9; 32]);
    config.passwords = vec![Secret::new(PASSWORD), Secret::new(PASSWORD)];
    config.plugins = config.plugins.with(Plugin::ClearPassword);
    let tls = choices & 2 != 0;
    let verified = choices & 4 != 0;
    config.tls = if tls { Tls::Required } else { Tls::Disabled };
    config.local = choices & 8 != 0;
    config.server_key = match choices & 48 {
        16 => ServerKey::Fetch,
        32 => ServerKey::Pinned(b"pem".to_vec()),
        _ => ServerKey::Refuse,
    };
    let is_plain = !tls && !config.local;
    let mut client = Handshake::new(config).unwrap();
    let (mut pieces, mut buffer) = (says.chunks(piece), Vec::new());
    for _ in 0..STEPS {
        let mut wire = Vec::new();
        match client.poll_step(&mut wire) {
            Step::Read => match pieces.next() {
                Some(piece) => {
                    buffer.extend_from_slice(piece);
                    let consumed = client.handle_input(&buffer);
                    buffer.drain(..consumed);
                }
                None => client.handle_end(),
            },
            Step::Write => {
                assert!(!wire.is_empty());
                assert!(
                    !is_plain || !contains(&wire, PASSWORD),
                    "the password in clear"
                );
            }
            Step::StartTls => client.handle_tls(verified),
            Step::Encrypt(secret) => {
                assert!(
                    !contains(secret.plaintext.expose(), PASSWORD),
                    "without the challenge"
                );
                client.handle_encrypted(vec![1; 256]);
            }
            Step::Done(established) => {
                let agreed = established.capabilities;
                assert!(agreed.contains(Capabilities::PROTOCOL_41));
                assert!(!agreed.contains(Capabilities::LOCAL_FILES));
                assert_eq!(agreed.contains(Capabilities::SSL), tls);
                client.handle_input(b"more");
                assert!(matches!(client.poll_step(&mut wire), Step::Failed(_)));
                return;
            }
            Step::Failed(error) => {
                let error = error.clone();
                // A server's own words are quoted.
                let echoed = contains(says, b"horse");
                assert!(echoed || !error.to_string().contains("horse"));
                client.handle_input(says);
                client.handle_tls(true);
                client.handle_encrypted(vec![1]);
                assert_eq!(
                    client.poll_step(&mut wire),
                    Step::Failed(&error),
                    "it is final"
                );
                assert!(wire.is_empty());
                return;
            }
        }
    }
    panic!("it goes on for ever");
}

/// Against a client that says these bytes.
fn as_server(choices: u8, piece: usize, says: &[u8]) {
    let plugin = if choices & 2 == 0 {
        Plugin::NativePassword
    } else {
        Plugin::CachingSha2Password
    };
    let offered = Capabilities::from_bits(u64::from(u32::MAX));
    let greeting = Greeting::new("9.7.4", 1, offered, Plugin::NativePassword, [7; 20]);
    let mut config = server::Config::new(greeting, [8; 20]);
    config.public_key = (choices & 4 != 0).then(|| b"pem".to_vec());
    let mut server = server::Handshake::new(config);
    let (mut pieces, mut buffer) = (says.chunks(piece), Vec::new());
    for _ in 0..STEPS {
        let mut wire = Vec::new();
        match server.poll_step(&mut wire) {
            server::Step::Read => match pieces.next() {
                Some(piece) => {
                    buffer.extend_from_slice(piece);
                    let consumed = server.handle_input(&buffer);
                    buffer.drain(..consumed);
                }
                None => server.handle_end(),
            },
            server::Step::Write => assert!(!wire.is_empty()),
            server::Step::StartTls => server.handle_tls(),
            server::Step::FindAccount(_) => {
                server.handle_account(Some(server::Account::new(plugin, Secret::new(PASSWORD))));
            }
            server::Step::Decrypt(_) => server.handle_decrypted(None),
            // Whoever says the password itself over TLS may come in.
            server::Step::Done(_) => return assert!(contains(says, PASSWORD), "let in"),
            server::Step::Failed(_) => return,
        }
    }
    panic!("it goes on for ever");
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
