//! What an owner keeps for its endpoints.
#![cfg_attr(
    not(feature = "tcp"),
    allow(dead_code, reason = "there are no endpoints without it")
)]

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::corks::Corks;
use super::drain::SessionsReport;
use super::signal::SourceId;

#[derive(Default)]
pub(crate) struct Network {
    /// Sessions and endpoints that there have been.
    pub(crate) sessions: Cell<u64>,
    pub(crate) endpoints: Cell<u64>,
    pub(crate) corks: Rc<Corks>,
    /// Sources whose task came back to them: they have something for the next update.
    pub(crate) resumed: RefCell<Vec<SourceId>>,
    /// Until when a drain goes on.
    pub(crate) drains_until: Cell<Option<Instant>>,
    report: RefCell<SessionsReport>,
}

impl Network {
    /// The time that a drain has left.
    pub(crate) fn left(&self) -> Duration {
        let until = self.drains_until.get();
        until.map_or(Duration::ZERO, |until| {
            until.saturating_duration_since(crate::io::now())
        })
    }

    #[cfg(feature = "tcp")]
    pub(crate) fn add(&self, report: &crate::endpoint::ShutdownReport) {
        self.report.borrow_mut().add(report);
    }

    pub(crate) fn report(&self) -> SessionsReport {
        self.report.borrow().clone()
    }
}
