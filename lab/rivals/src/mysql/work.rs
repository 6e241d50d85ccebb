//! The pieces of work, by the names that the output calls them.

/// What one process is asked to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
}

/// The shape of a piece of work. An operation is one statement and its answer, checked; of a scan it
/// is one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `SELECT 1`, one at a time.
    Select(Form),
    /// A table of four columns from its first row to its last, again and again.
    Scan(Form, Reading),
    /// So many statements as text, together where the library can, and their answers.
    Pipeline {
        /// How many.
        length: usize,
    },
    /// Lease over verified TLS, a statement as text, return, by so many tasks at a time.
    Lease {
        /// Connections of the pool.
        connections: usize,
        /// Tasks that want one.
        outstanding: usize,
        /// Bytes of the value that is asked for.
        payload: usize,
    },
}

/// How the server writes its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// As text.
    Text,
    /// Prepared, and in binary.
    Binary,
}

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// `(u64, i64, String, f64)`.
    Owned,
    /// Numbers, and the text where the library has it.
    Borrowed,
}

const SMALL: usize = 64;
const LARGE: usize = 4 * 1024;

const fn work(name: &'static str, kind: Kind) -> Work {
    Work { name, kind }
}

const fn lease(name: &'static str, connections: usize, outstanding: usize, payload: usize) -> Work {
    let kind = Kind::Lease {
        connections,
        outstanding,
        payload,
    };
    Work { name, kind }
}

/// All there is.
pub(crate) const ALL: &[Work] = &[
    work("select 1 text", Kind::Select(Form::Text)),
    work("select 1 prepared", Kind::Select(Form::Binary)),
    work("scan text owned", Kind::Scan(Form::Text, Reading::Owned)),
    work(
        "scan binary owned",
        Kind::Scan(Form::Binary, Reading::Owned),
    ),
    work(
        "scan text borrowed",
        Kind::Scan(Form::Text, Reading::Borrowed),
    ),
    work(
        "scan binary borrowed",
        Kind::Scan(Form::Binary, Reading::Borrowed),
    ),
    work("pipeline 20", Kind::Pipeline { length: 20 }),
    lease("lease tls 1/1", 1, 1, SMALL),
    lease("lease tls 1/4", 1, 4, SMALL),
    lease("lease tls 1/16", 1, 16, SMALL),
    lease("lease tls 4/4", 4, 4, SMALL),
    lease("lease tls 4/16", 4, 16, SMALL),
    lease("lease tls 4 KiB 1/1", 1, 1, LARGE),
    lease("lease tls 4 KiB 4/16", 4, 16, LARGE),
];

/// Finds a piece of work; for clap.
///
/// # Errors
///
/// With the names that exist.
pub(crate) fn find(name: &str) -> Result<Work, String> {
    let found = ALL.iter().find(|work| work.name == name);
    found.copied().ok_or_else(|| {
        let names = ALL.iter().map(|work| work.name).collect::<Vec<_>>();
        format!("there are: {}", names.join(", "))
    })
}
