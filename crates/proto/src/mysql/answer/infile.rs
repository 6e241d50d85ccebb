//! The contents of a file that the server asked for.

use crate::mysql::packet::{PacketReader, PacketWriter};

/// Sends contents in answer to [`Event::LocalInfile`](super::Event::LocalInfile): any number of pieces, then
/// [`finish`](Self::finish), even if there is nothing to send. The server answers to the whole.
#[derive(Debug)]
#[must_use = "the server waits for the end"]
pub struct LocalInfile<'c> {
    pub(super) reader: &'c mut PacketReader,
}

impl LocalInfile<'_> {
    /// Writes a piece. An empty one is left out, since it would be the end.
    pub fn piece(&mut self, wire: &mut Vec<u8>, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.packet(wire, bytes);
        }
    }

    /// Writes the end. Called once, when all pieces have been written, now or later.
    pub fn finish(mut self, wire: &mut Vec<u8>) {
        self.packet(wire, b"");
    }

    fn packet(&mut self, wire: &mut Vec<u8>, bytes: &[u8]) {
        let mut packet = PacketWriter::begin(wire, self.reader.sequence());
        packet.payload().extend_from_slice(bytes);
        let next = packet.finish();
        self.reader.expect(next);
    }
}
