//! Scans as streams.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec;

use arknet_proto::redis::FromReply;
use futures_core::Stream;
use futures_util::stream::{StreamExt, unfold};

use super::Client;
use crate::redis::commands::{ScanCommand, ScanCursor};
use crate::redis::error::Error;

/// The elements of a scan, by [`Client::scan`]. Also a [`Stream`].
///
/// A page is asked for when the one before has been taken. After an error it goes on where it was: the same page is asked
/// for again, unless nobody asks any more.
pub struct Scan<T> {
    elements: Pin<Box<dyn Stream<Item = Result<T, Error>> + Send>>,
}

struct Progress<T> {
    client: Client,
    cursor: ScanCursor<T>,
    page: vec::IntoIter<T>,
}

impl<T: FromReply + Send + 'static> Scan<T> {
    pub(super) fn new(client: Client, scan: ScanCommand<T>) -> Self {
        let progress = Progress {
            client,
            cursor: scan.cursor(),
            page: Vec::new().into_iter(),
        };
        Self {
            elements: Box::pin(unfold(progress, step)),
        }
    }
}

impl<T> Scan<T> {
    /// The next element; `None` at the end. What is there during all of the scan comes at least once, and may come more
    /// often.
    ///
    /// Dropping this future loses nothing.
    ///
    /// # Errors
    ///
    /// As [`Client::run`].
    pub async fn next(&mut self) -> Option<Result<T, Error>> {
        self.elements.next().await
    }
}

impl<T> Stream for Scan<T> {
    type Item = Result<T, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.elements.as_mut().poll_next(cx)
    }
}

impl<T> fmt::Debug for Scan<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scan")
    }
}

async fn step<T: FromReply + Send>(
    mut progress: Progress<T>,
) -> Option<(Result<T, Error>, Progress<T>)> {
    loop {
        if let Some(element) = progress.page.next() {
            return Some((Ok(element), progress));
        }
        let page = progress.client.run(progress.cursor.page()?).await;
        match page {
            Ok(page) => progress.page = progress.cursor.take(page).into_iter(),
            Err(error) => return Some((Err(error), progress)),
        }
    }
}
