//! Whether the server is there.

use super::unit::{Asks, Single};
use super::{Ask, Request, Unit, sealed};
use crate::mysql::Error;

/// Asks whether the server is there: from [`ping`].
#[derive(Clone, Copy, Debug)]
#[must_use = "a request does nothing until it is run"]
pub struct Ping(());

/// Asks whether the server is there. It costs a round trip, and says nothing of a moment later: a pool does not need it.
pub fn ping() -> Ping {
    Ping(())
}

impl Single for Ping {
    type Value = ();
}

impl Asks for Ping {
    fn ask(&self) -> Ask<'_> {
        Ask::Ping
    }

    fn is_stateless(&self) -> bool {
        true
    }
}

impl sealed::Sealed for Ping {}

impl Request for Ping {
    type Output = Result<(), Error>;
    type Units = Unit<Self>;

    fn into_units(self) -> Unit<Self> {
        Unit::new(self)
    }
}
