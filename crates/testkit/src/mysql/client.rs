//! A client's thread: the login, then its commands one after the other.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::sync::Arc;

use arknet_proto::mysql::auth::Plugin;
use arknet_proto::mysql::handshake::Greeting;
use arknet_proto::mysql::packet::{HEADER, PacketReader, PacketWriter};
use arknet_proto::mysql::server::{Accepted, Command, Config, Handshake, Responder, Step};
use arknet_proto::mysql::{Capabilities, Limits, ServerError};

use super::channel::{Channel, Socket};
use super::control::{Control, Waited};
use super::hub::{Admitted, Hub};
use super::rule::{Plan, Reply};
use super::session::{Answer, FLUSH_AT, MAX_PACKET, Session};

/// What both kinds of server can do.
const CAPABILITIES: &[Capabilities] = &[
    Capabilities::FOUND_ROWS,
    Capabilities::LONG_FLAG,
    Capabilities::CONNECT_WITH_DB,
    Capabilities::PROTOCOL_41,
    Capabilities::TRANSACTIONS,
    Capabilities::SECURE_CONNECTION,
    Capabilities::MULTI_STATEMENTS,
    Capabilities::MULTI_RESULTS,
    Capabilities::PS_MULTI_RESULTS,
    Capabilities::PLUGIN_AUTH,
    Capabilities::CONNECT_ATTRS,
    Capabilities::PLUGIN_AUTH_LENENC,
    Capabilities::SESSION_TRACK,
    Capabilities::DEPRECATE_EOF,
];

/// Serves a client until it goes, or breaks the protocol.
pub(super) fn serve(hub: &Hub, socket: Socket) {
    let Ok(line) = socket.line() else { return };
    let local = socket.is_local();
    let channel = Channel::Clear(socket);
    let Some(admitted) = hub.admit(Control::new(line)) else {
        return turn_away(channel);
    };
    let id = admitted.id;
    let mut client = Client {
        hub,
        admitted,
        channel: Some(channel),
        local,
        encrypted: false,
        input: Vec::new(),
        output: Vec::new(),
        abrupt: false,
    };
    // Whatever went wrong between the two, it is the client who finds out.
    if let Ok(Some(accepted)) = client.log_in() {
        let mut session = client.session(&accepted);
        let _ = client.obey(&mut session);
        client.forget(&session);
    }
    if let Some(channel) = client.channel.as_mut().filter(|_| !client.abrupt) {
        channel.close();
    }
    hub.leave(id);
}

fn turn_away(mut channel: Channel) {
    let full = Reply::Error {
        code: 1040,
        state: String::new(),
        message: "Too many connections".to_owned(),
    };
    let mut wire = Vec::new();
    put_greeting_error(&mut wire, &full);
    // It may have gone by itself.
    let _ = channel.send(&wire);
}

struct Client<'a> {
    hub: &'a Hub,
    admitted: Admitted,
    /// None only while TLS begins, and after it could not.
    channel: Option<Channel>,
    local: bool,
    encrypted: bool,
    input: Vec<u8>,
    output: Vec<u8>,
    /// It ends without a farewell.
    abrupt: bool,
}

/// Whether a connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Go,
    Stop,
}

