//! The embedded server of a run: this program again, as `serve ENGINE`, so that the processor time
//! of the client's process is the client's.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::config::Engine;
use crate::measure::Error;

/// A server that ends when it is dropped, or when this process ends in any other way: it reads its
/// standard input, which is closed then.
#[derive(Debug)]
pub(super) struct Embedded {
    child: Child,
    url: String,
}

impl Embedded {
    /// Starts `program` and reads the URL that it prints.
    pub(super) fn start(program: &Path, engine: Engine) -> Result<Self, Error> {
        let mut child = Command::new(program)
            .args(["serve", engine.name(), "--until-input-ends"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Error::setup("start the embedded server"))?;
        let mut url = String::new();
        let read = match child.stdout.take() {
            Some(stdout) => BufReader::new(stdout).read_line(&mut url),
            None => Ok(0),
        };
        // From here on its end is the drop's affair.
        let mut server = Self { child, url };
        read.map_err(Error::setup("read the embedded server's URL"))?;
        server.url.truncate(server.url.trim_end().len());
        if server.url.is_empty() {
            let nothing = "it ended without one".to_owned();
            return Err(Error::setup("read the embedded server's URL")(nothing));
        }
        Ok(server)
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // Its memory is all that it has, so that it may end at once. A child that is gone already
        // is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
