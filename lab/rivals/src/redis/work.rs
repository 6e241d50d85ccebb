//! The pieces of work, by the names that the output calls them.

use super::decode::Case;

/// What one process is asked to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
}

/// The shape of a piece of work. An operation is one request and its reply, checked; where a codec
/// works alone it is one pass over the case's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// So many tasks, each with one GET at a time, on one connection.
    Get {
        /// How many tasks.
        tasks: usize,
        /// Which values.
        value: Value,
    },
    /// One task that sends so many GETs together and waits for all of them.
    Pipeline {
        /// How many GETs.
        length: usize,
    },
    /// Lease, ECHO, return, by so many tasks at a time.
    Lease {
        /// Connections of the pool.
        connections: usize,
        /// Tasks that want one.
        outstanding: usize,
    },
    /// A decoder alone, in this process, without a server.
    Decode(Case),
}

/// What a GET returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// 20 bytes, read as text.
    Small,
    /// 16 KiB, read as bytes.
    Large,
}

const fn get(name: &'static str, tasks: usize, value: Value) -> Work {
    let kind = Kind::Get { tasks, value };
    Work { name, kind }
}

const fn lease(name: &'static str, connections: usize, outstanding: usize) -> Work {
    let kind = Kind::Lease {
        connections,
        outstanding,
    };
    Work { name, kind }
}

/// All that a client does with a server.
pub(crate) const WITH_SERVER: &[Work] = &[
    get("sequential get", 1, Value::Small),
    get("64 tasks", 64, Value::Small),
    get("512 tasks", 512, Value::Small),
    Work {
        name: "pipeline 100",
        kind: Kind::Pipeline { length: 100 },
    },
    get("get 16 KiB", 16, Value::Large),
    lease("lease 1/1", 1, 1),
    lease("lease 1/4", 1, 4),
    lease("lease 1/16", 1, 16),
    lease("lease 4/4", 4, 4),
    lease("lease 4/16", 4, 16),
];

/// All that a decoder does alone.
pub(crate) fn decoding() -> impl Iterator<Item = Work> {
    Case::ALL.iter().map(|case| Work {
        name: case.name(),
        kind: Kind::Decode(*case),
    })
}

/// Finds a piece of work; for clap.
///
/// # Errors
///
/// With the names that exist.
pub(crate) fn find(name: &str) -> Result<Work, String> {
    let all = || WITH_SERVER.iter().copied().chain(decoding());
    all().find(|work| work.name == name).ok_or_else(|| {
        let names = all().map(|work| work.name).collect::<Vec<_>>();
        format!("there are: {}", names.join(", "))
    })
}