impl Client<'_> {
    fn session(&self, accepted: &Accepted) -> Session {
        let control = Arc::clone(&self.admitted.control);
        Session::new(
            self.admitted.id,
            self.hub.options.version(),
            control,
            accepted,
        )
    }

    fn config(&self) -> Config {
        let mut capabilities = Capabilities::default();
        for flag in CAPABILITIES {
            capabilities |= *flag;
        }
        if self.hub.tls.is_some() {
            capabilities |= Capabilities::SSL;
        }
        capabilities |= match self.hub.options.mariadb {
            true => Capabilities::MARIADB_EXTENDED_METADATA | Capabilities::MARIADB_CACHE_METADATA,
            false => Capabilities::MYSQL,
        };
        let plugin = match self.hub.options.mariadb {
            true => Plugin::NativePassword,
            false => Plugin::CachingSha2Password,
        };
        let (version, id) = (self.hub.options.version(), self.admitted.id);
        let greeting = Greeting::new(version, id, capabilities, plugin, challenge());
        let mut config = Config::new(greeting, challenge());
        config.local = self.local;
        config
    }

    /// The client, if it was let in.
    fn log_in(&mut self) -> io::Result<Option<Accepted>> {
        let plan = self.hub.moment("GREETING", self.admitted.index);
        let mut handshake = Handshake::new(self.config());
        let mut greeting = Vec::new();
        let _ = handshake.poll_step(&mut greeting);
        if matches!(plan.reply, Reply::Error { .. }) {
            greeting.clear();
            put_greeting_error(&mut greeting, &plan.reply);
        }
        let is_greeted = matches!(plan.reply, Reply::Honest);
        let next = self.deliver(&plan, greeting, 0)?;
        self.flush()?;
        if next == Next::Stop || !is_greeted {
            return Ok(None);
        }
        self.drive(handshake, true)
    }

    /// Does what the engine says until it says yes or no. Before TLS not a byte more than a packet is read.
    fn drive(&mut self, mut handshake: Handshake, exactly: bool) -> io::Result<Option<Accepted>> {
        let mut wire = Vec::new();
        let mut sequence = 0;
        loop {
            match handshake.poll_step(&mut wire) {
                Step::Write => {}
                Step::Read => {
                    let said = std::mem::take(&mut wire);
                    if self.deliver(&Plan::default(), said, 0)? == Next::Stop {
                        return Ok(None);
                    }
                    self.flush()?;
                    let channel = self.channel()?;
                    let mut more = Vec::new();
                    let come = match exactly {
                        true => channel.read_packet(&mut more)?,
                        false => channel.fill(&mut more)?,
                    };
                    if !come {
                        handshake.handle_end();
                    }
                    sequence = more.get(3).map_or(0, |number| number.wrapping_add(1));
                    self.input.append(&mut more);
                    let taken = handshake.handle_input(&self.input);
                    self.input.drain(..taken);
                }
                Step::StartTls => {
                    self.begin_tls()?;
                    handshake.handle_tls();
                }
                Step::FindAccount(client) => {
                    let account = self.hub.account(&client.user);
                    handshake.handle_account(account);
                }
                // There is no key under which anything could have been sealed.
                Step::Decrypt(_) => handshake.handle_decrypted(None),
                Step::Done(accepted) => {
                    let accepted = accepted.clone();
                    let plan = self.hub.moment("LOGIN", self.admitted.index);
                    let goes_on = matches!(plan.reply, Reply::Honest);
                    if matches!(plan.reply, Reply::Error { .. }) {
                        wire.clear();
                    }
                    if goes_on {
                        // Before the client can know of it.
                        self.hub.logged_in(&accepted.user);
                    }
                    let next = self.deliver(&plan, wire, sequence)?;
                    self.flush()?;
                    if next == Next::Stop || !goes_on {
                        return Ok(None);
                    }
                    return Ok(Some(accepted));
                }
                Step::Failed(_) => {
                    let plan = self.hub.moment("LOGIN", self.admitted.index);
                    self.deliver(&plan, wire, sequence)?;
                    self.flush()?;
                    return Ok(None);
                }
            }
        }
    }

    fn begin_tls(&mut self) -> io::Result<()> {
        let plan = self.hub.moment("TLS", self.admitted.index);
        if self.deliver(&plan, Vec::new(), 0)? == Next::Stop {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        self.flush()?;
        let Some(config) = &self.hub.tls else {
            return Err(io::Error::other("begin TLS: this server has none"));
        };
        let channel = self.channel.take().ok_or(io::ErrorKind::NotConnected)?;
        self.channel = Some(channel.start_tls(Arc::clone(config))?);
        self.encrypted = true;
        Ok(())
    }

    fn obey(&mut self, session: &mut Session) -> io::Result<()> {
        let mut limits = Limits::default();
        limits.max_packet = MAX_PACKET;
        let mut reader = PacketReader::new(&limits);
        let mut at = 0;
        loop {
            let next = reader
                .next(&self.input, &mut at)
                .map_err(io::Error::other)?;
            let Some(packet) = next.map(<[u8]>::to_vec) else {
                self.input.drain(..at);
                at = 0;
                self.flush()?;
                let mut input = std::mem::take(&mut self.input);
                let come = self.channel()?.fill(&mut input)?;
                self.input = input;
                if !come {
                    return Ok(());
                }
                continue;
            };
            let sequence = reader.sequence();
            reader.expect(0);
            let command = Command::parse(&packet).map_err(io::Error::other)?;
            if let Command::ChangeUser(request) = command {
                self.input.drain(..at);
                at = 0;
                if !self.change_user(session, request)? {
                    return Ok(());
                }
                continue;
            }
            if self.command(session, command, sequence)? == Next::Stop {
                return Ok(());
            }
        }
    }

    fn command(
        &mut self,
        session: &mut Session,
        command: Command<'_>,
        sequence: u8,
    ) -> io::Result<Next> {
        let (name, text) = describe(session, command);
        let plan = self.hub.command(&name, &text, self.admitted.index);
        let before = session.prepared_count();
        let mut wire = Vec::new();
        let is_plain = matches!(plan.reply, Reply::Honest) && plan.sequence == 0;
        if matches!(plan.reply, Reply::Honest | Reply::Cut(_)) {
            let streams = is_plain && plan.delay.is_none() && plan.before.is_empty();
            if streams {
                // Behind what is to be written already, and written as it grows.
                wire = std::mem::take(&mut self.output);
            }
            let mut answer = Answer {
                wire: &mut wire,
                channel: self.channel.as_mut().filter(|_| streams),
                sequence,
            };
            execute(self.hub, session, command, &mut answer)?;
        }
        let opened = session.prepared_count() as isize - before as isize;
        if opened != 0 {
            self.hub.count_statements(opened);
        }
        let next = self.deliver(&plan, wire, sequence)?;
        match command {
            Command::Quit => Ok(Next::Stop),
            _ => Ok(next),
        }
    }

    fn change_user(&mut self, session: &mut Session, request: &[u8]) -> io::Result<bool> {
        let plan = self.hub.command("CHANGE USER", "", self.admitted.index);
        if !matches!(plan.reply, Reply::Honest) {
            let next = self.deliver(&plan, Vec::new(), 1)?;
            self.flush()?;
            return Ok(next == Next::Go);
        }
        let (config, agreed) = (self.config(), session.agreed);
        let handshake = Handshake::change_user(config, request, agreed, self.encrypted)
            .map_err(io::Error::other)?;
        let Some(accepted) = self.drive(handshake, false)? else {
            return Ok(false);
        };
        self.forget(session);
        *session = self.session(&accepted);
        Ok(true)
    }

    /// The statements of a session that has ended.
    fn forget(&self, session: &Session) {
        let count = isize::try_from(session.prepared_count()).unwrap_or(0);
        self.hub.count_statements(-count);
    }

    /// Puts an answer behind what is to be written, as the plan has it.
    fn deliver(&mut self, plan: &Plan, mut wire: Vec<u8>, sequence: u8) -> io::Result<Next> {
        let mut stop = plan.close;
        match &plan.reply {
            Reply::Honest => {}
            Reply::Cut(bytes) => {
                wire.truncate(*bytes);
                self.abrupt = true;
            }
            Reply::Bytes(bytes) => wire.clone_from(bytes),
            Reply::Packet(payload) => {
                wire.clear();
                Responder::new(&mut wire, Capabilities::default(), sequence).raw(payload);
            }
            Reply::Error { .. } if !wire.is_empty() => {}
            Reply::Error { .. } => {
                if let Some(error) = error_of(&plan.reply) {
                    Responder::new(&mut wire, Capabilities::default(), sequence).error(&error);
                }
            }
        }
        misnumber(&mut wire, plan.sequence);
        if let Some(delay) = plan.delay {
            self.flush()?;
            stop |= self.admitted.control.wait(delay) == Waited::Closed;
        }
        if self.output.is_empty() && plan.before.is_empty() {
            self.output = wire;
        } else {
            self.output.extend_from_slice(&plan.before);
            self.output.append(&mut wire);
        }
        self.output.extend_from_slice(&plan.after);
        if stop || self.output.len() >= FLUSH_AT {
            self.flush()?;
        }
        Ok(if stop { Next::Stop } else { Next::Go })
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.output.is_empty() {
            return Ok(());
        }
        let output = std::mem::take(&mut self.output);
        self.channel()?.send(&output)
    }

    fn channel(&mut self) -> io::Result<&mut Channel> {
        self.channel
            .as_mut()
            .ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

fn execute(
    hub: &Hub,
    session: &mut Session,
    command: Command<'_>,
    answer: &mut Answer<'_>,
) -> io::Result<()> {
    match command {
        Command::Query(sql) => return session.query(hub, &String::from_utf8_lossy(sql), answer),
        Command::Execute {
            statement, params, ..
        } => return session.execute(hub, statement, params, answer),
        Command::Prepare(sql) => session.prepare(&String::from_utf8_lossy(sql), answer),
        Command::LongData {
            statement,
            parameter,
            piece,
        } => session.long_data(statement, parameter, piece),
        Command::CloseStatement(statement) => session.close_statement(statement),
        Command::ResetStatement(statement) => session.reset_statement(statement, answer),
        Command::Quit => {}
        Command::Ping => session.ok(answer),
        Command::InitDb(name) => {
            session.use_schema(&String::from_utf8_lossy(name), false, answer);
        }
        Command::ResetConnection => {
            session.reset();
            session.ok(answer);
        }
        Command::ProcessKill(id) => match session.kill(hub, id, false) {
            Ok(()) => session.ok(answer),
            Err(error) => session.fail(answer, &error),
        },
        Command::SetMultiStatements(allow) => {
            session.allow_multi_statements(allow);
            // An EOF packet of old, which an OK packet may stand for.
            session.ok(answer);
        }
        _ => session.fail(
            answer,
            &ServerError::new(1047, *b"08S01", "Unknown command"),
        ),
    }
    Ok(())
}

/// A command's name and text, for rules and counts.
fn describe(session: &Session, command: Command<'_>) -> (String, String) {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let (name, text) = match command {
        Command::Query(sql) => {
            let sql = text(sql);
            return (super::parse::first_word(&sql), sql);
        }
        Command::Prepare(sql) => ("PREPARE", text(sql)),
        Command::Execute { statement, .. } => ("EXECUTE", session.text_of(statement).to_owned()),
        Command::LongData { statement, .. } => ("LONG DATA", session.text_of(statement).to_owned()),
        Command::CloseStatement(_) => ("CLOSE STATEMENT", String::new()),
        Command::ResetStatement(_) => ("RESET STATEMENT", String::new()),
        Command::Quit => ("QUIT", String::new()),
        Command::InitDb(name) => ("INIT DB", text(name)),
        Command::ProcessKill(_) => ("KILL", String::new()),
        Command::Ping => ("PING", String::new()),
        Command::ResetConnection => ("RESET", String::new()),
        Command::SetMultiStatements(_) => ("SET OPTION", String::new()),
        _ => ("OTHER", String::new()),
    };
    (name.to_owned(), text)
}

fn error_of(reply: &Reply) -> Option<ServerError> {
    let Reply::Error {
        code,
        state,
        message,
    } = reply
    else {
        return None;
    };
    let mut letters = *b"HY000";
    if let Ok(given) = <[u8; 5]>::try_from(state.as_bytes()) {
        letters = given;
    }
    Some(ServerError::new(*code, letters, message.as_str()))
}

/// An error in place of the greeting, when the server does not know yet that its client knows states.
fn put_greeting_error(wire: &mut Vec<u8>, reply: &Reply) {
    let Some(error) = error_of(reply) else { return };
    let mut packet = PacketWriter::begin(wire, 0);
    let payload = packet.payload();
    payload.push(0xff);
    payload.extend(error.code().to_le_bytes());
    payload.extend_from_slice(error.message().as_bytes());
    packet.finish();
}

/// Adds `by` to the number of every packet.
fn misnumber(wire: &mut [u8], by: u8) {
    if by == 0 {
        return;
    }
    let mut rest = wire;
    while let Some((header, behind)) = rest.split_first_chunk_mut::<HEADER>() {
        let [low, middle, high, number] = header;
        *number = number.wrapping_add(by);
        let len = u32::from_le_bytes([*low, *middle, *high, 0]) as usize;
        rest = behind.get_mut(len..).unwrap_or_default();
    }
}

/// Random bytes, none of them zero. The standard library seeds its hash maps with such.
fn challenge() -> [u8; 20] {
    let mut bytes = [0; 20];
    for byte in &mut bytes {
        let random = RandomState::new().build_hasher().finish();
        // Letters that every old client bears: 33 to 96.
        *byte = b'!' + (random >> 58) as u8;
    }
    bytes
}
