//! The contents of a file on their way to the server.

use std::fmt;
use std::io;

use super::{Connection, Error};
use crate::drive::stream::Outgoing;
use crate::mysql::request::Pieces;

/// So much waits to be sent before more is asked of the source, which may be larger than memory.
const AHEAD: usize = 64 * 1024;

/// The largest packet of contents. Any other would do; servers read packet by packet.
const PACKET: usize = 256 * 1024;

/// What the server is being sent.
pub(super) struct Upload(Pieces);

impl Upload {
    pub(super) fn new(pieces: Pieces) -> Self {
        Self(pieces)
    }
}

impl Connection {
    /// Writes what there is room for. The end of the contents is said by a packet without any.
    pub(super) fn fill(&mut self) -> Result<(), Error> {
        let before = self.wire.end();
        let filled = self.fill_from_source();
        // They belong to no request of their own.
        self.flight.add_bytes(self.wire.end() - before);
        filled.map_err(|error| self.node.lost(error))
    }

    fn fill_from_source(&mut self) -> io::Result<()> {
        while let Some(Upload(pieces)) = &mut self.upload
            && self.wire.waiting() < AHEAD
        {
            let piece = pieces.next().transpose()?;
            let wire = self.wire.end_mut();
            let mut infile = self.conversation.infile();
            match piece {
                Some(bytes) => {
                    for packet in bytes.chunks(PACKET) {
                        infile.piece(wire, packet);
                    }
                }
                None => {
                    infile.finish(wire);
                    self.upload = None;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Upload")
    }
}
