//! One measuring process: started fresh, bounded in time and output, always ended.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

/// A record with a histogram is some tens of kilobytes; a process that prints more than this is
/// not printing one.
const MAX_STDOUT: usize = 4 << 20;
/// As much of standard error as a person reads.
const MAX_STDERR: usize = 4 << 10;
/// Variables that change how a program of ours runs. Nothing else is handed down, so that the
/// record's list is the whole environment.
const ENVIRONMENT: [&str; 9] = [
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "GLIBC_TUNABLES",
    "MALLOC_ARENA_MAX",
    "MALLOC_CONF",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TOKIO_WORKER_THREADS",
    "LLVM_PROFILE_FILE",
];

/// How a process ended and what it left.
#[derive(Debug)]
pub struct Ended {
    /// Its end; `None` when it was ended because its time was up.
    pub status: Option<ExitStatus>,
    /// Standard output.
    pub stdout: String,
    /// The last bytes of standard error.
    pub stderr: String,
    /// From start to end.
    pub wall: Duration,
}

/// The environment that a measuring process is given.
#[must_use]
pub fn environment() -> BTreeMap<String, String> {
    let set = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
    ENVIRONMENT.iter().filter_map(set).collect()
}

/// Runs `program` to its end, for at most `limit`. Dropping the future ends the process.
///
/// # Errors
/// When it cannot be started or waited for.
pub async fn run(program: &Path, arguments: &[String], limit: Duration) -> std::io::Result<Ended> {
    let started = Instant::now();
    let mut child = start(program, arguments)?;
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let work = async {
        tokio::join!(
            head(stdout, MAX_STDOUT),
            tail(stderr, MAX_STDERR),
            child.wait()
        )
    };
    match tokio::time::timeout(limit, work).await {
        Ok((stdout, stderr, status)) => Ok(Ended {
            status: Some(status?),
            stdout,
            stderr,
            wall: started.elapsed(),
        }),
        Err(_) => {
            child.kill().await?;
            let (stdout, stderr) = (String::new(), String::new());
            Ok(Ended {
                status: None,
                stdout,
                stderr,
                wall: started.elapsed(),
            })
        }
    }
}

fn start(program: &Path, arguments: &[String]) -> std::io::Result<Child> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(environment())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // An interrupt from the terminal is the lab's to handle, not the child's.
    #[cfg(unix)]
    command.process_group(0);
    command.spawn()
}

/// The first `limit` bytes; the rest is read and forgotten, so that the process is not blocked.
async fn head(stream: Option<impl AsyncRead + Unpin>, limit: usize) -> String {
    let mut kept = Vec::new();
    read(stream, |chunk| {
        let room = limit.saturating_sub(kept.len()).min(chunk.len());
        kept.extend_from_slice(chunk.get(..room).unwrap_or_default());
    })
    .await;
    String::from_utf8_lossy(&kept).into_owned()
}

/// The last `limit` bytes.
async fn tail(stream: Option<impl AsyncRead + Unpin>, limit: usize) -> String {
    let mut kept: Vec<u8> = Vec::new();
    read(stream, |chunk| {
        kept.extend_from_slice(chunk);
        kept.drain(..kept.len().saturating_sub(limit));
    })
    .await;
    String::from_utf8_lossy(&kept).into_owned()
}

async fn read(stream: Option<impl AsyncRead + Unpin>, mut keep: impl FnMut(&[u8])) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; 16 << 10];
    // A stream that fails has ended: what was read before counts.
    while let Ok(read) = stream.read(&mut buffer).await
        && read > 0
    {
        keep(buffer.get(..read).unwrap_or_default());
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Ended {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let arguments = ["-c".to_owned(), script.to_owned()];
        runtime
            .block_on(run(Path::new("/bin/sh"), &arguments, limit))
            .unwrap()
    }

    #[test]
    fn output_status_and_the_end_of_standard_error_are_kept() {
        let ended = shell(
            "echo out; echo first >&2; echo last >&2; exit 3",
            Duration::from_secs(9),
        );
        assert_eq!(ended.status.and_then(|status| status.code()), Some(3));
        assert_eq!(ended.stdout, "out\n");
        assert_eq!(ended.stderr, "first\nlast\n");
    }

    #[test]
    fn a_flood_of_standard_error_keeps_its_end_and_blocks_nobody() {
        let script =
            "i=0; while [ $i -lt 2000 ]; do echo 0123456789 >&2; i=$((i+1)); done; echo end >&2";
        let ended = shell(script, Duration::from_secs(9));
        assert!(ended.stderr.ends_with("end\n"));
        assert_eq!(ended.stderr.len(), MAX_STDERR);
    }

    #[test]
    fn a_process_that_takes_too_long_is_ended() {
        let ended = shell("exec sleep 60", Duration::from_millis(100));
        assert!(ended.status.is_none());
        assert!(ended.wall < Duration::from_secs(30));
    }

    #[test]
    fn the_environment_is_the_recorded_one_and_nothing_more() {
        let ended = shell(
            "echo \"${HOME:-none} ${USER:-none}\"",
            Duration::from_secs(9),
        );
        assert_eq!(ended.stdout, "none none\n");
    }
}
