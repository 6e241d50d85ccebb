//! Going through what is too much for one reply, page by page.

use std::fmt;
use std::marker::PhantomData;

use arknet_proto::redis::{Command as Encoded, DecodeError, FromReply, Reply, ToArg};

use crate::redis::Command;

/// What to scan for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[must_use = "options do nothing by themselves"]
pub struct ScanOptions {
    pattern: Option<Vec<u8>>,
    count: Option<u64>,
    of_type: Option<String>,
}

impl ScanOptions {
    /// Everything, in pages of the server's choice, about ten elements.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only what matches a pattern such as `user:*`. The server looks at everything all the same. `MATCH`.
    pub fn matching(mut self, pattern: impl Into<Vec<u8>>) -> Self {
        self.pattern = Some(pattern.into());
        self
    }

    /// How much work the server does for a page: about so many elements. `COUNT`.
    pub fn count(mut self, count: u64) -> Self {
        self.count = Some(count);
        self
    }

    /// Only keys of a type, such as `hash`; [`scan`](super::keys::scan) alone takes it. `TYPE`, Redis 6.
    pub fn of_type(mut self, name: impl Into<String>) -> Self {
        self.of_type = Some(name.into());
        self
    }
}

impl ToArg for ScanOptions {
    fn append_to(&self, command: &mut Encoded) {
        let pattern = self.pattern.as_deref().map(|pattern| ("MATCH", pattern));
        pattern.append_to(command);
        self.count.map(|count| ("COUNT", count)).append_to(command);
        let of_type = self.of_type.as_deref().map(|name| ("TYPE", name));
        of_type.append_to(command);
    }

    fn count(&self) -> usize {
        let options = [
            self.pattern.is_some(),
            self.count.is_some(),
            self.of_type.is_some(),
        ];
        2 * options.into_iter().filter(|is_set| *is_set).count()
    }
}

/// A scan that has not begun: what a client makes a stream of. [`ScanCursor`] is it in steps.
#[must_use = "a scan does nothing until it is run"]
pub struct ScanCommand<T> {
    name: &'static str,
    key: Option<Encoded>,
    options: ScanOptions,
    returns: PhantomData<fn() -> T>,
}

impl<T: FromReply> ScanCommand<T> {
    pub(super) fn of_keys(name: &'static str, options: ScanOptions) -> Self {
        Self {
            name,
            key: None,
            options,
            returns: PhantomData,
        }
    }

    pub(super) fn of_key(name: &'static str, key: impl ToArg, options: ScanOptions) -> Self {
        // A command holds an argument of any type as its bytes.
        let key = Encoded::new(name).arg(key);
        Self {
            key: Some(key),
            ..Self::of_keys(name, options)
        }
    }

    /// The scan at its start.
    pub fn cursor(self) -> ScanCursor<T> {
        ScanCursor {
            scan: self,
            next: Some(Vec::from(*b"0")),
        }
    }

    fn page(&self, cursor: &[u8]) -> Command<ScanPage<T>> {
        let command = Command::clean(self.name);
        let command = match &self.key {
            Some(key) => command.args(key.words().skip(1)),
            None => command,
        };
        command.arg(cursor).arg(&self.options)
    }
}

impl<T> fmt::Debug for ScanCommand<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ScanCommand").field(&self.name).finish()
    }
}

/// A scan in steps: run [`page`](Self::page), hand its reply to [`take`](Self::take), until there is none.
///
/// What is there during all of the scan is returned at least once, and may be returned more than once.
///
/// ```no_run
/// # use arknet::redis::{Error, Lease};
/// # use arknet::redis::commands::{ScanOptions, keys};
/// # async fn all(lease: &mut Lease) -> Result<Vec<String>, Error> {
/// let mut found = Vec::new();
/// let mut cursor = keys::scan::<String>(ScanOptions::new().matching("user:*")).cursor();
/// while let Some(page) = cursor.page() {
///     found.extend(cursor.take(lease.run(page).await?));
/// }
/// # Ok(found)
/// # }
/// ```
pub struct ScanCursor<T> {
    scan: ScanCommand<T>,
    /// The server's mark of where to go on: opaque, and at the end none.
    next: Option<Vec<u8>>,
}

impl<T: FromReply> ScanCursor<T> {
    /// The command for the next page; `None` at the end. Until its reply is taken, the same again.
    pub fn page(&self) -> Option<Command<ScanPage<T>>> {
        self.next.as_deref().map(|cursor| self.scan.page(cursor))
    }

    /// What is on a page. It may be nothing, and not the end all the same.
    pub fn take(&mut self, page: ScanPage<T>) -> Vec<T> {
        self.next = (page.cursor != b"0").then_some(page.cursor);
        page.elements
    }

    /// Whether the end has been reached.
    pub fn is_finished(&self) -> bool {
        self.next.is_none()
    }
}

impl<T> fmt::Debug for ScanCursor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanCursor")
            .field("scan", &self.scan)
            .field("is_finished", &self.next.is_none())
            .finish()
    }
}

/// The reply to one step of a scan.
#[derive(Clone, Debug)]
pub struct ScanPage<T> {
    cursor: Vec<u8>,
    elements: Vec<T>,
}

impl<T: FromReply> FromReply for ScanPage<T> {
    fn from_reply(reply: Reply<'_>) -> Result<Self, DecodeError> {
        let (cursor, elements) = <(Vec<u8>, Vec<T>)>::from_reply(reply)?;
        Ok(Self { cursor, elements })
    }
}
