//! One run in a process of its own, so that no run inherits another's heap, threads or sockets.

use std::io::{self, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::cell::{Runner, Start};
use crate::failure::Failure;
use crate::sample::Sample;

/// What a run may take beyond its phases: connecting, handshakes, draining, on a busy machine.
const GRACE: Duration = Duration::from_secs(30);

/// Runs a runner once; its phases take `a_run`.
///
/// # Errors
///
/// When the process cannot be started, exits with another status than 0, prints no sample, or does
/// not end in time and is killed.
pub(crate) fn run(runner: &Runner, a_run: Duration) -> Result<Sample, Failure> {
    let variant = runner.name;
    let failed = |why: String| Failure::Child { variant, why };
    let mut command = command(&runner.start).map_err(|error| failed(error.to_string()))?;
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("cannot be started: {error}")))?;
    let (output, status) = finish(child, a_run + GRACE).map_err(|e| failed(e.to_string()))?;
    match serde_json::from_str::<Sample>(&output) {
        Ok(sample) if status.success() && sample.is_valid() => Ok(sample),
        Ok(Sample {
            messages, errors, ..
        }) => Err(failed(format!(
            "{status}, {errors} errors in {messages} messages"
        ))),
        Err(error) => Err(failed(format!("{status}, and no sample: {error}"))),
    }
}

fn command(start: &Start) -> io::Result<Command> {
    let (program, arguments) = match start {
        Start::Here(arguments) => (std::env::current_exe()?, arguments),
        Start::Program(path, arguments) => (path.clone(), arguments),
        Start::Missing(why) => return Err(io::Error::other(why.clone())),
    };
    let mut command = Command::new(program);
    command.args(arguments);
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
