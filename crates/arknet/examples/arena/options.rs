//! What the command line says.

use std::error::Error;
use std::time::Duration;

use arknet::Lanes;

use super::storage::Backend;

pub(crate) struct Options {
    pub(crate) serve: Option<String>,
    pub(crate) connect: Option<String>,
    pub(crate) bots: usize,
    pub(crate) seconds: Duration,
    pub(crate) redis: Option<String>,
}

impl Options {
    pub(crate) fn parse(
        mut arguments: impl Iterator<Item = String>,
    ) -> Result<Self, Box<dyn Error>> {
        let mut options = Self {
            serve: None,
            connect: None,
            bots: 50,
            seconds: Duration::from_secs(10),
            redis: None,
        };
        while let Some(name) = arguments.next() {
            let value = arguments
                .next()
                .ok_or_else(|| format!("{name} needs a value"))?;
            match name.as_str() {
                "--serve" => options.serve = Some(value),
                "--connect" => options.connect = Some(value),
                "--redis" => options.redis = Some(value),
                "--bots" => options.bots = value.parse()?,
                "--seconds" => options.seconds = Duration::from_secs(value.parse()?),
                _ => return Err(format!("{name} is not known").into()),
            }
        }
        Ok(options)
    }

    /// Where profiles are kept.
    pub(crate) fn backend(&self, lanes: &Lanes) -> Result<Backend, Box<dyn Error>> {
        match &self.redis {
            Some(url) => Backend::redis(url, lanes),
            None => Ok(Backend::memory()),
        }
    }
}
