//! Places on the earth.

use arknet_proto::redis::{Command as Encoded, FromReply, ToArg};

use crate::redis::Command;

/// Adds places (longitude, latitude, member), and returns how many are new. `GEOADD`, O(n·log m).
pub fn geoadd(key: impl ToArg, places: impl ToArg) -> Command<u64> {
    Command::clean("GEOADD").arg(key).arg(places)
}

/// How far two members are from one another, or null. `GEODIST`, O(1).
pub fn geodist(
    key: impl ToArg,
    first: impl ToArg,
    second: impl ToArg,
    unit: Unit,
) -> Command<Option<f64>> {
    Command::clean("GEODIST")
        .arg(key)
        .arg(first)
        .arg(second)
        .arg(unit)
}

/// The longitudes and latitudes of members, null for each that is not there. `GEOPOS`, O(n).
pub fn geopos(key: impl ToArg, members: impl ToArg) -> Command<Vec<Option<(f64, f64)>>> {
    Command::clean("GEOPOS").arg(key).arg(members)
}

/// The members within a distance of a place, the nearest first. `GEOSEARCH`, O(n + log m), Redis 6.2.
pub fn geosearch<T: FromReply>(
    key: impl ToArg,
    center: Center<'_>,
    within: f64,
    unit: Unit,
) -> Command<Vec<T>> {
    Command::clean("GEOSEARCH")
        .arg(key)
        .arg(center)
        .arg("BYRADIUS")
        .arg(within)
        .arg(unit)
        .arg("ASC")
}

/// The same, with their distances. `GEOSEARCH` with `WITHDIST`, O(n + log m), Redis 6.2.
pub fn geosearch_withdist<T: FromReply>(
    key: impl ToArg,
    center: Center<'_>,
    within: f64,
    unit: Unit,
) -> Command<Vec<(T, f64)>> {
    geosearch::<T>(key, center, within, unit)
        .arg("WITHDIST")
        .returning()
}

/// Where [`geosearch`] searches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Center<'a> {
    /// Around a member.
    Member(&'a str),
    /// Around a longitude and a latitude, in degrees.
    Place(f64, f64),
}

impl ToArg for Center<'_> {
    fn append_to(&self, command: &mut Encoded) {
        match self {
            Self::Member(member) => ("FROMMEMBER", member).append_to(command),
            Self::Place(longitude, latitude) => {
                ("FROMLONLAT", longitude, latitude).append_to(command);
            }
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::Member(_) => 2,
            Self::Place(..) => 3,
        }
    }
}

/// A unit of length.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unit {
    /// `m`
    Meters,
    /// `km`
    Kilometers,
    /// `ft`
    Feet,
    /// `mi`
    Miles,
}

impl ToArg for Unit {
    fn append_to(&self, command: &mut Encoded) {
        let name = match self {
            Self::Meters => "m",
            Self::Kilometers => "km",
            Self::Feet => "ft",
            Self::Miles => "mi",
        };
        name.append_to(command);
    }
}
