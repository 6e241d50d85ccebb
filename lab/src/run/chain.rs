//! An append-only file of JSON lines, each bound to the one before by its hash.
//!
//! The first line carries the hash of the plan, so a line that is changed, removed or put in, and
//! a plan that is changed afterwards, break the chain at a place that can be named. Every line is
//! on disk before the next process starts.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use super::record::{Body, Line, VERSION};

/// A record of a whole session is a few megabytes; a file above this is not one of ours.
pub const MAX_FILE_BYTES: u64 = 1 << 30;

/// The hash of `bytes`, as records write it.
#[must_use]
pub fn hash(bytes: &[u8]) -> String {
    format!("b3:{}", blake3::hash(bytes).to_hex())
}

/// Appends lines.
#[derive(Debug)]
pub struct Writer {
    file: File,
    seq: u64,
    prev: String,
}

impl Writer {
    /// Begins a chain at `path`, which must not exist, on the plan whose hash is `genesis`.
    ///
    /// # Errors
    /// When the file exists or cannot be made.
    pub fn create(path: &Path, genesis: String) -> io::Result<Self> {
        let file = OpenOptions::new()
            .create_new(true)
            .append(true)
            .open(path)?;
        Ok(Self {
            file: locked(file)?,
            seq: 0,
            prev: genesis,
        })
    }

    /// Goes on behind `lines`, which [`read`] found in `path`. A torn last line is cut off.
    ///
    /// # Errors
    /// When the file cannot be opened, is in use by another lab, or cannot be cut.
    pub fn resume(path: &Path, read: &Chain) -> io::Result<Self> {
        let file = locked(OpenOptions::new().append(true).open(path)?)?;
        if read.torn {
            file.set_len(read.bytes)?;
        }
        let seq = u64::try_from(read.lines.len()).map_err(io::Error::other)?;
        Ok(Self {
            file,
            seq,
            prev: read.last.clone(),
        })
    }

    /// The number that the next line will get.
    #[must_use]
    pub fn next_seq(&self) -> u64 {
        self.seq
    }

    /// Appends one line and waits until it is on disk.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&mut self, body: Body) -> io::Result<()> {
        let line = Line {
            v: VERSION,
            seq: self.seq,
            prev: self.prev.clone(),
            body,
        };
        let mut text = serde_json::to_string(&line)?;
        let digest = hash(text.as_bytes());
        text.push('\n');
        self.file.write_all(text.as_bytes())?;
        self.file.sync_data()?;
        self.prev = digest;
        self.seq = self.seq.saturating_add(1);
        Ok(())
    }
}

/// Two labs that append to one file would break its chain.
fn locked(file: File) -> io::Result<File> {
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            "another lab is writing to it",
        )),
        Err(std::fs::TryLockError::Error(error)) => Err(error),
    }
}

/// What a chain file holds.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The lines that could be read, in order.
    pub lines: Vec<Line>,
    /// Where it is broken, one text a fault.
    pub problems: Vec<String>,
    /// Whether the file ends within a line.
    pub torn: bool,
    /// Bytes of whole lines.
    pub bytes: u64,
    /// Hash of the last whole line, or the genesis.
    pub last: String,
}

/// Reads the chain at `path` that began on `genesis` and checks every link.
///
/// # Errors
/// When the file cannot be read.
pub fn read(path: &Path, genesis: &str) -> io::Result<Chain> {
    let size = std::fs::metadata(path)?.len();
    if size > MAX_FILE_BYTES {
        return Err(io::Error::other(format!(
            "{size} bytes, more than {MAX_FILE_BYTES}"
        )));
    }
    Ok(parse(&std::fs::read_to_string(path)?, genesis))
}

fn parse(text: &str, genesis: &str) -> Chain {
    let whole = text.rfind('\n').map_or(0, |at| at.saturating_add(1));
    let mut chain = Chain {
        lines: Vec::new(),
        problems: Vec::new(),
        torn: whole < text.len(),
        bytes: u64::try_from(whole).unwrap_or(u64::MAX),
        last: genesis.to_owned(),
    };
    for (number, line) in text.get(..whole).unwrap_or_default().lines().enumerate() {
        chain.link(number, line);
    }
    chain
}

