//! Launchers of real servers: the peers that our clients are for.
//!
//! Each server runs on free loopback ports, with a private folder and nothing kept after it, dies with
//! the test process, and is ended when its value is dropped. What it printed is part of every failure.
//!
//! | server | where it comes from |
//! |---|---|
//! | [`redis`]: Redis | `redis-server` in `PATH`; `scripts/test` installs it. In CI its absence is a failure |
//! | [`redis`]: Valkey | `valkey-server` in `PATH`, else what `scripts/servers valkey` has unpacked; may be absent anywhere |
//! | [`mysql`]: MariaDB 10.11 | `mariadbd` in `PATH`; `scripts/test` installs it. In CI its absence is a failure |
//! | [`mysql`]: MariaDB 11.8, MySQL 9 | what `scripts/servers mariadb mysql` has unpacked; may be absent anywhere |
//!
//! A test asks with [`need!`](crate::need), which skips loudly where there is none:
//!
//! ```
//! use arknet_testkit::need;
//! use arknet_testkit::servers::redis::{Options, RedisServer, Transport};
//!
//! fn speaks_to_redis() {
//!     let server = need!(RedisServer::start(Options::default()));
//!     assert_eq!(server.cli(&["ECHO", "hello"]).text(), "hello");
//!     println!("{}", server.url(Transport::Tls));
//! }
//! # speaks_to_redis();
//! ```

mod common;
mod keeper;
pub mod mysql;
mod port;
pub mod redis;

use std::env;
use std::fmt;
use std::path::PathBuf;

use crate::process;

/// Names another folder for the unpacked servers than `~/.cache/arknet/servers`; `scripts/servers`
/// reads it too.
pub const SERVERS_FOLDER: &str = "ARKNET_SERVERS";

/// Why there is no server to test with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    program: &'static str,
    remedy: &'static str,
    /// One that even a machine with all peers may lack.
    optional: bool,
}

impl Absent {
    /// Says loudly that the test is skipped, for [`need!`](crate::need).
    ///
    /// # Panics
    ///
    /// When `ARKNET_REQUIRE_PEERS=1` is set and the server is one that every machine can have.
    pub fn skip(&self) {
        if self.optional {
            process::skipped_anywhere(format_args!("{self}"));
        } else {
            process::skipped(format_args!("{self}"));
        }
    }
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not there: {}", self.program, self.remedy)
    }
}

/// The value of a launcher's result, or a loud skip: it returns from the test where the server is
/// [`Absent`](crate::servers::Absent).
///
/// # Panics
///
/// As [`Absent::skip`](crate::servers::Absent::skip).
#[macro_export]
macro_rules! need {
    ($server:expr) => {
        match $server {
            ::std::result::Result::Ok(server) => server,
            ::std::result::Result::Err(absent) => {
                $crate::servers::Absent::skip(&absent);
                return;
            }
        }
    };
}

/// Where `scripts/servers NAME` unpacks, whether it has or not.
fn unpacked(name: &str, program: &str) -> Option<PathBuf> {
    let folder = match env::var_os(SERVERS_FOLDER) {
        Some(folder) => PathBuf::from(folder),
        None => cache_folder()?.join("arknet/servers"),
    };
    Some(folder.join(name).join(program))
}

fn cache_folder() -> Option<PathBuf> {
    let named = env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty());
    named
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")))
}
