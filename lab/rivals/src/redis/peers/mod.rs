//! The peers, each in its own best way, with its defaults unless the name says otherwise.

pub(crate) mod bb8;
pub(crate) mod deadpool;
pub(crate) mod fred;
pub(crate) mod redis_rs;
pub(crate) mod rustis;

use std::fmt::Display;
use std::future::Future;

use super::drive::{self, Pooled, Shared};
use super::load::Load;
use crate::failure::Failure;
use crate::place::Place;
use crate::sample::Sample;

/// Connects with the server's URL inside a tokio runtime, then runs the load on a shared client.
fn shared<C: Shared, F: Future<Output = Result<C, Failure>>>(
    load: &Load,
    connect: impl FnOnce(String) -> F,
) -> Result<Sample, Failure> {
    let place = Place::tokio(load.threads)?;
    let client = place.block_on(connect(url(load)?))?;
    drive::shared(load, &place, &client)
}

/// The same with a pool, which has room for as many connections as the load wants.
fn pooled<P: Pooled, F: Future<Output = Result<P, Failure>>>(
    load: &Load,
    connect: impl FnOnce(String, usize) -> F,
) -> Result<Sample, Failure> {
    let place = Place::tokio(load.threads)?;
    let connections = drive::connections(load)?;
    let pool = place.block_on(connect(url(load)?, connections))?;
    drive::pooled(load, &place, &pool)
}

fn url(load: &Load) -> Result<String, Failure> {
    Ok(format!("redis://{}", load.server()?))
}

fn connecting<E: Display>(error: E) -> Failure {
    Failure::library("connecting")(error)
}

fn asking<E: Display>(error: E) -> Failure {
    Failure::library("a request")(error)
}

fn leasing<E: Display>(error: E) -> Failure {
    Failure::library("leasing a connection")(error)
}
