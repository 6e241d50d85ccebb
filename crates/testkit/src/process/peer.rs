//! A child process that cannot outlive the test that started it.

use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Output;

/// How often [`Peer::wait`] looks whether the child has ended: the standard library cannot wait
/// with a deadline.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// How long a killed peer's pipes may stay open. Only a descendant that left the process group
/// can hold them longer, and it must not hang the test.
const PIPES_CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// A running peer. Dropping it kills it, with its children, and waits for it.
///
/// On Linux it also dies when the *thread* that spawned it ends (`PR_SET_PDEATHSIG`), even if
/// that is by a crash: spawn it from a thread that outlives it, such as the test's own.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Output,
    stderr: Output,
}

impl Peer {
    /// Starts `command` with its three streams on pipes.
    ///
    /// Its standard input stays open until [`close_input`](Peer::close_input). It gets a process
    /// group of its own on Unix, so that the children of a wrapper script end with it.
    ///
    /// # Errors
    ///
    /// When the program cannot be started, naming it.
    pub fn spawn(mut command: Command) -> io::Result<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        die_with_parent(&mut command);
        let mut child = command
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("start {program}: {error}")))?;
        let outputs = Self::outputs(&mut child);
        match outputs {
            Ok((stdout, stderr)) => Ok(Self {
                stdin: child.stdin.take(),
                child,
                stdout,
                stderr,
            }),
            Err(error) => {
                end(&mut child);
                Err(error)
            }
        }
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it prints on standard output.
    #[must_use]
    pub fn stdout(&self) -> &Output {
        &self.stdout
    }

    /// What it prints on standard error.
    #[must_use]
    pub fn stderr(&self) -> &Output {
        &self.stderr
    }

    /// Writes `bytes` to its standard input.
    ///
    /// Waits when the pipe is full and the peer does not read; bounded by the peer's life.
    ///
    /// # Errors
    ///
    /// `BrokenPipe` when the input was closed, by either side.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let closed = || io::Error::new(io::ErrorKind::BrokenPipe, "write to peer: input is closed");
        let stdin = self.stdin.as_mut().ok_or_else(closed)?;
        stdin.write_all(bytes)?;
        stdin.flush()
    }

    /// Closes its standard input; many programs end then.
    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Waits for it to end by itself.
    ///
    /// # Errors
    ///
    /// `TimedOut` when it still runs after `within`; it goes on running.
    pub fn wait(&mut self, within: Duration) -> io::Result<ExitStatus> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(status) = self.child.try_wait()? {
                // What it printed last is part of what a test looks at next.
                self.stdout.finish(PIPES_CLOSE_WITHIN);
                self.stderr.finish(PIPES_CLOSE_WITHIN);
                return Ok(status);
            }
            if Instant::now() >= deadline {
                let message = format!("wait for peer {}: runs after {within:?}", self.id());
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Kills it with its children and waits for it; nothing happens if it has ended.
    pub fn kill(&mut self) {
        self.stdin = None;
        end(&mut self.child);
        self.stdout.finish(PIPES_CLOSE_WITHIN);
        self.stderr.finish(PIPES_CLOSE_WITHIN);
    }

    fn outputs(child: &mut Child) -> io::Result<(Output, Output)> {
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(io::Error::other("start peer: it has no pipes"));
        };
        Ok((
            Output::read("peer-stdout", stdout)?,
            Output::read("peer-stderr", stderr)?,
        ))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Lets the child of `command` be killed when the thread that spawns it ends. Linux only;
/// elsewhere it does nothing.
pub fn die_with_parent(command: &mut Command) {
    #[cfg(target_os = "linux")]
    {
        let parent = std::process::id();
        let hook = move || {
            // SAFETY: `prctl` with PR_SET_PDEATHSIG takes one integer and touches no memory.
            if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
                return Err(io::Error::last_os_error());
            }
            // A parent that died before the call sends no signal any more.
            if std::os::unix::process::parent_id() != parent {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            Ok(())
        };
        // SAFETY: the hook runs between fork and exec and makes two system calls, both
        // async-signal-safe; it neither allocates nor takes a lock (the errors are plain codes).
        unsafe { std::os::unix::process::CommandExt::pre_exec(command, hook) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

/// Kills `child` and its process group, and waits for it.
fn end(child: &mut Child) {
    // A child that was waited for has given its id back, and another process may bear it now.
    if matches!(child.try_wait(), Ok(None)) {
        kill_group(child.id());
        let _ = child.kill();
    }
    let _ = child.wait();
}

#[cfg(unix)]
fn kill_group(leader: u32) {
    if let Ok(group) = libc::pid_t::try_from(leader) {
        // SAFETY: `kill` touches no memory. The group is the child's own (`process_group(0)`),
        // and its leader has not been waited for, so that the id cannot belong to another.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
}

#[cfg(not(unix))]
fn kill_group(_leader: u32) {}
