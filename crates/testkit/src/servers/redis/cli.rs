//! A blocking connection of a few lines: independent of the code under test.

use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::Answer;

/// The name that the control connection bears in `CLIENT LIST`.
pub(super) const NAME: &str = "testkit-control";

/// How long a server on this machine may take to answer; a test that pauses it for longer waits
/// in vain.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Cli {
    stream: BufReader<TcpStream>,
}

impl Cli {
    pub(super) fn connect(addr: SocketAddr, password: Option<&str>) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&addr, ANSWERS_WITHIN)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
        stream.set_write_timeout(Some(ANSWERS_WITHIN))?;
        let mut cli = Self {
            stream: BufReader::new(stream),
        };
        if let Some(password) = password {
            cli.expect_ok(&["AUTH", password])?;
        }
        cli.expect_ok(&["CLIENT", "SETNAME", NAME])?;
        Ok(cli)
    }

    pub(super) fn run(&mut self, command: &[impl AsRef<[u8]>]) -> io::Result<Answer> {
        let mut wire = format!("*{}\r\n", command.len()).into_bytes();
        for word in command {
            let word = word.as_ref();
            wire.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            wire.extend_from_slice(word);
            wire.extend_from_slice(b"\r\n");
        }
        self.stream.get_mut().write_all(&wire)?;
        Answer::read(&mut self.stream)
    }

    fn expect_ok(&mut self, command: &[&str]) -> io::Result<()> {
        match self.run(command)? {
            Answer::Simple(text) if text == "OK" => Ok(()),
            // Its arguments may be secret.
            other => Err(io::Error::other(format!(
                "{:?}: {other:?}",
                command.first()
            ))),
        }
    }
}
