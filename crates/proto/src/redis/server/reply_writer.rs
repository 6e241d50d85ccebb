//! Writes replies, as RESP2 or RESP3 has them.

/// The version of the protocol that a connection has agreed upon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// What every connection begins with.
    #[default]
    Resp2,
    /// What `HELLO 3` switches to.
    Resp3,
}

/// Appends replies to a buffer.
///
/// A type that RESP2 lacks is written there as Redis does: a map or set as an array, a number with a
/// fraction as a string, a boolean as 0 or 1, a push as an array. An aggregate is its head; so many
/// elements, or twice as many for a map, must follow.
#[derive(Debug)]
pub struct ReplyWriter<'a> {
    version: Version,
    wire: &'a mut Vec<u8>,
}

impl<'a> ReplyWriter<'a> {
    /// Writes to the end of `wire`.
    #[must_use]
    pub fn new(version: Version, wire: &'a mut Vec<u8>) -> Self {
        Self { version, wire }
    }

    /// The version in which it writes.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Writes what follows in another version, as after `HELLO`.
    pub fn set_version(&mut self, version: Version) {
        self.version = version;
    }

    /// The same writer, for somebody else to use for a while.
    #[must_use]
    pub fn by_ref(&mut self) -> ReplyWriter<'_> {
        ReplyWriter {
            version: self.version,
            wire: self.wire,
        }
    }

    /// A simple string; a line break in it becomes a space.
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// `+OK`
    pub fn ok(&mut self) {
        self.simple("OK");
    }

    /// An error, whose first word is its code; a line break in it becomes a space.
    pub fn error(&mut self, text: &str) {
        self.line(b'-', text.as_bytes());
    }

    /// An error of any bytes (RESP3), or an [`error`](Self::error).
    pub fn bulk_error(&mut self, text: &str) {
        match self.version {
            Version::Resp2 => self.error(text),
            Version::Resp3 => self.blob(b'!', text.as_bytes()),
        }
    }

    /// A whole number.
    pub fn integer(&mut self, number: i64) {
        self.number(b':', number);
    }

    /// A string of any bytes.
    pub fn bulk(&mut self, bytes: &[u8]) {
        self.blob(b'$', bytes);
    }

    /// A string, or nothing.
    pub fn bulk_or_nil(&mut self, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => self.bulk(bytes),
            None => self.nil(),
        }
    }

    /// Nothing, where a string might be.
    pub fn nil(&mut self) {
        self.wire.extend_from_slice(match self.version {
            Version::Resp2 => b"$-1\r\n",
            Version::Resp3 => b"_\r\n",
        });
    }

    /// Nothing, where an array might be.
    pub fn nil_array(&mut self) {
        self.wire.extend_from_slice(match self.version {
            Version::Resp2 => b"*-1\r\n",
            Version::Resp3 => b"_\r\n",
        });
    }

    /// A truth.
    pub fn boolean(&mut self, value: bool) {
        match self.version {
            Version::Resp2 => self.integer(value.into()),
            Version::Resp3 => {
                self.wire
                    .extend_from_slice(if value { b"#t\r\n" } else { b"#f\r\n" });
            }
        }
    }

    /// A number with a fraction, in the shortest form that reads back as the same.
    pub fn double(&mut self, value: f64) {
        let text = match value {
            f64::INFINITY => "inf".to_owned(),
            f64::NEG_INFINITY => "-inf".to_owned(),
            value if value.is_nan() => "nan".to_owned(),
            value => value.to_string(),
        };
        match self.version {
            Version::Resp2 => self.bulk(text.as_bytes()),
            Version::Resp3 => self.line(b',', text.as_bytes()),
        }
    }

    /// A whole number of any size, by its digits.
    pub fn big_number(&mut self, digits: &str) {
        match self.version {
            Version::Resp2 => self.bulk(digits.as_bytes()),
            Version::Resp3 => self.line(b'(', digits.as_bytes()),
        }
    }

    /// A text for a person, with its format in three letters, such as `txt`.
    pub fn verbatim(&mut self, format: [u8; 3], text: &[u8]) {
        match self.version {
            Version::Resp2 => self.bulk(text),
            Version::Resp3 => {
                let len = text.len().saturating_add(format.len() + 1);
                self.count(b'=', len);
                self.wire.extend_from_slice(&format);
                self.wire.push(b':');
                self.wire.extend_from_slice(text);
                self.end();
            }
        }
    }

    /// The head of an array of so many elements.
    pub fn array(&mut self, elements: usize) {
        self.count(b'*', elements);
    }

    /// The head of a map of so many pairs.
    pub fn map(&mut self, pairs: usize) {
        match self.version {
            Version::Resp2 => self.array(pairs.saturating_mul(2)),
            Version::Resp3 => self.count(b'%', pairs),
        }
    }

    /// The head of a set of so many elements.
    pub fn set(&mut self, elements: usize) {
        self.aggregate(b'~', elements);
    }

    /// The head of a push of so many elements, its kind the first.
    pub fn push(&mut self, elements: usize) {
        self.aggregate(b'>', elements);
    }

    /// The head of an attribute of so many pairs; a reply must follow behind it. Nothing may be written
    /// of it in RESP2, which has none.
    ///
    /// Says whether it was written.
    #[must_use]
    pub fn attribute(&mut self, pairs: usize) -> bool {
        let written = self.version == Version::Resp3;
        if written {
            self.count(b'|', pairs);
        }
        written
    }

    fn aggregate(&mut self, kind: u8, elements: usize) {
        match self.version {
            Version::Resp2 => self.array(elements),
            Version::Resp3 => self.count(kind, elements),
        }
    }

    fn blob(&mut self, kind: u8, bytes: &[u8]) {
        self.count(kind, bytes.len());
        self.wire.extend_from_slice(bytes);
        self.end();
    }

    fn line(&mut self, kind: u8, text: &[u8]) {
        self.wire.push(kind);
        let one_line = |byte: &u8| {
            if matches!(byte, b'\r' | b'\n') {
                b' '
            } else {
                *byte
            }
        };
        self.wire.extend(text.iter().map(one_line));
        self.end();
    }

    fn count(&mut self, kind: u8, count: usize) {
        // No buffer of this machine is longer than that.
        self.number(kind, i64::try_from(count).unwrap_or(i64::MAX));
    }

    fn number(&mut self, kind: u8, number: i64) {
        self.wire.push(kind);
        if number < 0 {
            self.wire.push(b'-');
        }
        self.digits(number.unsigned_abs());
        self.end();
    }

    /// Without the formatting machinery, which costs more than the rest of a short reply.
    fn digits(&mut self, mut number: u64) {
        let mut digits = [b'0'; 20];
        let mut used = 0;
        for place in digits.iter_mut().rev() {
            *place = b'0' + (number % 10) as u8;
            number /= 10;
            used += 1;
            if number == 0 {
                break;
            }
        }
        self.wire
            .extend_from_slice(digits.get(digits.len() - used..).unwrap_or_default());
    }

    fn end(&mut self) {
        self.wire.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written in RESP2 and in RESP3.
    fn both(write: impl Fn(&mut ReplyWriter<'_>)) -> (String, String) {
        let written = |version| {
            let mut wire = Vec::new();
            write(&mut ReplyWriter::new(version, &mut wire));
            String::from_utf8(wire).unwrap()
        };
        (written(Version::Resp2), written(Version::Resp3))
    }

    fn assert_both(write: impl Fn(&mut ReplyWriter<'_>), resp2: &str, resp3: &str) {
        assert_eq!(both(write), (resp2.to_owned(), resp3.to_owned()));
    }

    #[test]
    fn every_kind_is_written_as_its_version_has_it() {
        assert_both(|to| to.ok(), "+OK\r\n", "+OK\r\n");
        assert_both(|to| to.error("ERR no"), "-ERR no\r\n", "-ERR no\r\n");
        assert_both(
            |to| to.bulk_error("ERR a\nb"),
            "-ERR a b\r\n",
            "!7\r\nERR a\nb\r\n",
        );
        assert_both(|to| to.bulk(b"a\r\n"), "$3\r\na\r\n\r\n", "$3\r\na\r\n\r\n");
        assert_both(|to| to.bulk_or_nil(None), "$-1\r\n", "_\r\n");
        assert_both(|to| to.nil_array(), "*-1\r\n", "_\r\n");
        assert_both(|to| to.boolean(true), ":1\r\n", "#t\r\n");
        assert_both(|to| to.boolean(false), ":0\r\n", "#f\r\n");
        assert_both(|to| to.double(1.5), "$3\r\n1.5\r\n", ",1.5\r\n");
        assert_both(
            |to| to.double(f64::NEG_INFINITY),
            "$4\r\n-inf\r\n",
            ",-inf\r\n",
        );
        assert_both(|to| to.double(f64::NAN), "$3\r\nnan\r\n", ",nan\r\n");
        assert_both(|to| to.big_number("123"), "$3\r\n123\r\n", "(123\r\n");
        assert_both(
            |to| to.verbatim(*b"txt", b"hi"),
            "$2\r\nhi\r\n",
            "=6\r\ntxt:hi\r\n",
        );
        assert_both(|to| to.array(2), "*2\r\n", "*2\r\n");
        assert_both(|to| to.map(2), "*4\r\n", "%2\r\n");
        assert_both(|to| to.set(2), "*2\r\n", "~2\r\n");
        assert_both(|to| to.push(2), "*2\r\n", ">2\r\n");
        assert_both(
            |to| assert_eq!(to.attribute(1), to.version() == Version::Resp3),
            "",
            "|1\r\n",
        );
    }

    #[test]
    fn a_version_is_in_force_from_where_it_was_set() {
        let mut wire = Vec::new();
        let mut writer = ReplyWriter::new(Version::Resp2, &mut wire);
        writer.by_ref().nil();
        writer.set_version(Version::Resp3);
        writer.by_ref().nil();
        assert_eq!(wire, b"$-1\r\n_\r\n");
    }

    #[test]
    fn numbers_have_all_their_digits() {
        for number in [0, 1, -1, 9, 10, -10, 1_234_567_890, i64::MAX, i64::MIN] {
            let text = format!(":{number}\r\n");
            assert_both(|to| to.integer(number), &text, &text);
        }
    }

    #[test]
    fn a_line_stays_a_line() {
        assert_both(|to| to.simple("a\r\nb"), "+a  b\r\n", "+a  b\r\n");
        assert_both(|to| to.error("ERR a\n:1"), "-ERR a :1\r\n", "-ERR a :1\r\n");
    }
}
