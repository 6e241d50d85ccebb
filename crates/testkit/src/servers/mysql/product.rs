//! The servers that speak the protocol, and where each is found.

use std::path::{Path, PathBuf};

use crate::process::which;
use crate::servers::{Absent, unpacked};

/// Which implementation to start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Product {
    /// `mariadbd` from `PATH`: 10.11 in Debian bookworm. The default.
    #[default]
    MariaDb,
    /// MariaDB 11.8, which `scripts/servers mariadb` has unpacked.
    MariaDb11,
    /// MySQL 9, which `scripts/servers mysql` has unpacked.
    MySql,
}

/// A server's program, and what must be told about where it lies.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    /// Of the server's own files; empty where it knows.
    pub(super) places: Vec<String>,
    /// Its messages, character sets and scripts.
    pub(super) share: PathBuf,
}

impl Product {
    /// All of them, for tests that run on each.
    pub const ALL: [Self; 3] = [Self::MariaDb, Self::MariaDb11, Self::MySql];

    /// What a test or a report calls it: `mariadb`, `mariadb11` or `mysql`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::MariaDb => "mariadb",
            Self::MariaDb11 => "mariadb11",
            Self::MySql => "mysql",
        }
    }

    /// True unless it is MySQL.
    #[must_use]
    pub fn is_mariadb(self) -> bool {
        self != Self::MySql
    }

    /// Where the program is.
    ///
    /// # Errors
    ///
    /// [`Absent`] where it is not, with what would bring it.
    pub fn find(self) -> Result<PathBuf, Absent> {
        self.program().map(|program| program.path)
    }

    pub(super) fn program(self) -> Result<Program, Absent> {
        match self {
            Self::MariaDb => installed().ok_or(Absent {
                program: "mariadbd",
                remedy: "apt-get install mariadb-server",
                optional: false,
            }),
            Self::MariaDb11 => brought("mariadb", "mariadbd").ok_or(Absent {
                program: "MariaDB 11",
                remedy: "scripts/servers mariadb",
                optional: true,
            }),
            Self::MySql => brought("mysql", "mysqld").ok_or(Absent {
                program: "MySQL",
                remedy: "scripts/servers mysql",
                optional: true,
            }),
        }
    }

    /// What every start says besides ports and files.
    ///
    /// Fast, small and forgetful of power failures; a transaction that was committed outlives a killed
    /// process all the same, since the system has its log by then.
    pub(super) fn arguments(self) -> Vec<String> {
        let mut arguments = Vec::from(COMMON);
        arguments.extend(match self {
            Self::MariaDb => MARIADB,
            Self::MariaDb11 => MARIADB_11,
            Self::MySql => MYSQL,
        });
        arguments.into_iter().map(str::to_owned).collect()
    }
}

const COMMON: [&str; 9] = [
    // Needed by root, and ignored for everybody else.
    "--user=root",
    "--skip-name-resolve",
    "--skip-log-bin",
    "--local-infile=ON",
    "--max-allowed-packet=64M",
    "--max-connections=300",
    "--innodb-buffer-pool-size=32M",
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-flush-method=nosync",
];

const MARIADB: &[&str] = &[
    "--plugin-load-add=auth_ed25519",
    "--innodb-log-file-size=16M",
    "--innodb-doublewrite=OFF",
];

const MARIADB_11: &[&str] = &[
    "--plugin-load-add=auth_ed25519",
    "--plugin-load-add=auth_parsec",
    "--innodb-log-file-size=16M",
    "--innodb-doublewrite=OFF",
];

const MYSQL: &[&str] = &[
    "--mysqlx=OFF",
    "--performance-schema=OFF",
    "--event-scheduler=OFF",
    // Its default folder is one that only a package makes.
    "--secure-file-priv=NULL",
    "--innodb-redo-log-capacity=16M",
    "--innodb-doublewrite=OFF",
];

fn installed() -> Option<Program> {
    let share = [
        "/usr/share/mysql",
        "/usr/share/mariadb",
        "/usr/local/share/mysql",
    ]
    .map(PathBuf::from)
    .into_iter()
    .find(|share| share.join("fill_help_tables.sql").is_file())?;
    Some(Program {
        // Where Debian keeps servers; the PATH of a user may lack it.
        path: which("mariadbd").or_else(|| which("/usr/sbin/mariadbd"))?,
        places: Vec::new(),
        share,
    })
}

fn brought(name: &str, program: &str) -> Option<Program> {
    let path = unpacked(name, program).and_then(which)?;
    let usr = path.parent()?.join("root/usr");
    let share = usr.join("share").join(name);
    let places = vec![
        argument("basedir", &usr),
        argument("lc-messages-dir", &share),
        argument("character-sets-dir", &share.join("charsets")),
        argument("plugin-dir", &usr.join("lib/mysql/plugin")),
    ];
    Some(Program {
        path,
        places,
        share,
    })
}

/// `--NAME=PATH`
pub(super) fn argument(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}
