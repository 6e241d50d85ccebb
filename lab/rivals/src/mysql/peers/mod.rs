//! The peers, each in its own best way, with its defaults unless the name says otherwise.

pub(crate) mod mysql_async;
pub(crate) mod sqlx;

use std::fmt::Display;

use crate::failure::Failure;

fn connecting<E: Display>(error: E) -> Failure {
    Failure::library("connecting")(error)
}

fn asking<E: Display>(error: E) -> Failure {
    Failure::library("a statement")(error)
}

fn leasing<E: Display>(error: E) -> Failure {
    Failure::library("leasing a connection")(error)
}

fn without_rows() -> Failure {
    Failure::Invalid("an answer without rows".to_owned())
}
