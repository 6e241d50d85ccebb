//! One statement that runs: its answer as it comes, and its result.

use arknet_proto::mysql::answer::Event;
use arknet_proto::mysql::command::Prepared;
use arknet_proto::mysql::row::{DecodeError, Row};

use super::{Ask, Taken, Units};
use crate::mysql::Error;
use crate::mysql::incoming::{Broken, Incoming};
use crate::mysql::result::{Collect, FromResult};

/// What one statement asks of a server.
pub trait Asks: Send {
    /// The question.
    fn ask(&self) -> Ask<'_>;

    /// Whether it leaves nothing behind in the session.
    fn is_stateless(&self) -> bool;
}

/// A request for one statement.
pub trait Single: Asks {
    /// What its answer is read as.
    type Value: FromResult;
}

/// A request for one statement that runs.
#[derive(Debug)]
pub struct Unit<S: Single> {
    single: S,
    collector: <S::Value as FromResult>::Collector,
    /// Bytes of rows so far.
    collected: usize,
    /// What could not be read first.
    fault: Option<DecodeError>,
    result: Option<Result<(), Error>>,
}

impl<S: Single> Unit<S> {
    pub(crate) fn new(single: S) -> Self {
        Self {
            single,
            collector: Default::default(),
            collected: 0,
            fault: None,
            result: None,
        }
    }

    #[inline]
    fn collect(&mut self, row: Row<'_>, limit: usize) -> Result<(), Broken> {
        if <S::Value as FromResult>::Collector::KEEPS {
            self.collected = self.collected.saturating_add(row.packet().len());
            if self.collected > limit {
                return Err(Broken::TooLarge);
            }
        }
        if self.fault.is_some() {
            return Ok(());
        }
        match self.collector.row(row) {
            Ok(()) => Ok(()),
            Err(error) => self.note(error),
        }
    }

    /// What follows is read all the same, and forgotten.
    #[cold]
    fn note(&mut self, error: DecodeError) -> Result<(), Broken> {
        if error.is_malformed() {
            return Err(Broken::Row(error));
        }
        self.fault.get_or_insert(error);
        Ok(())
    }
}

impl<S: Single> Units for Unit<S> {
    type Output = Result<S::Value, Error>;

    #[inline]
    fn count(&self) -> usize {
        1
    }

    #[inline]
    fn ask(&self, _index: usize) -> Ask<'_> {
        self.single.ask()
    }

    #[inline]
    fn is_stateless(&self, _index: usize) -> bool {
        self.single.is_stateless()
    }

    #[inline]
    fn is_settled(&self, _index: usize) -> bool {
        self.result.is_some()
    }

    #[inline]
    fn take(&mut self, _index: usize, incoming: &mut Incoming<'_>) -> Result<Taken, Broken> {
        let limit = incoming.max_result;
        loop {
            while let Some(row) = incoming.next_row()? {
                self.collect(row, limit)?;
            }
            match incoming.next()? {
                None => return Ok(Taken::More),
                Some(Event::Columns(columns)) => {
                    if let Err(error) = self.collector.columns(columns) {
                        self.note(error)?;
                    }
                }
                Some(Event::Row(row)) => self.collect(row, limit)?,
                Some(Event::Ok(ok)) => {
                    self.collector.end(&ok);
                    if !ok.has_more() {
                        return Ok(Taken::Answered(Ok(())));
                    }
                }
                Some(Event::Error(error)) => return Ok(Taken::Answered(Err(error))),
                Some(Event::LocalInfile(_)) => return Err(Broken::NoFile),
                Some(_) => {}
            }
        }
    }

    fn take_prepared(&mut self, _index: usize, prepared: &Prepared) {
        if let Ask::Prepare(sql) = self.single.ask() {
            self.collector.prepared(sql, prepared);
        }
    }

    fn settle(&mut self, _index: usize, result: Result<(), Error>) {
        self.result.get_or_insert(result);
    }

    fn finish(self) -> Self::Output {
        self.result.unwrap_or(Err(Error::Closed))?;
        match self.fault {
            Some(error) => Err(Error::Decode(error)),
            None => self.collector.finish(),
        }
    }
}