impl Chain {
    fn link(&mut self, number: usize, text: &str) {
        let at = number.saturating_add(1);
        match serde_json::from_str::<Line>(text) {
            Err(error) => self
                .problems
                .push(format!("line {at} is not a record: {error}")),
            Ok(line) => {
                if line.v != VERSION {
                    self.problems
                        .push(format!("line {at} has version {}, not {VERSION}", line.v));
                }
                if line.prev != self.last {
                    let before = if number == 0 {
                        "the plan"
                    } else {
                        "the line before"
                    };
                    self.problems
                        .push(format!("line {at} does not follow {before}"));
                }
                if usize::try_from(line.seq) != Ok(number) {
                    self.problems
                        .push(format!("line {at} says that it is number {}", line.seq));
                }
                self.lines.push(line);
            }
        }
        self.last = hash(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::record::{Event, Note, Seal};
    use crate::run::scratch::Scratch;

    fn note(text: &str) -> Body {
        let at = "2026-01-01T00:00:00Z".to_owned();
        Body::Note(Note {
            at,
            event: Event::Interrupted,
            text: text.to_owned(),
        })
    }

    fn written() -> (Scratch, String) {
        let dir = Scratch::new("chain");
        let path = dir.path().join("runs.jsonl");
        let mut writer = Writer::create(&path, "b3:plan".to_owned()).unwrap();
        for text in ["one", "two", "three"] {
            writer.append(note(text)).unwrap();
        }
        let at = "2026-01-01T00:00:01Z".to_owned();
        writer
            .append(Body::Seal(Seal {
                at,
                runs: 0,
                failed: 0,
            }))
            .unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        (dir, text)
    }

    #[test]
    fn what_was_written_reads_back_without_a_fault() {
        let (_dir, text) = written();
        let chain = parse(&text, "b3:plan");
        assert!(chain.problems.is_empty(), "{:?}", chain.problems);
        assert_eq!(chain.lines.len(), 4);
        assert!(!chain.torn);
    }

    #[test]
    fn a_changed_line_is_seen_at_the_next_one() {
        let (_dir, text) = written();
        let chain = parse(&text.replace("two", "TWO"), "b3:plan");
        assert_eq!(chain.problems, ["line 3 does not follow the line before"]);
    }

    #[test]
    fn a_removed_line_and_another_plan_are_seen() {
        let (_dir, text) = written();
        let without: String = text
            .lines()
            .filter(|line| !line.contains("two"))
            .fold(String::new(), |all, line| all + line + "\n");
        assert!(!parse(&without, "b3:plan").problems.is_empty());
        assert_eq!(
            parse(&text, "b3:other").problems,
            ["line 1 does not follow the plan"]
        );
    }

    #[test]
    fn a_torn_line_is_cut_off_and_the_chain_goes_on() {
        let (dir, text) = written();
        let path = dir.path().join("runs.jsonl");
        std::fs::write(&path, format!("{text}{{\"v\":1,\"se")).unwrap();
        let chain = read(&path, "b3:plan").unwrap();
        assert!(chain.torn && chain.problems.is_empty());
        Writer::resume(&path, &chain)
            .unwrap()
            .append(note("four"))
            .unwrap();
        let again = read(&path, "b3:plan").unwrap();
        assert!(
            !again.torn && again.problems.is_empty(),
            "{:?}",
            again.problems
        );
        assert_eq!(again.lines.len(), 5);
    }

    #[test]
    fn two_writers_of_one_file_are_refused() {
        let (dir, _) = written();
        let path = dir.path().join("runs.jsonl");
        let chain = read(&path, "b3:plan").unwrap();
        let first = Writer::resume(&path, &chain).unwrap();
        assert!(Writer::resume(&path, &chain).is_err());
        drop(first);
    }
}
