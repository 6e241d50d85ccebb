//! The commands: arguments in, output and exit status out.

pub(crate) mod measure;
