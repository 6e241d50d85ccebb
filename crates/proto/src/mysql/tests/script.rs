//! A server that is a script, and a client that says what it was told.

use super::super::answer::{Conversation, Event};
use super::super::capabilities::{Capabilities, Status};
use super::super::columns::ColumnSpec;
use super::super::command::Request;
use super::super::error::ProtocolError;
use super::super::kind::ColumnType;
use super::super::limits::Limits;
use super::super::server::Responder;

pub(super) const PLAIN: Capabilities = Capabilities::PROTOCOL_41;

/// What a client of today agrees on with MySQL, and with MariaDB, and what one of old did.
pub(super) const AGREED: [Capabilities; 3] = [
    PLAIN
        .with(Capabilities::DEPRECATE_EOF)
        .with(Capabilities::SESSION_TRACK),
    PLAIN
        .with(Capabilities::DEPRECATE_EOF)
        .with(Capabilities::SESSION_TRACK)
        .with(Capabilities::MARIADB_CACHE_METADATA)
        .with(Capabilities::MARIADB_EXTENDED_METADATA),
    PLAIN,
];

/// Columns of two types.
pub(super) fn columns() -> [ColumnSpec<'static>; 2] {
    [
        ColumnSpec::new("id", ColumnType::LongLong),
        ColumnSpec::new("name", ColumnType::VarString),
    ]
}

/// What a script answers to one request.
pub(super) fn answer(agreed: Capabilities, say: impl FnOnce(&mut Responder<'_>)) -> Vec<u8> {
    let mut wire = Vec::new();
    say(&mut Responder::new(&mut wire, agreed, 1));
    wire
}

pub(super) fn conversation(agreed: Capabilities, limits: Limits) -> Conversation {
    Conversation::new(agreed, Status::default(), limits)
}

/// A conversation in which these requests wait.
pub(super) fn waiting(agreed: Capabilities, requests: &[Request]) -> Conversation {
    let mut conversation = conversation(agreed, Limits::default());
    for request in requests {
        conversation.submit(*request);
    }
    conversation
}

/// What came of a stream that arrived in pieces: one line for each event.
pub(super) fn told(
    conversation: &mut Conversation,
    stream: &[u8],
    piece: usize,
) -> Result<Vec<String>, ProtocolError> {
    let (mut received, mut told) = (Vec::new(), Vec::new());
    for piece in stream.chunks(piece.max(1)) {
        received.extend_from_slice(piece);
        let mut at = 0;
        loop {
            if let Some(row) = conversation.next_row(&received, &mut at)? {
                told.push(format!("row {:?}", row.values().unwrap()));
                continue;
            }
            let Some(event) = conversation.next(&received, &mut at)? else {
                break;
            };
            told.push(line(&event));
        }
        received.drain(..at);
    }
    conversation.finish(received.len())?;
    Ok(told)
}

fn line(event: &Event<'_>) -> String {
    match event {
        Event::Columns(columns) => {
            let names = columns
                .iter()
                .map(|column| String::from_utf8_lossy(column.name()).into_owned());
            format!("columns {}", names.collect::<Vec<_>>().join(" "))
        }
        Event::Row(row) => format!("row {:?}", row.values().unwrap()),
        Event::Ok(ok) => {
            let more = if ok.has_more() { ", more" } else { "" };
            format!("ok {}{more}", ok.affected_rows)
        }
        Event::Prepared(prepared) => format!(
            "prepared {} of {} yields {}",
            prepared.id(),
            prepared.params().len(),
            prepared.columns().len()
        ),
        Event::Error(error) => format!("error {}", error.code()),
        Event::LocalInfile(name) => format!("wants {}", String::from_utf8_lossy(name)),
        Event::Progress(progress) => format!("progress {}", progress.milli_percent),
        Event::Farewell(error) => format!("farewell {}", error.code()),
    }
}
