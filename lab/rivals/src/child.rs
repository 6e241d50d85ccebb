//! One run in a process of its own, so that no run inherits another's heap, threads or sockets.

use std::io::{self, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::asio::Program;
use crate::failure::Failure;
use crate::load::{Load, Protocol};
use crate::sample::Sample;
use crate::variant::{How, Variant};

/// What a run may take beyond its phases: connecting, handshakes, draining, on a busy machine.
const GRACE: Duration = Duration::from_secs(30);

/// Runs a variant once.
///
/// # Errors
///
/// When the process cannot be started, exits with another status than 0, prints no sample, or does
/// not end in time and is killed.
pub(crate) fn run(
    variant: &Variant,
    protocol: Protocol,
    load: &Load,
    asio: &Program,
) -> Result<Sample, Failure> {
    let name = variant.name;
    let failed = |why: String| Failure::Child { variant: name, why };
    let mut command =
        command(variant, protocol, asio).map_err(|error| failed(error.to_string()))?;
    let child = command
        .args(load.flags())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("cannot be started: {error}")))?;
    let (output, status) = finish(child, load.warmup() + load.measured() + GRACE)
        .map_err(|error| failed(error.to_string()))?;
    let sample = serde_json::from_str::<Sample>(&output);
    match sample {
        Ok(sample) if status.success() && sample.is_valid() => Ok(sample),
        Ok(Sample {
            messages, errors, ..
        }) => Err(failed(format!(
            "{status}, {errors} errors in {messages} messages"
        ))),
        Err(error) => Err(failed(format!("{status}, and no sample: {error}"))),
    }
}

/// Why the variant cannot be had here, if it cannot.
pub(crate) fn missing(variant: &Variant, asio: &Program) -> Option<String> {
    match (variant.how, asio) {
        (How::Asio(_), Program::Missing(why)) => Some(why.clone()),
        (How::Nowhere(why), _) => Some(why.to_owned()),
        _ => None,
    }
}

fn command(variant: &Variant, protocol: Protocol, asio: &Program) -> io::Result<Command> {
    if let (How::Asio(style), Program::Ready(path)) = (variant.how, asio) {
        let mut command = Command::new(path);
        command.args(["--style", style]);
        return Ok(command);
    }
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["run-one", &protocol.to_string(), variant.name]);
    Ok(command)
}

/// Waits for the end of the child and its output; kills it when `limit` has passed.
fn finish(mut child: Child, limit: Duration) -> io::Result<(String, std::process::ExitStatus)> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let mut stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let reader = thread::spawn(move || {
        let mut output = String::new();
        let read = stdout.read_to_string(&mut output).map(|_| output);
        // The receiver is gone only after the time limit, when nobody wants the output.
        let _ = sender.send(read);
    });
    let output = receiver.recv_timeout(limit);
    if output.is_err() {
        child.kill()?;
    }
    let status = child.wait()?;
    let _ = reader.join();
    match output {
        Ok(output) => Ok((output?, status)),
        Err(_) => Err(io::Error::other(format!(
            "did not end within {} s",
            limit.as_secs()
        ))),
    }
}
