//! Follows a plan from the command line: progress, and an interrupt that leaves a directory which
//! can be resumed.

use std::path::Path;

use arknet_lab::run::plan::Plan;
use arknet_lab::run::runner::{self, Outcome, Request, RunError};
use tokio::sync::watch;

use super::exit::{End, Failure, say};
use super::progress::Progress;

/// Runs the plan into `directory`.
pub(crate) fn follow(plan: Plan, directory: &Path, resume: bool) -> Result<End, Failure> {
    let executable = std::env::current_exe()
        .map_err(|error| Failure::broken(format!("finding this program: {error}")))?;
    let request = Request {
        executable,
        directory: directory.to_owned(),
        plan,
        resume,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::broken(format!("starting a runtime: {error}")))?;
    let outcome = runtime.block_on(async {
        let interrupt = interrupt().map_err(|source| RunError::Io {
            doing: "listening for signals".to_owned(),
            source,
        })?;
        let mut progress = Progress::new(&request.plan);
        let outcome = runner::run(&request, &mut progress, interrupt).await;
        progress.finish();
        outcome
    });
    match outcome {
        Ok(Outcome::Complete { failed: 0 }) => Ok(End::Done),
        Ok(Outcome::Complete { failed }) => {
            say(&format!(
                "{failed} runs failed; they are kept, and their cells are invalid"
            ));
            Ok(End::Failed)
        }
        Ok(Outcome::Interrupted) => {
            say(&format!(
                "interrupted; continue with --resume -o {}",
                directory.display()
            ));
            Ok(End::Interrupted)
        }
        Err(error) if error.is_usage() => Err(Failure::usage(error)),
        Err(error) => Err(Failure::broken(error)),
    }
}

/// Turns true at the first interrupt or request to end.
#[cfg(unix)]
fn interrupt() -> std::io::Result<watch::Receiver<bool>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let (send, receive) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        send.send_replace(true);
        // The sender lives on, or the receivers would take its end for a second interrupt.
        send.closed().await;
    });
    Ok(receive)
}

#[cfg(not(unix))]
fn interrupt() -> std::io::Result<watch::Receiver<bool>> {
    let (send, receive) = watch::channel(false);
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            send.send_replace(true);
        }
        send.closed().await;
    });
    Ok(receive)
}
